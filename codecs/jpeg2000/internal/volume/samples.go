package volume

import (
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// load fills the arrays of the components with the samples of m, around zero (15444-1,
// G.1), and transforms the first three by RCT (G.2.1) if so said.
func load(p *pool.Pool, arrays []array, m *raster.Image, transform bool) {
	offset := int32(0)
	if !m.Signed {
		offset = 1 << (m.Bits - 1)
	}
	n, channels := m.Width*m.Height, m.Channels
	var wide []uint16
	if m.Bits > 8 {
		wide = m.Uint16()
	}
	p.Each(m.Depth, func(z int) {
		for c := range arrays {
			out := arrays[c].samples[z*n:][:n]
			from := z*n*channels + c
			switch {
			case m.Bits > 8 && m.Signed:
				for i := range out {
					out[i] = int32(int16(wide[from+i*channels]))
				}
			case m.Bits > 8:
				for i := range out {
					out[i] = int32(wide[from+i*channels]) - offset
				}
			case m.Signed:
				for i := range out {
					out[i] = int32(int8(m.Pix[from+i*channels]))
				}
			default:
				for i := range out {
					out[i] = int32(m.Pix[from+i*channels]) - offset
				}
			}
		}
		if transform {
			forwardRCT(arrays[0].samples[z*n:][:n], arrays[1].samples[z*n:][:n], arrays[2].samples[z*n:][:n])
		}
	})
}

// store is the inverse of load (G.2.2, G.1): the image of the shape s. Values that no sample
// can have become the nearest one.
func store(p *pool.Pool, s raster.Shape, arrays []array, transform bool) *raster.Image {
	offset := int32(0)
	if !s.Signed {
		offset = 1 << (s.Bits - 1)
	}
	low, high := -int32(1)<<(s.Bits-1), int32(1)<<(s.Bits-1)-1
	n, channels := s.Width*s.Height, s.Channels
	var narrow []byte
	var wide []uint16
	if s.BytesPerSample() == 2 {
		wide = make([]uint16, s.Samples())
	} else {
		narrow = make([]byte, s.Samples())
	}
	p.Each(s.Depth, func(z int) {
		if transform {
			inverseRCT(arrays[0].samples[z*n:][:n], arrays[1].samples[z*n:][:n], arrays[2].samples[z*n:][:n])
		}
		for c := range arrays {
			at := z*n*channels + c
			for i, v := range arrays[c].samples[z*n:][:n] {
				v = max(low, min(high, v)) + offset
				if wide != nil {
					wide[at+i*channels] = uint16(v)
				} else {
					narrow[at+i*channels] = byte(v)
				}
			}
		}
	})
	if wide != nil {
		return raster.FromUint16(s, wide)
	}
	return &raster.Image{Shape: s, Pix: narrow}
}

// forwardRCT replaces red, green and blue by Y0, Y1 and Y2.
func forwardRCT(r, g, b []int32) {
	g, b = g[:len(r)], b[:len(r)]
	for i := range r {
		r[i], g[i], b[i] = (r[i]+2*g[i]+b[i])>>2, b[i]-g[i], r[i]-g[i]
	}
}

// inverseRCT is its inverse.
func inverseRCT(r, g, b []int32) {
	g, b = g[:len(r)], b[:len(r)]
	for i := range r {
		green := r[i] - (g[i]+b[i])>>2
		r[i], g[i], b[i] = b[i]+green, green, g[i]+green
	}
}
