package jpegls

import (
	"encoding/binary"
	"math/bits"

	segments "github.com/pelmill/pelmill/internal/container/jpeg"
)

// bitReader reads the data of a scan without the zero bit that is stuffed behind
// each byte 0xff, up to the next marker (T.87, A.1 and C.1). Behind it there are
// zeroes.
type bitReader struct {
	data    []byte
	pos     int  // of the next byte; at the 0xff of the marker once end is set
	stuffed bool // the byte before pos is 0xff
	end     bool

	acc uint64 // the next bits, from the highest on; zero behind n
	n   int    // bits of acc, zeroes behind the end among them
	pad int    // zeroes that were put behind the end so far
}

// fill gives acc at least 56 bits.
func (r *bitReader) fill() {
	if !r.stuffed && r.pos+8 <= len(r.data) {
		x := binary.BigEndian.Uint64(r.data[r.pos:])
		// No byte of x is 0xff where no byte of ^x is zero.
		if y := ^x; (y-0x0101010101010101)&x&0x8080808080808080 == 0 {
			whole := (64 - r.n) >> 3
			r.acc |= x >> (64 - 8*whole) << (64 - 8*whole) >> r.n
			r.pos += whole
			r.n += 8 * whole
			return
		}
	}
	r.fillBytes()
}

func (r *bitReader) fillBytes() {
	for r.n <= 56 {
		if !r.end {
			switch {
			case r.pos >= len(r.data):
				r.end = true
			case r.data[r.pos] == 0xff && (r.pos+1 >= len(r.data) || r.data[r.pos+1] >= 0x80):
				r.end = true
			}
		}
		if r.end {
			r.n += 8
			r.pad += 8
			continue
		}
		v := uint64(r.data[r.pos])
		r.pos++
		if r.stuffed {
			r.acc |= v << (57 - r.n)
			r.n += 7
		} else {
			r.acc |= v << (56 - r.n)
			r.n += 8
		}
		r.stuffed = v == 0xff
	}
}

// take returns the next n bits, 0 to 16.
func (r *bitReader) take(n int) int32 {
	if r.n < n {
		r.fill()
	}
	v := int32(r.acc >> 1 >> (63 - n))
	r.acc <<= n
	r.n -= n
	return v
}

// golomb decodes a mapped error by a Golomb code with parameter k and a longest code
// of limit bits (T.87, A.5.3). It returns -1 for what is no code.
func (r *bitReader) golomb(k, limit, qbpp int) int32 {
	if r.n < 32 {
		r.fill()
	}
	zeroes := bits.LeadingZeros64(r.acc)
	if n := zeroes + 1 + k; zeroes < limit-qbpp-1 && n <= r.n {
		v := int32(zeroes)<<k | int32(r.acc<<zeroes<<1>>1>>(63-k))
		r.acc <<= n
		r.n -= n
		return v
	}
	return r.longGolomb(k, limit, qbpp)
}

// longGolomb decodes codes that acc does not hold as a whole, and escaped ones.
func (r *bitReader) longGolomb(k, limit, qbpp int) int32 {
	zeroes := 0
	for r.take(1) == 0 {
		if zeroes++; zeroes >= limit-qbpp {
			return -1
		}
	}
	if zeroes < limit-qbpp-1 {
		return int32(zeroes)<<k | r.take(k)
	}
	return r.take(qbpp) + 1
}

// overrun reports whether bits behind the end were taken.
func (r *bitReader) overrun() bool { return r.n < r.pad }

// restart drops what is left of the interval, and begins behind the marker that ends
// it, which is RSTn with this n.
func (r *bitReader) restart(n int) error {
	marker, next := segments.NextMarker(r.data, r.pos)
	if marker == 0 {
		return errCutShort
	}
	if marker != segments.RST0+byte(n) {
		return malformed("its restart markers are out of order")
	}
	*r = bitReader{data: r.data, pos: next}
	return nil
}
