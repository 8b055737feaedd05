package mq

// RawReader reads the bits of a segment that is not arithmetically coded (D.6). Behind
// the end of the segment it reads ones, as the arithmetic decoder does.
type RawReader struct {
	data []byte
	bits uint32 // the bits of the byte at hand that are not read yet, left-aligned in 8 bits
	left int
	ff   bool
}

// Init starts at the first byte of a segment.
func (r *RawReader) Init(data []byte) { *r = RawReader{data: data} }

// Bit returns the next bit. A byte behind 0xFF holds 7.
func (r *RawReader) Bit() uint64 {
	if r.left == 0 {
		r.next()
	}
	r.left--
	return uint64(r.bits>>uint(r.left&7)) & 1
}

func (r *RawReader) next() {
	r.left = 8
	if len(r.data) == 0 {
		r.bits = 0xFF
		return
	}
	if r.ff {
		r.left = 7
	}
	r.bits = uint32(r.data[0])
	r.data = r.data[1:]
	r.ff = r.bits == 0xFF
}
