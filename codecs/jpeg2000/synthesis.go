package jpeg2000

import (
	"image"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/packet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/slab"
)

// The distance of the farthest coefficients that a sample of a level depends on (F.3.8).
const (
	reach53 = 2
	reach97 = 4
)

// resolution is the part of a resolution that is computed.
type resolution[T wavelet.Sample] struct {
	area  image.Rectangle // in samples of the resolution
	bands []bandPart[T]   // as in the geometry
}

// bandPart is the part of a subband that area depends on.
type bandPart[T wavelet.Sample] struct {
	subband *codestream.Subband
	area    image.Rectangle // in samples of the subband
	plane   wavelet.Plane[T]
	covered int // samples of area that lie in code-blocks which were read
}

// synthesize decodes the code-blocks that the area of a tile-component depends on and joins
// the subbands (F.3). Where the area is not all of the tile-component the resolutions are
// computed a little beyond it: what the extension at a border that is none spoils, is
// not used.
//
// The result is in memory that it returns too, which the caller gives back to filters. With a sink there is none:
// that takes the rows of the area, each with its coordinate, and may change them. Several goroutines call it, for
// different rows.
func synthesize[T wavelet.Sample](d *decoder, t *codestream.TileComponent, precincts [][]*packet.Precinct, area image.Rectangle, filters *transforms[T], reach int, store storeBlock[T], sink func(y int, row []T)) (wavelet.Plane[T], *slab.Slab[T], error) {
	top := t.Coding.Levels - d.reduce
	areas := resolutionAreas(t, area, top, reach)
	samples := 0
	for r, want := range areas {
		samples += want.Dx() * want.Dy() // of the subbands
		if r > 0 && (r < top || sink == nil) {
			samples += want.Dx() * want.Dy()
		}
	}
	memory := filters.takePlanes(samples)
	parts := make([]resolution[T], top+1)
	for r, want := range areas {
		parts[r] = newResolutionPart(&t.Resolutions[r], want, memory)
	}
	if err := decodeBlocks(d, t, precincts, parts, store); err != nil {
		return wavelet.Plane[T]{}, nil, err
	}
	low := parts[0].bands[0].plane
	for r := 1; r <= top; r++ {
		p := &parts[r]
		low = crop(low, parts[r-1].area, codestream.Reduce(p.area, 1))
		bands := wavelet.Bands[T]{LL: low, HL: p.bands[0].plane, LH: p.bands[1].plane, HH: p.bands[2].plane}
		if r == top && sink != nil {
			lastLevel(d, filters, sink, area, bands, p.area)
			return wavelet.Plane[T]{}, memory, nil
		}
		low = newPlane(memory, p.area)
		inverseLevel(d, filters, low, bands, p.area.Min)
		p.bands = nil
	}
	low = crop(low, parts[top].area, area)
	if sink != nil {
		d.pool.Spans(low.Height, rowsAtOnce, func(lo, hi int) {
			for y := lo; y < hi; y++ {
				sink(area.Min.Y+y, low.Row(y))
			}
		})
	}
	return low, memory, nil
}

// resolutionAreas are what has to be computed of the resolutions up to top, for an area of
// that one.
func resolutionAreas(t *codestream.TileComponent, area image.Rectangle, top, reach int) []image.Rectangle {
	list := make([]image.Rectangle, top+1)
	for r := top; r >= 0; r-- {
		if r > 0 {
			area = area.Inset(-reach).Intersect(t.Resolutions[r].Bounds)
		}
		list[r] = area
		area = codestream.Reduce(area, 1)
	}
	return list
}

// needless returns the lengths of a tile's packets, where the file has them and the areas are
// not all of the tile, and which of the packets none of the areas depends on.
func (d *decoder) needless(tile *codestream.Tile, areas []image.Rectangle, wanted func(c, r int) bool) ([]int, func(packet.ID) bool) {
	whole := d.reduce == 0
	parts := make([][]image.Rectangle, len(areas))
	for c := range areas {
		t := &tile.Components[c]
		whole = whole && areas[c] == t.Bounds
		if areas[c].Empty() {
			continue
		}
		reach := reach53
		if t.Coding.Transform == codestream.Irreversible97 {
			reach = reach97
		}
		parts[c] = resolutionAreas(t, areas[c], t.Coding.Levels-d.reduce, reach)
	}
	if whole {
		return nil, nil
	}
	return d.stream.PacketLengths(tile.Index), func(id packet.ID) bool {
		if !wanted(id.Component, id.Resolution) {
			return true
		}
		res := &tile.Components[id.Component].Resolutions[id.Resolution]
		for i := range res.Subbands {
			area := parts[id.Component][id.Resolution]
			if res.Index > 0 {
				area = codestream.SubbandOf(area, res.Subbands[i].Orientation)
			}
			if res.Subbands[i].Precinct(id.Precinct).Area.Overlaps(area) {
				return false
			}
		}
		return true
	}
}

// crop is the part of a plane that holds from.
func crop[T wavelet.Sample](p wavelet.Plane[T], from, part image.Rectangle) wavelet.Plane[T] {
	return p.Crop(part.Min.X-from.Min.X, part.Min.Y-from.Min.Y, part.Dx(), part.Dy())
}

func newResolutionPart[T wavelet.Sample](r *codestream.Resolution, area image.Rectangle, memory *slab.Slab[T]) resolution[T] {
	part := resolution[T]{area: area, bands: make([]bandPart[T], len(r.Subbands))}
	for i := range r.Subbands {
		b := bandPart[T]{subband: &r.Subbands[i], area: area}
		if r.Index > 0 {
			b.area = codestream.SubbandOf(area, b.subband.Orientation)
		}
		b.plane = newPlane(memory, b.area)
		part.bands[i] = b
	}
	return part
}

// rowsAtOnce are the rows of a level that one goroutine joins.
const rowsAtOnce = 128

func inverseLevel[T wavelet.Sample](d *decoder, filters *transforms[T], dst wavelet.Plane[T], bands wavelet.Bands[T], first image.Point) {
	d.pool.Spans(dst.Height, rowsAtOnce, func(lo, hi int) {
		w := filters.take()
		defer filters.pool.Put(w)
		w.InverseRows(dst, bands, first.X&1, first.Y&1, lo, hi)
	})
}

// lastLevel joins bands to from, and gives the rows of area, which lies in it, to sink.
func lastLevel[T wavelet.Sample](d *decoder, filters *transforms[T], sink func(y int, row []T), area image.Rectangle, bands wavelet.Bands[T], from image.Rectangle) {
	above, left := area.Min.Y-from.Min.Y, area.Min.X-from.Min.X
	d.pool.Spans(area.Dy(), rowsAtOnce, func(lo, hi int) {
		w := filters.take()
		defer filters.pool.Put(w)
		w.InverseTo(from.Dx(), from.Dy(), func(y int, row []T) {
			sink(from.Min.Y+y, row[left:][:area.Dx()])
		}, bands, from.Min.X&1, from.Min.Y&1, above+lo, above+hi)
	})
}
