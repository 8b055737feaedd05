package decode

import (
	"encoding/binary"

	segments "github.com/pelmill/pelmill/internal/container/jpeg"
)

// bitReader reads the entropy-coded data of a scan (T.81, F.2.2.5) without
// stuffed bytes, up to the next marker. Behind it there are zeroes.
type bitReader struct {
	data []byte
	pos  int // of the next byte; at the 0xff of the marker once end is set
	end  bool

	acc uint64 // the next bits, from the highest on; more than n may be there
	n   int    // bits of acc that count, zeroes behind the end among them
	pad int    // zeroes that were put behind the end so far
}

// fill gives acc at least 32 bits.
func (r *bitReader) fill() {
	if r.n >= 32 {
		return
	}
	if r.pos+8 <= len(r.data) {
		x := binary.BigEndian.Uint64(r.data[r.pos:])
		// No byte of x is 0xff where no byte of ^x is zero.
		if y := ^x; (y-0x0101010101010101)&x&0x8080808080808080 == 0 {
			// Bits behind the last whole byte are put again by the next call.
			r.acc |= x >> r.n
			whole := (63 - r.n) >> 3
			r.pos += whole
			r.n += 8 * whole
			return
		}
	}
	r.fillBytes()
}

func (r *bitReader) fillBytes() {
	for r.n <= 56 {
		if r.end || r.pos >= len(r.data) {
			r.end = true
			r.n += 8
			r.pad += 8
			continue
		}
		v := r.data[r.pos]
		next := r.pos + 1
		if v == 0xff {
			for next < len(r.data) && r.data[next] == 0xff {
				next++
			}
			if next >= len(r.data) || r.data[next] != 0 {
				r.end = true
				continue
			}
			next++
		}
		r.pos = next
		r.acc |= uint64(v) << (56 - r.n)
		r.n += 8
	}
}

// take returns the next n bits, 1 to 16; fill has been called.
func (r *bitReader) take(n int) int32 {
	v := int32(r.acc >> (64 - n))
	r.acc <<= n
	r.n -= n
	return v
}

// bit returns the next bit.
func (r *bitReader) bit() int32 {
	if r.n == 0 {
		r.fill()
	}
	return r.take(1)
}

// overrun reports whether bits behind the end were taken.
func (r *bitReader) overrun() bool { return r.n < r.pad }

// restart drops what is left of the interval, and begins behind the marker that
// ends it, which is RSTn with this n (T.81, E.2.4).
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

// extend gives a number of n bits its sign (T.81, figure F.12); n is 1 to 16.
func extend(v int32, n int) int32 {
	if v < 1<<(n-1) {
		return v - 1<<n + 1
	}
	return v
}
