package vq

import "math/bits"

// The entropy coder is a binary range coder with carry propagation as in LZMA
// (I. Pavlov), with adaptive probabilities of 16 bits.

// bit is an adaptive estimate for one binary decision in one context. The
// first decisions move it fast, as an average would; later ones at a rate that
// never falls below 1/adaptLimit, so that it follows the image.
type bit struct {
	zero uint16 // probability that the decision is 0, in 1/65536
	seen uint8  // decisions so far, at most adaptLimit
}

// update moves the estimate towards decision v. It has no branch on v, which a
// processor cannot foresee.
func (b *bit) update(v int) {
	p, minus := int32(b.zero), -int32(v)        // (x ^ minus) - minus is x for 0 and -x for 1
	way := ((65536&^minus - p) ^ minus) - minus // to the end that v points to: 65536 - p, or p
	step := int32(uint32(way) * uint32(adaptRate[b.seen&63]) >> 16)
	p += (step ^ minus) - minus
	b.zero = uint16(min(max(p, probMin), 65536-probMin))
	b.seen = min(b.seen+1, adaptLimit)
}

// updateZero is update(0).
func (b *bit) updateZero() {
	p := uint32(b.zero)
	p += (65536 - p) * uint32(adaptRate[b.seen&63]) >> 16
	b.zero = uint16(min(p, 65536-probMin))
	b.seen = min(b.seen+1, adaptLimit)
}

// updateOne is update(1).
func (b *bit) updateOne() {
	p := uint32(b.zero)
	p -= p * uint32(adaptRate[b.seen&63]) >> 16
	b.zero = uint16(max(p, probMin))
	b.seen = min(b.seen+1, adaptLimit)
}

// rangeEncoder appends to out. The zero value is not ready; use newRangeEncoder.
type rangeEncoder struct {
	out    []byte
	low    uint64 // 33 bits: the carry is bit 32
	width  uint32
	cache  byte
	behind int // bytes held back because a carry may still change them
	begun  bool
}

func newRangeEncoder(out []byte) *rangeEncoder {
	return &rangeEncoder{out: out, width: 0xffffffff, behind: 1}
}

// encode codes decision v with the estimate b and moves that.
func (e *rangeEncoder) encode(b *bit, v int) {
	e.put(uint32(b.zero), v)
	b.update(v)
}

// put codes decision v, which is 0 with a probability of zero/65536.
func (e *rangeEncoder) put(zero uint32, v int) {
	e.low, e.width = widen(e.low, e.width, zero, v)
	if e.width < 1<<24 {
		e.low, e.width = e.renew(e.low, e.width)
	}
}

// widen adds decision v to low and width, without a branch on it, which could not be foreseen.
// Loops over decisions call it and renew, as those of a decoder call narrow and refill.
func widen(low uint64, width, zero uint32, v int) (l uint64, w uint32) {
	bound := uint32(uint64(width) * uint64(zero) >> 16)
	one := -uint32(v) // all ones or 0
	return low + uint64(bound&one), bound + (width-2*bound)&one
}

// putAll codes decisions.
func (e *rangeEncoder) putAll(list []decision) {
	low, width := e.low, uint64(e.width)
	for _, v := range list {
		left, one := v.leaves(width)
		low += (width - left) & one
		if width = left; width < 1<<24 {
			var w uint32
			low, w = e.renew(low, uint32(width))
			width = uint64(w)
		}
	}
	e.low, e.width = low, uint32(width)
}

// renew makes a width below 1<<24 larger: the first bytes of low are written.
func (e *rangeEncoder) renew(low uint64, width uint32) (l uint64, w uint32) {
	e.low = low
	for width < 1<<24 {
		width <<= 8
		e.shift()
	}
	return e.low, width
}

func (e *rangeEncoder) shift() {
	if e.low < 0xff000000 || e.low > 0xffffffff {
		carry := byte(e.low >> 32)
		if e.begun { // the first byte is always 0 and is not written
			e.out = append(e.out, e.cache+carry)
		}
		e.begun = true
		for ; e.behind > 1; e.behind-- {
			e.out = append(e.out, 0xff+carry)
		}
		e.cache = byte(e.low >> 24)
		e.behind = 0
	}
	e.behind++
	e.low = e.low << 8 & 0xffffffff
}

// finish writes the last bytes and returns out.
func (e *rangeEncoder) finish() []byte {
	for range 5 {
		e.shift()
	}
	return e.out
}

// rangeDecoder reads what rangeEncoder wrote. Beyond the end it reads zeros and
// counts them, so that a damaged file ends the work and never the program.
type rangeDecoder struct {
	in    []byte
	pos   int
	width uint32
	code  uint32
}

func newRangeDecoder(in []byte) *rangeDecoder {
	d := &rangeDecoder{in: in, width: 0xffffffff}
	for range 4 {
		d.code = d.code<<8 | uint32(d.next())
	}
	return d
}

func (d *rangeDecoder) next() byte {
	d.pos++
	if d.pos > len(d.in) {
		return 0
	}
	return d.in[d.pos-1]
}

// narrow decides what is 0 with a probability of zero/65536, and returns what is left of
// width and code. Loops over decisions call it and refill, and so keep both out of memory,
// where every decision would wait for the one before to be written and read.
func narrow(width, code, zero uint32) (w, c uint32, v int) {
	bound := uint32(uint64(width) * uint64(zero) >> 16)
	if code < bound {
		return bound, code, 0
	}
	return width - bound, code - bound, 1
}

// narrowEvenly is narrow without a branch, for decisions of which nobody knows much: where
// the processor would guess wrong half the time.
func narrowEvenly(width, code, zero uint32) (w, c uint32, v int) {
	bound := uint32(uint64(width) * uint64(zero) >> 16)
	_, less := bits.Sub32(code, bound, 0)
	one := less - 1 // all ones or 0
	return bound + (width-2*bound)&one, code - bound&one, int(one & 1)
}

// refill makes a width below 1<<24 larger with the next bytes.
func (d *rangeDecoder) refill(width, code uint32) (w, c uint32) {
	for width < 1<<24 {
		width <<= 8
		code = code<<8 | uint32(d.next())
	}
	return width, code
}

// exact reports whether the decoder has consumed its input to the last byte and
// no byte more, as it has at the end of every stream that is not damaged.
func (d *rangeDecoder) exact() bool { return d.pos == len(d.in) }
