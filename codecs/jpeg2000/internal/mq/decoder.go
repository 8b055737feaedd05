package mq

import (
	"encoding/binary"
	"math/bits"
)

// half is 0x8000, below which the interval is renormalized, at the place of the registers.
const half = 0x8000 << qeShift

// Decoder is the arithmetic decoder (C.3). Where the standard holds the interval A and
// the code register C, and tests both after each decision, this one holds
//
//	d = min(Chigh, A - 0x8000)
//
// from which every more probable symbol takes Qe. As long as d does not fall below zero
// the symbol is the more probable one, and there is nothing to renormalize. The loops
// of a block decoder keep d in a local variable:
//
//	d := m.Load()
//	d -= state.Qe()
//	bit := state.MPS()
//	if d < 0 {
//		d, bit = m.Exchange(d, &state)
//	}
//	m.Store(d)
//
// The registers hold 16 bits in front and up to 47 bits of what follows in the stream.
type Decoder struct {
	d    int64
	a, c uint64 // A and C less d
	t    int    // bits of c behind the 16 in front that come from the stream; negative for a moment
	data []byte // what is not read yet
	ff   bool   // the byte read last was 0xFF
}

// Init starts at the first byte of a codeword segment (INITDEC, C.3.5).
func (m *Decoder) Init(data []byte) {
	*m = Decoder{t: -15, data: data}
	c := m.fill(0)
	d := min(c, 0)
	m.d, m.a, m.c = int64(d), half-d, c-d
}

// Load returns the register d.
func (m *Decoder) Load() int64 { return m.d }

// Store takes the register d back.
func (m *Decoder) Store(d int64) { m.d = d }

// Exchange decides on a symbol for which d has fallen below zero, renormalizes, and
// moves the state on (Figures C.16 to C.18). It has no branches that depend on the
// symbol, as those could not be predicted.
func (m *Decoder) Exchange(d int64, s *State) (int64, uint64) {
	state := *s
	qe := uint64(state &^ 0xFF)
	a := m.a + uint64(d)      // A - Qe
	c := m.c + uint64(d) + qe // C
	low := uint64(0)          // 1: C is in the lower part, of length Qe
	rest := c - qe
	if c < qe {
		low = 1
	}
	less := low // 1: the less probable symbol; the lower part is the MPS's where it is the longer one
	if a < qe {
		less ^= 1
	}
	if low != 0 {
		a = qe
		rest = c
	}
	*s = next[uint64(state&0xFF)<<1|less]
	n := bits.LeadingZeros64(a) - 1
	a <<= uint(n) & 63
	rest <<= uint(n) & 63
	m.t -= n
	if m.t < 0 {
		rest = m.fill(rest)
	}
	dd := min(rest, a-half)
	m.a, m.c = a-dd, rest-dd
	return int64(dd), uint64(state&1) ^ less
}

// fill adds bytes of the stream to c (BYTEIN, Figure C.19). A byte behind 0xFF overlaps
// the bit before it. A marker, above 0xFF8F, and the end of the segment are followed by
// ones without end.
func (m *Decoder) fill(c uint64) uint64 {
	if len(m.data) >= 4 && !m.ff {
		if v := binary.BigEndian.Uint32(m.data); !hasFF(v) {
			m.data = m.data[4:]
			c += uint64(v) << uint(qeShift-32-m.t)
			m.t += 32
			return c
		}
	}
	for m.t <= qeShift-16 {
		switch {
		case len(m.data) == 0 || m.ff && m.data[0] > 0x8F:
			m.data, m.ff = nil, false
			c += 0xFF << uint(qeShift-8-m.t)
			m.t += 8
		case m.ff:
			b := m.data[0]
			m.data, m.ff = m.data[1:], false
			c += uint64(b) << uint(qeShift-7-m.t)
			m.t += 7
		default:
			b := m.data[0]
			m.data, m.ff = m.data[1:], b == 0xFF
			c += uint64(b) << uint(qeShift-8-m.t)
			m.t += 8
		}
	}
	return c
}

// hasFF says whether a byte of v is 0xFF.
func hasFF(v uint32) bool {
	v = ^v
	return (v-0x01010101)&^v&0x80808080 != 0
}
