package jpeglossless

import (
	"encoding/binary"

	segments "github.com/pelmill/pelmill/internal/container/jpeg"
)

// lookupBits is the length of codes, with the bits of their difference, that one
// look finds.
const lookupBits = 11

// huffmanTable decodes the differences of a scan (T.81, F.2.2 and H.2).
type huffmanTable struct {
	counts  [16]byte // codes of each length, from 1 bit on
	symbols []byte   // in the order of their codes: lengths of differences in bits

	ready bool

	// first has one entry for each value of the next lookupBits bits:
	//
	//	bits 0 to 7    bits to drop: the code and its difference; 0 where they are
	//	               more than lookupBits, or no code
	//	bits 16 to 31  the difference, with its sign
	//
	// With the code 100 for a length of 2, the bits 100 10 give 0x00020005: 5 bits,
	// a difference of 2.
	first [1 << lookupBits]int32

	limit  [17]int32 // by length: one more than the last code, left-aligned to 16 bits
	offset [17]int32 // by length: index of a symbol less its code
}

// prepare assigns the codes (T.81, C.2).
func (t *huffmanTable) prepare() error {
	if t.ready {
		return nil
	}
	for _, v := range t.symbols {
		if v > 16 {
			return malformed("a Huffman table has a difference of %d bits", v)
		}
	}
	code, k := int32(0), 0
	for length := 1; length <= 16; length++ {
		t.offset[length] = int32(k) - code
		for range t.counts[length-1] {
			if code >= 1<<length {
				return malformed("the codes of a Huffman table are malformed")
			}
			t.look(code, length, int(t.symbols[k]))
			code++
			k++
		}
		t.limit[length] = code << (16 - length)
		code <<= 1
	}
	t.ready = true
	return nil
}

// look enters a code for all values of the bits behind it.
func (t *huffmanTable) look(code int32, length, size int) {
	extra := size
	if size == 16 {
		extra = 0 // its difference is always 32,768 (H.1.2.2)
	}
	free := lookupBits - length
	if extra > free {
		return
	}
	for rest := range int32(1) << free {
		v := int32(-32768)
		if size < 16 {
			v = extend(rest>>(free-extra), extra)
		}
		t.first[code<<free|rest] = int32(length+extra) | v<<16
	}
}

// long decodes a difference that first does not have. It returns notCode where the
// bits are no code.
func (t *huffmanTable) long(r *bitReader) int32 {
	bits := int32(r.acc >> 48)
	for length := 1; length <= 16; length++ {
		if bits < t.limit[length] {
			r.drop(length)
			size := int(t.symbols[bits>>(16-length)+t.offset[length]])
			if size == 0 {
				return 0
			}
			if size == 16 {
				return -32768
			}
			v := int32(r.acc >> (64 - size))
			r.drop(size)
			return extend(v, size)
		}
	}
	return notCode
}

// notCode is no difference.
const notCode = 1 << 20

// extend gives a number of n bits its sign (T.81, figure F.12); n is 0 to 15.
func extend(v int32, n int) int32 {
	if n > 0 && v < 1<<(n-1) {
		return v - 1<<n + 1
	}
	return v
}

// bitReader reads the entropy-coded data of a scan (T.81, F.2.2.5) without stuffed
// bytes, up to the next marker. Behind it there are zeroes.
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

func (r *bitReader) drop(n int) {
	r.acc <<= n
	r.n -= n
}

// overrun reports whether bits behind the end were taken.
func (r *bitReader) overrun() bool { return r.n < r.pad }

// restart drops what is left of the interval, and begins behind the marker that ends
// it, which is RSTn with this n (T.81, E.2.4).
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
