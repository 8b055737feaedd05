package bitplane

import (
	"math/bits"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/mq"
)

// The passes of this file only write down their decisions, which the arithmetic encoder
// takes afterwards. No pass has more than two for each sample and three for each column.

// room returns the unused part of the decisions with room for a stripe.
func (e *Encoder) room(columns int) ([]mq.Symbol, int) {
	n := len(e.symbols)
	if need := n + 12*columns; cap(e.symbols) < need {
		grown := make([]mq.Symbol, n, need+n)
		copy(grown, e.symbols)
		e.symbols = grown
	}
	return e.symbols[:cap(e.symbols)], n
}

// propagation is the significance propagation pass (D.3.1). In the bypass signs are
// coded as they are.
func (e *Encoder) propagation(raw bool) {
	zero := e.zero
	for s := range e.stripes {
		valid, row, start := e.valid(s), e.stripe(s), e.row(s)
		out, n := e.room(len(row))
		for x, f := range row {
			if f&significance == 0 {
				continue
			}
			todo := near(f) &^ (f >> own) & valid
			for todo != 0 {
				k := uint(bits.TrailingZeros64(todo)) & 15
				todo &= todo - 1
				f |= 1 << visited << k
				g := f >> k
				bit := g >> current & 1
				out[n] = zero[g&seen]<<1 | mq.Symbol(bit)
				n++
				if bit == 0 {
					continue
				}
				sign := g >> ownSign & 1
				out[n] = signSymbol(g)
				if raw {
					out[n] = mq.Symbol(sign)
				}
				n++
				mark := marks(k, sign)
				f |= mark
				e.spread(start+x, k, mark, e.causal)
				if e.Measure {
					e.measureSignificance(s, x, k)
				}
				todo |= 8 << k &^ (f >> own) & valid
			}
			row[x] = f
		}
		e.symbols = out[:n]
	}
}

// signSymbol is the decision on the sign of the sample that g is shifted to.
func signSymbol(g uint64) mq.Symbol {
	return signTable[signIndex(g)] ^ mq.Symbol(g>>ownSign&1)
}

// refinement is the magnitude refinement pass (D.3.3).
func (e *Encoder) refinement() {
	for s := range e.stripes {
		row := e.stripe(s)
		out, n := e.room(len(row))
		for x, f := range row {
			todo := f >> own &^ (f >> visited) & perSample
			if todo == 0 {
				continue
			}
			for at := todo; at != 0; at &= at - 1 {
				g := f >> (uint(bits.TrailingZeros64(at)) & 15)
				out[n] = mq.Symbol(refinementContext(g)<<1) | mq.Symbol(g>>current&1)
				n++
			}
			row[x] = f | todo<<refined
		}
		e.symbols = out[:n]
	}
}

// cleanup is the cleanup pass (D.3.4).
func (e *Encoder) cleanup() {
	zero := e.zero
	for s := range e.stripes {
		valid, row, start := e.valid(s), e.stripe(s), e.row(s)
		out, n := e.room(len(row))
		for x, f := range row {
			todo := uncoded(f) & valid
			known := false // that the first sample of todo becomes significant
			if f&significance == 0 && todo == perSample {
				ones := f >> current & perSample
				if ones == 0 {
					out[n] = mq.RunLength << 1
					n++
					continue
				}
				k := uint(bits.TrailingZeros64(ones))
				run := mq.Symbol(k * 11 >> 5)
				out[n] = mq.RunLength<<1 | 1
				out[n+1] = mq.Uniform<<1 | run>>1
				out[n+2] = mq.Uniform<<1 | run&1
				n += 3
				todo &= -(1 << k)
				known = true
			}
			for ; todo != 0; todo &= todo - 1 {
				k := uint(bits.TrailingZeros64(todo)) & 15
				g := f >> k
				bit := g >> current & 1
				if !known {
					out[n] = zero[g&seen]<<1 | mq.Symbol(bit)
					n++
				}
				known = false
				if bit == 0 {
					continue
				}
				out[n] = signSymbol(g)
				n++
				mark := marks(k, g>>ownSign&1)
				f |= mark
				e.spread(start+x, k, mark, e.causal)
				if e.Measure {
					e.measureSignificance(s, x, k)
				}
			}
			row[x] = f &^ (perSample << visited)
		}
		e.symbols = out[:n]
	}
}
