package packet

// bitReader reads the bits of a packet header (B.10.1), the most significant first. A
// byte behind 0xFF has seven bits.
type bitReader struct {
	data  []byte
	pos   int
	last  byte
	left  int  // bits of last that are not read
	short bool // bits behind the end were asked for; they are 0
}

func (r *bitReader) bit() int {
	if r.left == 0 && !r.next() {
		return 0
	}
	r.left--
	return int(r.last>>r.left) & 1
}

// next goes on to the next byte. It says no at the end.
func (r *bitReader) next() bool {
	if r.pos >= len(r.data) {
		r.short = true
		return false
	}
	r.left = 8
	if r.last == 0xff {
		r.left = 7
	}
	r.last = r.data[r.pos]
	r.pos++
	return true
}

// bits reads a number of n bits.
func (r *bitReader) bits(n int) int {
	v := 0
	for n > 0 {
		if r.left == 0 && !r.next() {
			return v << n
		}
		k := min(n, r.left)
		r.left -= k
		v = v<<k | int(r.last>>r.left)&(1<<k-1)
		n -= k
	}
	return v
}

// end returns the position behind the header: behind the last byte, and behind the
// stuffed byte that follows if that is 0xFF.
func (r *bitReader) end() int {
	if r.last == 0xff {
		if r.pos >= len(r.data) {
			r.short = true
			return r.pos
		}
		r.pos++
	}
	return r.pos
}

// bitWriter is the inverse of bitReader.
type bitWriter struct {
	data    []byte
	last    byte
	free    int  // bits of last that are not written, before the first byte 8
	afterFF bool // the byte before last is 0xFF
}

func newBitWriter(data []byte) *bitWriter { return &bitWriter{data: data, free: 8} }

// bits writes the low n bits of v.
func (w *bitWriter) bits(v, n int) {
	for n > 0 {
		k := min(n, w.free)
		n -= k
		w.free -= k
		w.last |= byte(v>>n&(1<<k-1)) << w.free
		if w.free == 0 {
			w.next()
		}
	}
}

func (w *bitWriter) next() {
	w.data = append(w.data, w.last)
	w.free = 8
	if w.last == 0xff {
		w.free = 7
	}
	w.afterFF = w.last == 0xff
	w.last = 0
}

// end fills the last byte with zeros and returns the bytes. A header does not end with 0xFF.
func (w *bitWriter) end() []byte {
	full := 8
	if w.afterFF {
		full = 7
	}
	if w.free < full || w.afterFF {
		w.next()
		if w.afterFF {
			w.next()
		}
	}
	return w.data
}
