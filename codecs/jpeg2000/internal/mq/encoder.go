package mq

import "math/bits"

// Symbol is a decision and its context: context<<1 | bit.
type Symbol = byte

// Encoder is the arithmetic encoder (C.2). It takes runs of decisions, so that the
// registers stay in registers and its branches are apart from those of the context
// modelling. The zero value needs a call of Reset.
type Encoder struct {
	Contexts

	a, c uint32 // A and C as in Figure C.2, without the marks of ct
	ct   int
	out  []byte // the stream behind one byte that takes a carry that never comes
	from int    // index in out of the byte before the codeword segment

	raw  byte // the bits of a raw segment that wait for the rest of their byte
	left int  // how many that is
}

// Reset starts a new stream and the first segment of it. The memory of the last stream
// is used again.
func (e *Encoder) Reset() {
	e.out = append(e.out[:0], 0)
	e.Contexts.Reset()
	e.Start()
}

// Start begins a codeword segment (INITENC, Figure C.10). The contexts stay as they are.
// The byte before it is never 0xFF, as no segment has one at its end.
func (e *Encoder) Start() {
	e.a, e.c, e.ct = 0x8000, 0, 12
	e.from = len(e.out) - 1
}

// Bytes is the stream so far. It is overwritten after the next Reset.
func (e *Encoder) Bytes() []byte { return e.out[1:] }

// Len is the length of the stream so far, without what the registers hold.
func (e *Encoder) Len() int { return len(e.out) - 1 }

// symbolBytes is the most bytes that a decision adds to the stream: it shifts C by at most 15 bits, into
// bytes of at least 7 of them.
const symbolBytes = 3

// encodeGo is Encode (Figures C.3 to C.8).
func (e *Encoder) encodeGo(symbols []Symbol) {
	a, c, ct := e.a, e.c, e.ct
	contexts := &e.Contexts
	for _, symbol := range symbols {
		s := &contexts[symbol>>1&31]
		state := *s
		qe := uint32(state >> qeShift)
		a -= qe
		less := uint64(state^State(symbol)) & 1
		if less == 0 && a&0x8000 != 0 {
			c += qe
			continue
		}
		// The part of the interval that the symbol takes: the lower one, of length Qe, is
		// the MPS's where it is the longer one.
		low := less
		if a < qe {
			low ^= 1
		}
		if low != 0 {
			a = qe
		} else {
			c += qe
		}
		*s = next[uint64(state&0xFF)<<1|less]
		n := bits.LeadingZeros32(a) - 16
		a <<= uint(n) & 31
		for n >= ct {
			c <<= uint(ct) & 31
			n -= ct
			c, ct = e.byteOut(c)
		}
		c <<= uint(n) & 31
		ct -= n
	}
	e.a, e.c, e.ct = a, c, ct
}

// byteOut is BYTEOUT (Figure C.8). It returns C and CT.
func (e *Encoder) byteOut(c uint32) (uint32, int) {
	last := &e.out[len(e.out)-1]
	if *last != 0xFF && c >= 0x8000000 {
		*last++
		c &= 0x7FFFFFF
	}
	if *last == 0xFF {
		e.out = append(e.out, byte(c>>20))
		return c & 0xFFFFF, 7
	}
	e.out = append(e.out, byte(c>>19))
	return c & 0x7FFFF, 8
}

// Mark is a place between two decisions of a codeword segment.
type Mark struct {
	a, c uint32
	ct   int
	n    int  // bytes of the stream
	last byte // of them; a carry may still change it
}

// Mark returns the place behind the decisions that were coded so far.
func (e *Encoder) Mark() Mark {
	n := len(e.out) - 1
	return Mark{e.a, e.c, e.ct, n, e.out[n]}
}

// Truncate returns how many bytes of the stream a decoder needs to decode all
// decisions before m, given that it makes up ones behind them (D.4.1). The segment must
// have been flushed.
//
// A part of the stream with ones behind it is a number that decodes the decisions if it is
// from C of the place to below C + A. It can be below C although the stream is not: a byte
// behind 0xFF overlaps it, so that what was cut off may have come to more than ones. All
// numbers here have the last bit of byte m.n at bit carry.
func (e *Encoder) Truncate(m Mark) int {
	const carry = 27 + 24
	least, limit := uint64(m.c)<<(uint(m.ct)+carry-27), uint64(m.c+m.a)<<(uint(m.ct)+carry-27)
	number := uint64(e.out[m.n]-m.last) << carry
	n, place, last := m.n, uint(carry), e.out[m.n]
	for n < len(e.out)-1 && (number+1<<place > limit || number+1<<place <= least) {
		if last == 0xFF {
			place++ // the next byte overlaps
		}
		n++
		last = e.out[n]
		place -= 8
		number += uint64(last) << place
	}
	for n > e.from && e.out[n] == 0xFF {
		n--
	}
	return n
}

// Flush ends the codeword segment (Figure C.11). A final 0xFF is left out, as the
// decoder makes it up.
func (e *Encoder) Flush() {
	limit := e.c + e.a
	e.c |= 0xFFFF
	if e.c >= limit {
		e.c -= 0x8000
	}
	e.c, e.ct = e.byteOut(e.c << uint(e.ct))
	e.byteOut(e.c << uint(e.ct))
	e.trim()
}

// FlushPredictably ends the codeword segment so that a decoder can tell from what
// follows its last decision whether there was damage (D.4.2): the bits that no decision
// needs are those of C.
func (e *Encoder) FlushPredictably() {
	for k := 12 - e.ct; k > 0; k -= e.ct {
		e.c, e.ct = e.byteOut(e.c << uint(e.ct))
	}
	e.trim()
}

// StartRaw begins a segment without arithmetic coding (D.6).
func (e *Encoder) StartRaw() {
	e.raw, e.left = 0, 8
	e.from = len(e.out) - 1
}

// EncodeRaw writes the bits of the symbols, whatever their contexts.
func (e *Encoder) EncodeRaw(symbols []Symbol) {
	for _, s := range symbols {
		e.putRaw(s & 1)
	}
}

// putRaw writes a bit. A byte behind 0xFF holds 7.
func (e *Encoder) putRaw(bit byte) {
	e.left--
	e.raw |= bit << uint(e.left)
	if e.left > 0 {
		return
	}
	e.out = append(e.out, e.raw)
	e.left = 8
	if e.raw == 0xFF {
		e.left = 7
	}
	e.raw = 0
}

// FlushRaw ends a raw segment. The bits that fill the last byte are 0, 1, 0 and so on.
func (e *Encoder) FlushRaw() {
	for fill := byte(0); !e.wholeRaw(); fill ^= 1 {
		e.putRaw(fill)
	}
	e.trim()
}

// RawLen is the length of the stream with the byte that waits for the rest of its bits.
func (e *Encoder) RawLen() int {
	if e.wholeRaw() {
		return e.Len()
	}
	return e.Len() + 1
}

// wholeRaw says whether no bits wait for the rest of their byte.
func (e *Encoder) wholeRaw() bool {
	return e.left == 8 || e.left == 7 && e.out[len(e.out)-1] == 0xFF
}

// trim leaves out a final 0xFF of the segment.
func (e *Encoder) trim() {
	if n := len(e.out) - 1; n > e.from && e.out[n] == 0xFF {
		e.out = e.out[:n]
	}
}
