package bitplane

import (
	"math/bits"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/mq"
)

// The passes of this file are those of all machines; decodepass_amd64.s has three of them again in assembly. They keep the register of the arithmetic decoder in r, see
// [mq.Decoder]. A sample that becomes significant in bit-plane p is 2^p at first, and
// half of that on top as what the planes below may hold: 3<<p with the fractional bit.

// propagationGo is the significance propagation pass (D.3.1).
func (d *decoder) propagationGo(p uint) {
	r, zero, contexts := d.mq.Load(), d.zero, &d.contexts
	for s := range d.stripes {
		valid, row, start := d.valid(s), d.stripe(s), d.row(s)
		data := d.data[s*4*len(row):][:4*len(row)]
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
				c := &contexts[zero[g&seen]&31]
				r -= c.Qe()
				bit := c.MPS()
				if r < 0 {
					r, bit = d.mq.Exchange(r, c)
				}
				if bit == 0 {
					continue
				}
				i := signTable[signIndex(g)]
				c = &contexts[i>>1&31]
				r -= c.Qe()
				sign := c.MPS()
				if r < 0 {
					r, sign = d.mq.Exchange(r, c)
				}
				sign ^= uint64(i & 1)
				mark := marks(k, sign)
				f |= mark
				d.spread(start+x, k, mark, d.causal)
				data[x*4+int(k*11>>5)] = signed(3<<p, sign)
				todo |= 8 << k &^ (f >> own) & valid
			}
			row[x] = f
		}
	}
	d.mq.Store(r)
}

// refinementGo is the magnitude refinement pass (D.3.3).
func (d *decoder) refinementGo(p uint) {
	r, contexts := d.mq.Load(), &d.contexts
	for s := range d.stripes {
		row := d.stripe(s)
		data := d.data[s*4*len(row):][:4*len(row)]
		for x, f := range row {
			todo := f >> own &^ (f >> visited) & perSample
			if todo == 0 {
				continue
			}
			column := (*[4]int32)(data[4*x:])
			for at := todo; at != 0; at &= at - 1 {
				k := uint(bits.TrailingZeros64(at)) & 15
				g := f >> k
				c := &contexts[refinementContext(g)&31]
				r -= c.Qe()
				bit := c.MPS()
				if r < 0 {
					r, bit = d.mq.Exchange(r, c)
				}
				v := &column[k*11>>5&3]
				*v += refine(*v, p, bit)
			}
			row[x] = f | todo<<refined
		}
	}
	d.mq.Store(r)
}

// refinementContext is Table D.4.
func refinementContext(g uint64) uint {
	c := uint(mq.Refinement)
	if g&around != 0 {
		c = mq.Refinement + 1
	}
	if g>>refined&1 != 0 {
		c = mq.Refinement + 2
	}
	return c
}

// refine is what bit-plane p adds to v, whose half below the last plane becomes the
// bit and the half below that.
func refine(v int32, p uint, bit uint64) int32 {
	by := int32(bit)<<(p+1) - 1<<p
	sign := v >> 31
	return by ^ sign - sign
}

func signed(v int32, sign uint64) int32 {
	s := -int32(sign)
	return v ^ s - s
}

// cleanupGo is the cleanup pass (D.3.4). It ends the bit-plane: no sample is visited
// any more.
func (d *decoder) cleanupGo(p uint) {
	r, zero, contexts := d.mq.Load(), d.zero, &d.contexts
	for s := range d.stripes {
		valid, row, start := d.valid(s), d.stripe(s), d.row(s)
		data := d.data[s*4*len(row):][:4*len(row)]
		for x := range row {
			f := row[x]
			todo := uncoded(f) & valid
			first := uint64(0) // bit 0 of a sample that is known to become significant
			if f&significance == 0 && todo == perSample {
				c := &contexts[mq.RunLength]
				r -= c.Qe()
				run := c.MPS()
				if r < 0 {
					r, run = d.mq.Exchange(r, c)
				}
				if run == 0 {
					continue
				}
				var high, low uint64
				r, high = d.uniform(r)
				r, low = d.uniform(r)
				first = 1 << (3 * (high<<1 | low))
				todo &= -first
			}
			for ; todo != 0; todo &= todo - 1 {
				k := uint(bits.TrailingZeros64(todo)) & 15
				g := f >> k
				if first == 0 {
					c := &contexts[zero[g&seen]&31]
					r -= c.Qe()
					bit := c.MPS()
					if r < 0 {
						r, bit = d.mq.Exchange(r, c)
					}
					if bit == 0 {
						continue
					}
				}
				first = 0
				i := signTable[signIndex(g)]
				c := &contexts[i>>1&31]
				r -= c.Qe()
				sign := c.MPS()
				if r < 0 {
					r, sign = d.mq.Exchange(r, c)
				}
				sign ^= uint64(i & 1)
				mark := marks(k, sign)
				f |= mark
				d.spread(start+x, k, mark, d.causal)
				data[x*4+int(k*11>>5)] = signed(3<<p, sign)
			}
			row[x] = f &^ (perSample << visited)
		}
	}
	d.mq.Store(r)
}

// rawPropagation is the significance propagation in the bypass: bits and signs as they are.
func (d *decoder) rawPropagation(p uint) {
	d.toWords()
	for s := range d.stripes {
		valid, row, start := d.valid(s), d.stripe(s), d.row(s)
		data := d.data[s*4*len(row):][:4*len(row)]
		for x := range row {
			f := row[x]
			todo := near(f) &^ (f >> own) & valid
			for todo != 0 {
				k := uint(bits.TrailingZeros64(todo)) & 15
				todo &= todo - 1
				f |= 1 << visited << k
				if d.raw.Bit() == 0 {
					continue
				}
				sign := d.raw.Bit()
				mark := marks(k, sign)
				f |= mark
				d.spread(start+x, k, mark, d.causal)
				data[x*4+int(k*11>>5)] = signed(3<<p, sign)
				todo |= 8 << k &^ (f >> own) & valid
			}
			row[x] = f
		}
	}
}

// rawRefinement is refinement in the bypass.
func (d *decoder) rawRefinement(p uint) {
	d.toWords()
	for s := range d.stripes {
		row := d.stripe(s)
		data := d.data[s*4*len(row):][:4*len(row)]
		for x, f := range row {
			todo := f >> own &^ (f >> visited) & perSample
			for at := todo; at != 0; at &= at - 1 {
				k := bits.TrailingZeros64(at) / 3
				v := &data[4*x+k]
				*v += refine(*v, p, d.raw.Bit())
			}
			row[x] = f | todo<<refined
		}
	}
}
