package raster

import "encoding/binary"

// Luma is the grey image of m by ITU-R BT.601: 0.299 R + 0.587 G + 0.114 B in
// 16.16 fixed point, rounded to nearest. The weights are those of libjpeg, of
// [image/color] and of common imaging libraries, so that published numbers on
// grey versions of colour images can be compared. Alpha is dropped. An image
// that is grey without alpha is returned as it is.
func Luma(m *Image) *Image {
	if m.Channels == 1 {
		return m
	}
	g := *m
	g.Channels = 1
	g.Pix = make([]byte, g.Size())
	if m.Bits <= 8 && !m.Signed && m.Channels >= 3 {
		ch := m.Channels
		for i, j := 0, 0; i < len(g.Pix); i, j = i+1, j+ch {
			s := m.Pix[j : j+3 : j+3]
			g.Pix[i] = byte((lumaR*uint32(s[0]) + lumaG*uint32(s[1]) + lumaB*uint32(s[2]) + 1<<15) >> 16)
		}
		return &g
	}
	for i := range g.Samples() {
		j := i * m.Channels
		v := m.Sample(j)
		if m.Channels >= 3 {
			v = (lumaR*v + lumaG*m.Sample(j+1) + lumaB*m.Sample(j+2) + 1<<15) >> 16
		}
		if m.Bits <= 8 {
			g.Pix[i] = byte(v)
		} else {
			binary.LittleEndian.PutUint16(g.Pix[2*i:], uint16(v))
		}
	}
	return &g
}

// Weights of BT.601 times 2^16; their sum is 2^16.
const (
	lumaR = 19595
	lumaG = 38470
	lumaB = 7471
)
