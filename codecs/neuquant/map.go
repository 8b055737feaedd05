package neuquant

import (
	"context"
	"math/bits"

	"github.com/pelmill/pelmill/codecs/pool"
)

// mapTo finds the nearest entry of each colour, the lowest of equals. h is the
// histogram of the problem, where there is one.
func mapTo(ctx context.Context, c *pool.Pool, p *problem, entries []uint32, h *histogram) ([]uint8, error) {
	f := newFinder(entries)
	find := f.indices
	if h != nil && p.opaque {
		if d := h.distinct(); d <= p.n()/2 {
			find = h.indices(c, f)
		}
	}
	out := make([]uint8, p.n())
	c.Spans(len(out), 1<<16, func(lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		var room [piece]uint32
		for ; lo < hi; lo += piece {
			end := min(hi, lo+piece)
			find(p.span(lo, end, room[:]), out[lo:end])
		}
	})
	return out, ctx.Err()
}

// indices sets out to the nearest entries of colours.
func (f *finder) indices(colours []uint32, out []uint8) {
	var keys, seconds [piece]uint32
	f.two(colours, keys[:], seconds[:])
	for i := range colours {
		out[i] = uint8(keys[i])
	}
}

// distinct is the number of different opaque colours.
func (h *histogram) distinct() (n int) {
	for _, word := range h.seen {
		n += bits.OnesCount64(word)
	}
	return n
}

// indices returns what does the same for the opaque colours of the histogram, by a table
// of the nearest entries of those: a photo has ten times as many pixels as colours.
func (h *histogram) indices(c *pool.Pool, f *finder) func(colours []uint32, out []uint8) {
	table := make([]uint8, 64*len(h.bins))
	c.Spans(len(h.bins), binsAtOnce, func(lo, hi int) {
		var colours [piece]uint32
		var found [piece]uint8
		for lo < hi {
			// The colours of as many bins as there is room for.
			n, i := 0, lo
			for ; i < hi && n < piece-64; i++ {
				number := h.number[i]
				first := number>>12<<2 | number>>6&63<<10 | number&63<<18 | opaqueAlpha
				for word := h.seen[i]; word != 0; word &= word - 1 {
					at := uint32(bits.TrailingZeros64(word))
					colours[n] = first + (at>>4 | at>>2&3<<8 | at&3<<16)
					n++
				}
			}
			f.indices(colours[:n], found[:n])
			for n = 0; lo < i; lo++ {
				for word := h.seen[lo]; word != 0; word &= word - 1 {
					table[64*lo+bits.TrailingZeros64(word)] = found[n]
					n++
				}
			}
		}
	})
	return func(colours []uint32, out []uint8) {
		out = out[:len(colours)]
		for i, v := range colours {
			out[i] = table[64*h.at[binOf(v, true)]+inBin(v)]
		}
	}
}
