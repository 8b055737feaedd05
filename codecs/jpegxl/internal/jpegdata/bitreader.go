package jpegdata

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/internal/container"
)

// bitReader reads the coded samples of a scan.
type bitReader struct {
	data  []byte
	at    int    // the next byte
	acc   uint64 // loaded bits, from the highest
	n     int    // their number
	zeros int    // zero bytes that were loaded behind the end of the samples
}

// fill loads at least 32 bits.
func (r *bitReader) fill() {
	if r.at+8 <= len(r.data) {
		v := binary.BigEndian.Uint64(r.data[r.at:])
		if x := ^v; (x-0x0101010101010101)&^x&0x8080808080808080 == 0 { // no byte of v is 0xff
			r.acc |= v >> r.n
			bytes := (63 - r.n) >> 3
			r.at += bytes
			r.n += 8 * bytes
			return
		}
	}
	// Bits below those that count may be there already and would not be right here.
	r.acc = r.acc >> (64 - r.n) << (64 - r.n)
	for r.n <= 56 {
		var b byte
		switch {
		case r.zeros > 0 || r.at >= len(r.data):
			r.zeros++
		case r.data[r.at] != 0xff:
			b = r.data[r.at]
			r.at++
		case r.at+1 < len(r.data) && r.data[r.at+1] == 0:
			b = 0xff
			r.at += 2
		default:
			r.zeros++
		}
		r.acc |= uint64(b) << (56 - r.n)
		r.n += 8
	}
}

// bits returns the next n bits, at most 16.
func (r *bitReader) bits(n int) int {
	if r.n < n {
		r.fill()
	}
	v := int(r.acc >> (64 - n))
	r.acc <<= n
	r.n -= n
	return v
}

// symbol returns the next symbol, -1 where there is no such code.
func (r *bitReader) symbol(d *decoder) int {
	if r.n < 32 {
		r.fill()
	}
	if e := d.lookup[r.acc>>(64-lookupBits)]; e != 0 {
		n := e.length()
		r.acc <<= n
		r.n -= n
		return e.symbol()
	}
	s, n := d.long(uint32(r.acc >> 48))
	if n == 0 {
		return -1
	}
	r.acc <<= n
	r.n -= int(n)
	return int(s)
}

// value returns a number of s bits (T.81, F.2.2.1).
func (r *bitReader) value(s int) int {
	v := r.bits(s)
	if v < 1<<(s-1) {
		v += -1<<s + 1
	}
	return v
}

// align ends an interval. It returns the bits up to the next byte, as their number and
// value, and leaves the reader at the byte behind them.
func (r *bitReader) align() (n, pad int, err error) {
	if r.n < r.zeros*8 {
		return 0, 0, container.ErrCutShort
	}
	n = r.n & 7
	pad = r.bits(n)
	for range r.n/8 - r.zeros {
		if r.at--; r.data[r.at] == 0 && r.at > 0 && r.data[r.at-1] == 0xff {
			r.at--
		}
	}
	r.acc, r.n, r.zeros = 0, 0, 0
	return n, pad, nil
}
