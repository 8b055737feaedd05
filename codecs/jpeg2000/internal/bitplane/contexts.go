package bitplane

import "github.com/pelmill/pelmill/codecs/jpeg2000/internal/mq"

// zeroTable holds the context of zero coding (Table D.1) by orientation and by what a
// sample sees of the significance around it. The bit of the sample itself is ignored.
var zeroTable = func() (t [4][512]uint8) {
	for o := range t {
		for f := range t[o] {
			bit := func(i int) int { return f >> i & 1 }
			h, v := bit(3)+bit(5), bit(1)+bit(7)
			d := bit(0) + bit(2) + bit(6) + bit(8)
			switch o {
			case 1: // HL: rows and columns change places
				t[o][f] = mq.ZeroCoding + lowContext(v, h, d)
			case 3:
				t[o][f] = mq.ZeroCoding + diagonalContext(h+v, d)
			default:
				t[o][f] = mq.ZeroCoding + lowContext(h, v, d)
			}
		}
	}
	return t
}()

// lowContext is the column for LL and LH of Table D.1.
func lowContext(h, v, d int) uint8 {
	switch {
	case h == 2:
		return 8
	case h == 1 && v >= 1:
		return 7
	case h == 1 && d >= 1:
		return 6
	case h == 1:
		return 5
	case v == 2:
		return 4
	case v == 1:
		return 3
	}
	return uint8(min(d, 2))
}

// diagonalContext is the column for HH of Table D.1.
func diagonalContext(hv, d int) uint8 {
	switch {
	case d >= 3:
		return 8
	case d == 2:
		return uint8(6 + min(hv, 1))
	case d == 1:
		return uint8(3 + min(hv, 2))
	}
	return uint8(min(hv, 2))
}

// signTable holds the context of sign coding and the bit that the sign is coded
// relative to (Tables D.2 and D.3), as context<<1 | bit. The index has bit 2i+1 for the
// significance and bit 2i for the sign of neighbour i: above, left, right, below.
var signTable = func() (t [256]uint8) {
	for f := range t {
		one := func(i int) int { return (f >> (2*i + 1) & 1) * (1 - 2*(f>>(2*i)&1)) }
		h := max(-1, min(1, one(1)+one(2)))
		v := max(-1, min(1, one(0)+one(3)))
		flip := uint8(0)
		if h < 0 || h == 0 && v < 0 {
			h, v, flip = -h, -v, 1
		}
		// Contexts 9 to 13 for (h, v) = (0,0), (0,1), (1,-1), (1,0), (1,1).
		c := v
		if h == 1 {
			c = 3 + v
		}
		t[f] = uint8(mq.SignCoding+c)<<1 | flip
	}
	return t
}()

// signIndex is the index into signTable for the sample that f is shifted to: significance
// of above, left, right and below are its bits 1, 3, 5, 7, their signs 18 above.
func signIndex(f uint64) uint8 { return uint8(f&0xAA | f>>(signs+1)&0x55) }
