package imageio

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/raster"
)

// lookUp replaces indices by the colours of the map, of which, as in libtiff, the
// high 8 of 16 bits count, unless no value uses them. Alpha stays.
func (t *tiffPage) lookUp(dst *raster.Image, native []byte) {
	n := 1 << t.bits
	shift := 0
	for i := range 3 * n {
		if t.colours.Int(t.order, i) > 255 {
			shift = 8
		}
	}
	var table [256][4]byte
	for i := range n {
		for c := range 3 {
			table[i][c] = byte(t.colours.Int(t.order, i+c*n) >> shift)
		}
	}
	most := 1<<t.bits - 1
	i, j := 0, 0
	if t.kept == 1 {
		// The fourth byte is the next pixel's, which is written later.
		for ; j+1 < len(native); i, j = i+3, j+1 {
			*(*[4]byte)(dst.Pix[i:]) = table[native[j]]
		}
	}
	for ; j < len(native); i, j = i+dst.Channels, j+t.kept {
		copy(dst.Pix[i:i+3], table[native[j]][:])
		if t.alpha {
			dst.Pix[i+3] = byte(int(native[j+1]) * 255 / most)
		}
	}
}

// fromCMYK converts with the rounding of libtiff, and keeps alpha.
func (t *tiffPage) fromCMYK(dst *raster.Image, native []byte) {
	i, j := 0, 0
	if t.kept == 4 {
		// The fourth byte is the next pixel's, which is written later.
		for ; j+4 < len(native); i, j = i+3, j+4 {
			binary.LittleEndian.PutUint32(dst.Pix[i:], overBlack(binary.LittleEndian.Uint32(native[j:])))
		}
	}
	for ; j < len(native); i, j = i+dst.Channels, j+t.kept {
		s := native[j : j+t.kept : j+t.kept]
		k := 255 - uint32(s[3])
		for c := range 3 {
			dst.Pix[i+c] = byte((255 - uint32(s[c])) * k / 255)
		}
		if t.alpha {
			dst.Pix[i+3] = s[4]
		}
	}
}

// overBlack converts a pixel of C, M, Y and K in the bytes of a word to R, G and B in the lowest three.
func overBlack(cmyk uint32) uint32 {
	const lanes = 0xff<<40 | 0xff<<20 | 0xff
	const one = 1<<40 | 1<<20 | 1
	v := uint64(^cmyk)
	// The three products, of 16 bits each, are 20 bits apart; p/255 is (p + 1 + p/256)/256 without a rest.
	p := (v&0xff | v<<12&(0xff<<20) | v<<24&(0xff<<40)) * (v >> 24)
	p = (p + one + p>>8&lanes) >> 8 & lanes
	return uint32(p&0xff | p>>12&0xff00 | p>>24&0xff0000)
}

// divideAlpha turns premultiplied colours into straight ones, rounded to
// nearest. Where alpha is zero there is nothing to recover.
func divideAlpha(m *raster.Image) {
	most := 1<<m.Bits - 1
	for i := 0; i < m.Samples(); i += m.Channels {
		a := m.Sample(i + m.Channels - 1)
		if a == 0 || a == most {
			continue
		}
		for c := i; c < i+m.Channels-1; c++ {
			v := min((m.Sample(c)*most+a/2)/a, most)
			if m.Bits > 8 {
				binary.LittleEndian.PutUint16(m.Pix[2*c:], uint16(v))
			} else {
				m.Pix[c] = byte(v)
			}
		}
	}
}
