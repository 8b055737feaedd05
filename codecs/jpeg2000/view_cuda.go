package jpeg2000

import (
	"image"
	"slices"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/raster"
)

// A device decodes whole tiles. Views that have less than 1/tileShare of the pixels of the
// tiles they lie in are the CPU's, and so are those of calls of fewer pixels than leastView says: a
// device takes as long for a few code-blocks as for thousands, in which a processor of 16
// cores has that many pixels done (BenchmarkCardViews on an H200). Tests change leastView.
const tileShare = 4

var leastView = struct{ part1, ht int }{3 << 19, 1 << 17}

// forDevice says whether the views of a call are for a device.
func forDevice(files [][]byte, view codec.View) bool {
	if view == (codec.View{}) {
		return true
	}
	least, pixels := leastView.ht, 0
	if hasPart1(files) {
		least = leastView.part1
	}
	for _, f := range files {
		if pixels += viewPixels(f, view); pixels >= least {
			return true
		}
	}
	return false
}

// reducedTile is the tile at 1/2^reduce: without its highest resolutions.
func reducedTile(t *codestream.Tile, reduce int) *codestream.Tile {
	if reduce == 0 {
		return t
	}
	r := &codestream.Tile{Index: t.Index, Bounds: codestream.Reduce(t.Bounds, reduce), Components: slices.Clone(t.Components)}
	for i := range r.Components {
		c := &r.Components[i]
		coding := *c.Coding
		coding.Levels -= reduce
		c.Bounds, c.Coding = codestream.Reduce(c.Bounds, reduce), &coding
		c.Resolutions = slices.Clone(c.Resolutions[:coding.Levels+1])
		for k := range c.Resolutions {
			bands := slices.Clone(c.Resolutions[k].Subbands)
			for b := range bands {
				bands[b].Level -= reduce
			}
			c.Resolutions[k].Subbands = bands
		}
	}
	return r
}

// frame takes the tiles of a view into one image, which is no larger than they are. It says no
// where they have much more than the view.
func (f *deviceDecoded) frame(shape raster.Shape) bool {
	var whole image.Rectangle
	for _, t := range f.tiles {
		whole = whole.Union(t.tile.Bounds)
	}
	f.image = &raster.Image{Shape: shape}
	f.image.Width, f.image.Height = whole.Dx(), whole.Dy()
	for _, t := range f.tiles {
		t.image, t.origin = f.image, whole.Min
	}
	f.area = f.area.Sub(whole.Min)
	return f.area.Dx()*f.area.Dy() >= whole.Dx()*whole.Dy()/tileShare
}

// copyPart copies a part of the slices of samples of a shape to dst, some of all its rows.
func copyPart(dst, src []byte, s raster.Shape, part image.Rectangle, from, to int) {
	pixel := s.Channels * s.BytesPerSample()
	n := part.Dx() * pixel
	for row := from; row < to; row++ {
		z, y := row/part.Dy(), row%part.Dy()
		at := ((z*s.Height+part.Min.Y+y)*s.Width + part.Min.X) * pixel
		copy(dst[row*n:][:n], src[at:][:n])
	}
}
