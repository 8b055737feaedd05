package raster

import "encoding/binary"

// EightBits is m with 8 bits a sample where all of its 16-bit samples are 8-bit values times 257, as programs
// write them that widen: nothing is lost, because 257 v is v of the same share of the range. Else it
// is m itself. The result has memory and no attributes of its own.
func EightBits(m *Image) *Image {
	if m.Bits != 16 || m.Signed {
		return m
	}
	for i := 0; i+1 < len(m.Pix); i += 2 {
		if m.Pix[i] != m.Pix[i+1] {
			return m
		}
	}
	o := *m
	o.Bits = 8
	o.Pix = make([]byte, o.Size())
	for i := range o.Pix {
		o.Pix[i] = byte(binary.LittleEndian.Uint16(m.Pix[2*i:]) / 257)
	}
	return &o
}
