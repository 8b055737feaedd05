package jpeg2000

import (
	"context"
	"image"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/packet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/slab"
	"github.com/pelmill/pelmill/codecs/pool"
)

// decoder decodes a part of a codestream's components at one resolution.
type decoder struct {
	ctx    context.Context
	pool   *pool.Pool
	stream *codestream.Stream
	reduce int // the highest resolutions that are left out

	// windows are what is wanted of each component, in its samples at the reduced
	// resolution; empty where nothing is.
	windows []image.Rectangle

	// store takes finished samples: of component c, from (x, y) on to the right, in its
	// samples at the reduced resolution, inside of its window. Several goroutines call it,
	// for different samples.
	store func(c, x, y int, samples []int32)

	// storeRCT likewise takes the first three components before the inverse of RCT and of the
	// level shift; nil: there is no such way.
	storeRCT func(x, y int, c0, c1, c2 []int32)
}

func newDecoder(ctx context.Context, p *pool.Pool, s *codestream.Stream, reduce int, windows []image.Rectangle, store func(c, x, y int, samples []int32)) *decoder {
	return &decoder{ctx: ctx, pool: p, stream: s, reduce: reduce, windows: windows, store: store}
}

// Tiles of fewer samples are decoded several at a time.
const (
	smallTile   = 1 << 18
	tilesAtOnce = 8
)

// decode decodes all tiles that the windows touch.
func (d *decoder) decode() error {
	s := &d.stream.Size
	var tiles []int
	for t := range s.Tiles().X * s.Tiles().Y {
		if d.touches(t) {
			tiles = append(tiles, t)
		}
	}
	if !d.small() {
		for _, t := range tiles {
			if err := d.tile(t); err != nil {
				return err
			}
		}
		return nil
	}
	for len(tiles) > 0 {
		n := min(len(tiles), tilesAtOnce)
		errs := make([]error, n)
		d.pool.Each(n, func(i int) { errs[i] = d.tile(tiles[i]) })
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		tiles = tiles[n:]
	}
	return nil
}

// small says whether several tiles are decoded at a time.
func (d *decoder) small() bool {
	s := &d.stream.Size
	return s.Tile.X <= smallTile && s.Tile.Y <= smallTile && s.Tile.X*s.Tile.Y*len(s.Components) <= smallTile
}

// reduced is the part of component c in a part of the reference grid.
func (d *decoder) reduced(r image.Rectangle, c int) image.Rectangle {
	return codestream.Reduce(d.stream.Size.ComponentBounds(r, c), d.reduce)
}

func (d *decoder) touches(t int) bool {
	bounds := d.stream.Size.TileBounds(t)
	for c, w := range d.windows {
		if d.reduced(bounds, c).Overlaps(w) {
			return true
		}
	}
	return false
}

// tile decodes a tile.
func (d *decoder) tile(t int) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	params, coded, err := d.stream.Tile(t)
	if err != nil {
		return err
	}
	tile := d.stream.Size.NewTile(t, params)
	if err := d.checkTile(tile, params); err != nil {
		return err
	}
	steps := make([]image.Point, len(tile.Components))
	areas := make([]image.Rectangle, len(tile.Components))
	for c := range steps {
		steps[c] = d.stream.Size.Components[c].Step
		areas[c] = d.reduced(tile.Bounds, c).Intersect(d.windows[c])
	}
	wanted := func(c, r int) bool { return !areas[c].Empty() && r <= tile.Components[c].Coding.Levels-d.reduce }
	in := packet.Input{Bodies: coded.Bodies, Packed: coded.Packed, Headers: coded.Headers}
	in.Lengths, in.Needless = d.needless(tile, areas, wanted)
	precincts, err := packet.Read(tile, params, steps, in, wanted)
	if err != nil && in.Lengths != nil { // which may be what is wrong
		in.Lengths = nil
		precincts, err = packet.Read(tile, params, steps, in, wanted)
	}
	if err != nil {
		return err
	}
	parts := make([]part, len(tile.Components))
	for c := range tile.Components {
		if areas[c].Empty() {
			continue
		}
		together := params.MCT && c <= 2
		if parts[c], err = d.component(&tile.Components[c], precincts[c], areas[c], together); err != nil {
			return err
		}
		precincts[c] = nil
		switch {
		case !together:
			d.finish(c, parts[c])
		case c < 2:
			continue
		default:
			d.finishTransformed(params, parts[:3])
		}
		for i := range parts {
			parts[i].give()
		}
		clear(parts)
	}
	return nil
}

// checkTile refuses what a tile's components cannot give.
func (d *decoder) checkTile(tile *codestream.Tile, p *codestream.Params) error {
	for c := range tile.Components {
		if levels := tile.Components[c].Coding.Levels; levels < d.reduce && !d.windows[c].Empty() {
			return codec.Unsupportedf("jpeg2000: component %d of tile %d has %d decomposition levels, so that it cannot be reduced by 2^%d", c, tile.Index, levels, d.reduce)
		}
	}
	if !p.MCT {
		return nil
	}
	first := &tile.Components[0]
	for c := 1; c < 3; c++ {
		if t := &tile.Components[c]; t.Bounds != first.Bounds || t.Coding.Transform != first.Coding.Transform || d.windows[c] != d.windows[0] {
			return codec.Malformedf("jpeg2000: a multiple component transform of components that differ in size or wavelet transform")
		}
	}
	return nil
}

// part is the part of a tile-component that is wanted: area, at the reduced resolution, as
// integers or floats. Its memory is of a pool.
type part struct {
	area   image.Rectangle
	ints   wavelet.Plane[int32]
	floats wavelet.Plane[float32]

	intMemory   *slab.Slab[int32]
	floatMemory *slab.Slab[float32]
}

// give gives the memory back.
func (p *part) give() {
	if p.intMemory != nil {
		intTransforms.givePlanes(p.intMemory)
	}
	if p.floatMemory != nil {
		floatTransforms.givePlanes(p.floatMemory)
	}
}

// component decodes a part of a tile-component. Integers that no other component is joined with are stored
// row by row as they are made, and the part has none.
func (d *decoder) component(t *codestream.TileComponent, precincts [][]*packet.Precinct, area image.Rectangle, together bool) (part, error) {
	p := part{area: area}
	var err error
	switch {
	case t.Coding.Transform != codestream.Reversible53:
		p.floats, p.floatMemory, err = synthesize(d, t, precincts, area, &floatTransforms, reach97, storeProducts, nil)
	case together:
		p.ints, p.intMemory, err = synthesize(d, t, precincts, area, &intTransforms, reach53, storeIndices, nil)
	default:
		_, p.intMemory, err = synthesize(d, t, precincts, area, &intTransforms, reach53, storeIndices, func(y int, row []int32) { d.storeInts(t.Index, area.Min.X, y, row) })
	}
	return p, err
}
