package jpeg2000

import (
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/pool"
)

// assemble makes the channels of an image whose components are not its channels: it
// repeats sub-sampled ones, looks palettes up, converts sYCC and scales an opacity of
// another depth.
func (o *output) assemble(p *pool.Pool) {
	if o.planes == nil {
		return
	}
	columns := make([][]int, len(o.channels)) // by channel: the place in the component's row of each sample
	for i, ch := range o.channels {
		bounds := codestream.Reduce(o.stream.Size.ComponentBounds(o.stream.Size.Image, ch.component), o.reduce)
		for x := o.area.Min.X; x < o.area.Max.X; x++ {
			columns[i] = append(columns[i], o.column(ch.component, x, bounds)-o.windows[ch.component].Min.X)
		}
	}
	p.Spans(o.area.Dy(), rowsAtOnce, func(lo, hi int) {
		rows := make([][]int32, len(o.channels))
		for i := range rows {
			rows[i] = make([]int32, o.area.Dx())
		}
		for y := lo; y < hi; y++ {
			for i, ch := range o.channels {
				o.gather(rows[i], ch, o.area.Min.Y+y, columns[i])
			}
			o.convert(rows)
			for i, row := range rows {
				at := y*o.shape.Width*len(rows) + i
				if o.words != nil {
					put(o.words[at:], len(rows), row)
				} else {
					put(o.bytes[at:], len(rows), row)
				}
			}
		}
	})
}

// gather takes row y of a channel from its component.
func (o *output) gather(dst []int32, ch channel, y int, columns []int) {
	w := o.windows[ch.component]
	bounds := codestream.Reduce(o.stream.Size.ComponentBounds(o.stream.Size.Image, ch.component), o.reduce)
	src := o.planes[ch.component][(o.row(ch.component, y, bounds)-w.Min.Y)*w.Dx():][:w.Dx()]
	if ch.column < 0 {
		for i, x := range columns {
			dst[i] = src[x]
		}
		return
	}
	palette := o.boxes.Palette
	n := len(palette.Columns)
	last := int32(len(palette.Entries)/n - 1)
	for i, x := range columns {
		dst[i] = palette.Entries[int(min(max(src[x], 0), last))*n+ch.column]
	}
}

// convert makes RGB of sYCC and brings opacity to the depth of the colours.
func (o *output) convert(rows [][]int32) {
	if o.sycc {
		convertSYCC(rows[0], rows[1], rows[2], o.shape.Bits)
	}
	last := len(o.channels) - 1
	if from := o.channels[last].depth.Bits; o.shape.Alpha() && from != o.shape.Bits {
		most, of := int32(1)<<o.shape.Bits-1, int32(1)<<from-1
		for i, v := range rows[last] {
			rows[last][i] = int32((int64(v)*int64(most) + int64(of)/2) / int64(of))
		}
	}
}

// convertSYCC is the conversion of IEC 61966-2-1, amendment 1, in units of 1/65536:
// R = Y + 1.402 Cr, G = Y - 0.344136 Cb - 0.714136 Cr, B = Y + 1.772 Cb, rounded to the
// nearest integer, the higher of two.
func convertSYCC(c0, c1, c2 []int32, bits int) {
	half, most := int64(1)<<(bits-1), int64(1)<<bits-1
	clamp := func(v int64) int32 { return int32(min(max((v+1<<15)>>16, 0), most)) }
	for i, v := range c0 {
		y, cb, cr := int64(v)<<16, int64(c1[i])-half, int64(c2[i])-half
		c0[i], c1[i], c2[i] = clamp(y+91881*cr), clamp(y-22553*cb-46802*cr), clamp(y+116130*cb)
	}
}
