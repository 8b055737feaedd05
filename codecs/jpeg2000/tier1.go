package jpeg2000

import (
	"bytes"
	"image"
	"slices"
	"sync"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/ht"
)

// codedBlock is an encoded code-block.
type codedBlock struct {
	planes int // bit-planes of its largest magnitude
	coded  int // bit-planes that the passes code
	data   []byte
	passes []bitplane.Pass
	layers []int // by quality layer: the passes in it and those before it

	// Where layers are chosen by distortion: the cuts that are worth it, the squared error
	// of the block without a pass, in units of coefficients, and how much that counts.
	cuts   []cut
	energy float64
	weight float64
}

// codedTile are the code-blocks of a tile.
type codedTile struct {
	tile   *codestream.Tile
	blocks [][][]codedPrecinct // by component, resolution and precinct
}

// codedPrecinct are the code-blocks of a precinct by subband, and there by rows.
type codedPrecinct [][]*codedBlock

// blockKey names what the coded bytes of a block depend on, for one image.
type blockKey struct {
	tile, component, level int
	orientation            codestream.Orientation
	area                   image.Rectangle // in the subband
	style                  codestream.BlockStyle
}

// blockCache holds the blocks that several trials share: subbands are the same with more
// levels below them.
type blockCache map[blockKey]*codedBlock

// encodeTask is a code-block that is to be encoded.
type encodeTask struct {
	key   blockKey
	plane wavelet.Plane[int32]
	out   **codedBlock

	measured bool
	fraction int     // of the coefficients, see [bitplane.Encoder]
	weight   float64 // of squared errors of coefficients
}

var blockEncoders = sync.Pool{New: func() any { return new(bitplane.Encoder) }}

// encodeBlocks encodes the code-blocks of a tile, but for those that are in the cache,
// which gets the others. bands are the planes of the subbands by
// component, resolution and subband.
func (e *encoder) encodeBlocks(main *codestream.Main, tile *codestream.Tile, bands [][][]wavelet.Plane[int32]) (*codedTile, error) {
	coded := &codedTile{tile: tile, blocks: make([][][]codedPrecinct, len(tile.Components))}
	var tasks []encodeTask
	for c := range tile.Components {
		t := &tile.Components[c]
		coded.blocks[c] = make([][]codedPrecinct, len(t.Resolutions))
		for r := range t.Resolutions {
			precincts := make([]codedPrecinct, t.Resolutions[r].Precincts.X*t.Resolutions[r].Precincts.Y)
			for p := range precincts {
				precincts[p], tasks = e.appendTasks(tasks, main, tile.Index, t, r, p, bands[c][r])
			}
			coded.blocks[c][r] = precincts
		}
	}
	todo := tasks[:0]
	for _, t := range tasks {
		if *t.out = e.cache[t.key]; *t.out == nil {
			todo = append(todo, t)
		}
	}
	e.workers.Each(len(todo), func(i int) {
		if e.ctx.Err() == nil {
			*todo[i].out = encodeBlock(&todo[i])
		}
	})
	if e.cache != nil {
		for _, t := range todo {
			e.cache[t.key] = *t.out
		}
	}
	return coded, e.ctx.Err()
}

func (e *encoder) appendTasks(tasks []encodeTask, main *codestream.Main, tile int, t *codestream.TileComponent, r, p int, planes []wavelet.Plane[int32]) (codedPrecinct, []encodeTask) {
	res := &t.Resolutions[r]
	precinct := make(codedPrecinct, len(res.Subbands))
	for i := range res.Subbands {
		band := &res.Subbands[i]
		grid := band.Precinct(p)
		unit := unitOf(&main.Params, t, band, e.image.Bits, e.fraction())
		blocks := make([]*codedBlock, grid.Blocks.X*grid.Blocks.Y)
		for k := range blocks {
			area := grid.Block(k%grid.Blocks.X, k/grid.Blocks.X)
			at := area.Min.Sub(band.Bounds.Min)
			tasks = append(tasks, encodeTask{
				key:   blockKey{tile, t.Index, band.Level, band.Orientation, area, t.Coding.Style},
				plane: planes[i].Crop(at.X, at.Y, area.Dx(), area.Dy()),
				out:   &blocks[k],

				measured: e.measured(),
				fraction: e.fraction(),
				weight:   unit,
			})
		}
		precinct[i] = blocks
	}
	return precinct, tasks
}

// unitOf is what a squared error of 1 in the coefficients of a subband, as they are
// encoded, with so many fractional bits, adds to the squared errors of samples.
func unitOf(p *codestream.Params, t *codestream.TileComponent, band *codestream.Subband, bits, fraction int) float64 {
	unit := float64(componentNorm(p, t.Index) * bandNorm(t.Coding.Transform, band.Orientation, band.Level))
	if t.Coding.Transform == codestream.Irreversible97 {
		step := float64(quantum(band.Step, bits+band.Orientation.Gain()) / float64(int(1)<<fraction))
		unit *= float64(step * step)
	}
	return unit
}

func encodeBlock(t *encodeTask) *codedBlock {
	if t.key.style&codestream.HT != 0 {
		return encodeHTBlock(t)
	}
	e := blockEncoders.Get().(*bitplane.Encoder)
	defer blockEncoders.Put(e)
	e.Fraction, e.Measure = t.fraction, t.measured
	p := t.plane
	c := e.Encode(p.Samples, p.Stride, p.Width, p.Height, t.key.orientation, t.key.style)
	b := &codedBlock{planes: c.Planes, coded: c.Planes, data: bytes.Clone(c.Data), passes: slices.Clone(c.Passes)}
	if t.measured {
		b.weigh(energy(p), t.weight)
	}
	return b
}

// encodeHTBlock encodes the one coding pass that there is, of bit-plane 0.
func encodeHTBlock(t *encodeTask) *codedBlock {
	p := t.plane
	data, planes := ht.Encode(nil, p.Samples, p.Stride, p.Width, p.Height)
	b := new(codedBlock)
	b.setHT(data, planes, make([]bitplane.Pass, 1))
	return b
}

// setHT sets the block to what a cleanup pass codes, if the magnitudes have any bit-plane.
// passes is memory for one.
func (b *codedBlock) setHT(data []byte, planes int, passes []bitplane.Pass) {
	b.planes, b.coded, b.data = planes, 1, data
	if planes > 0 {
		passes[0] = bitplane.Pass{Length: len(data), Terminated: true}
		b.passes = passes
	}
}

// energy is the sum of squares.
func energy(p wavelet.Plane[int32]) float64 {
	sum := 0.0
	for y := range p.Height {
		for _, v := range p.Row(y) {
			sum += float64(float64(v) * float64(v))
		}
	}
	return sum
}

// each calls f for all blocks in their order.
func (t *codedTile) each(f func(band *codestream.Subband, b *codedBlock)) {
	for c, resolutions := range t.blocks {
		for r, precincts := range resolutions {
			for _, bands := range precincts {
				for i, blocks := range bands {
					for _, b := range blocks {
						f(&t.tile.Components[c].Resolutions[r].Subbands[i], b)
					}
				}
			}
		}
	}
}
