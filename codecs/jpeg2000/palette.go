package jpeg2000

import (
	"cmp"
	"slices"

	"github.com/pelmill/pelmill/internal/container/jp2"
	"github.com/pelmill/pelmill/raster"
)

// maxColours is the most entries that a palette may have (I.5.3.4).
const maxColours = 1024

// colour is a pixel: its channels, from the highest bits down.
type colour uint64

// orPalette returns file, or a file of indices into a palette where the image has few
// colours and that file is smaller.
func (e *encoder) orPalette(file []byte) ([]byte, error) {
	indices, palette := indexed(e.image)
	if palette == nil {
		return file, nil
	}
	options := *e.options
	options.block, options.levels = e.options.block, e.options.levels
	part := &encoder{ctx: e.ctx, workers: e.workers, image: indices, options: &options}
	stream, err := part.chosen()
	if err != nil {
		return nil, err
	}
	if other := e.options.wrap(e.image, stream, palette); len(other) < len(file) {
		return other, nil
	}
	return file, nil
}

// indexed returns an image's indices into a palette, sorted by luminance, and nil if it
// has too many colours.
func indexed(m *raster.Image) (*raster.Image, *jp2.Palette) {
	index := map[colour]int{}
	pixels := make([]colour, m.Pixels())
	for i := range pixels {
		v := colour(0)
		for c := range m.Channels {
			v = v<<16 | colour(uint16(m.Sample(i*m.Channels+c)))
		}
		pixels[i] = v
		if _, ok := index[v]; !ok {
			if index[v] = 0; len(index) > maxColours {
				return nil, nil
			}
		}
	}
	colours := make([]colour, 0, len(index))
	for v := range index {
		colours = append(colours, v)
	}
	slices.SortFunc(colours, func(a, b colour) int {
		return cmp.Or(cmp.Compare(luminance(a, m.Shape), luminance(b, m.Shape)), cmp.Compare(a, b))
	})
	p := &jp2.Palette{Columns: make([]jp2.Depth, m.Channels)}
	for c := range p.Columns {
		p.Columns[c] = jp2.Depth{Bits: m.Bits, Signed: m.Signed}
	}
	for i, v := range colours {
		index[v] = i
		for c := range m.Channels {
			p.Entries = append(p.Entries, channelOf(v, c, m.Shape))
		}
	}
	return indexImage(m, pixels, index, indexBits(p)), p
}

func indexImage(m *raster.Image, pixels []colour, index map[colour]int, bits int) *raster.Image {
	out := raster.New(m.Width, m.Height, 1, 1, bits)
	for i, v := range pixels {
		if n := index[v]; bits <= 8 {
			out.Pix[i] = byte(n)
		} else {
			out.Pix[2*i], out.Pix[2*i+1] = byte(n), byte(n>>8)
		}
	}
	return out
}

// channelOf is the sample of a channel of a pixel.
func channelOf(v colour, c int, s raster.Shape) int32 {
	u := uint16(v >> (16 * (s.Channels - 1 - c)))
	if s.Signed {
		return int32(int16(u))
	}
	return int32(u)
}

// luminance is a weighted sum of a pixel's channels; opacity counts last.
func luminance(v colour, s raster.Shape) int32 {
	if s.Channels < 3 {
		return channelOf(v, 0, s)
	}
	return 2*channelOf(v, 0, s) + 4*channelOf(v, 1, s) + channelOf(v, 2, s)
}
