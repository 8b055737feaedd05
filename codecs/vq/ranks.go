package vq

import (
	"math/bits"
	"slices"

	"github.com/pelmill/pelmill/codecs/pool"
)

// ranker orders codewords by how well they would continue the image: by the
// squared difference of a block's samples along its upper edge to the row above
// it, and along its left edge to the column before it, and then by index. This is
// the order of side-match VQ (Kim, 1992); here it only renumbers the choice that
// search made, so that nothing is lost.
//
// The mismatch of both edges is at most 16 x 255^2 < 2^20 (8x8 blocks), so that
// mismatch and index make one 32-bit side key, the sum of an entry of each table:
//
//	side key = mismatch << 12 | index = up[u*n+c] + left[l*n+c]
type ranker struct {
	n     int
	up    []uint32 // N x N: lower edge of codeword u against upper edge of c, and c
	left  []uint32 // N x N: right edge of codeword l against left edge of c
	index []uint32 // N: c alone, for blocks without a neighbour above
	zero  []uint32 // N: for blocks without a neighbour to the left
	span  []uint16 // N: greatest less least sample
}

func newRanker(c *pool.Pool, book *codebook) *ranker {
	n, k, p, q := book.n(), book.k(), book.p, book.q
	r := &ranker{
		n: n, up: make([]uint32, n*n), left: make([]uint32, n*n),
		index: make([]uint32, n), zero: make([]uint32, n), span: make([]uint16, n),
	}
	c.Spans(n, 16, func(lo, hi int) {
		for u := lo; u < hi; u++ {
			a := book.word(u)
			r.index[u] = uint32(u)
			r.span[u] = span(a)
			lower := a[(p-1)*q:]
			up, left := r.up[u*n:][:n], r.left[u*n:][:n]
			for x := range n {
				b := book.words[x*k:][:k]
				var s, t uint32
				for j, v := range lower {
					d := int32(v) - int32(b[j])
					s += uint32(d * d)
				}
				for i := 0; i < k; i += q {
					d := int32(a[i+q-1]) - int32(b[i])
					t += uint32(d * d)
				}
				up[x] = s<<indexBits | uint32(x)
				left[x] = t << indexBits
			}
		}
	})
	return r
}

// span is the difference of the greatest and the least sample.
func span(w []byte) uint16 {
	lo, hi := w[0], w[0]
	for _, v := range w {
		lo, hi = min(lo, v), max(hi, v)
	}
	return uint16(hi - lo)
}

// edges are the two table rows for column c of row r of an index table, in a segment
// that begins at row first, and the activity of the two neighbours.
func (k *ranker) edges(table []uint16, cols, first, r, c int) (up, left []uint32, activity int) {
	at := r*cols + c
	up, left = k.index, k.zero
	if r > first {
		u := int(table[at-cols])
		up = k.up[u*k.n:][:k.n]
		activity += int(k.span[u])
	}
	if c > 0 {
		u := int(table[at-1])
		left = k.left[u*k.n:][:k.n]
		activity += int(k.span[u])
	}
	return up, left, activity
}

// rankGo counts the side keys that are less than mine and finds the least, the
// greatest number there is for none. For codeword x and mine = up[x] + left[x], the
// count is the place of x in the order (the function rank).
func rankGo(up, left []uint32, mine uint32) (lesser int, least uint32) {
	left = left[:len(up)]
	least = ^uint32(0)
	var n uint32
	for i, u := range up {
		s := u + left[i]
		_, less := bits.Sub32(s, mine, 0)
		n += less
		least = min(least, s)
	}
	return int(n), least
}

// sideKeysGo writes all side keys to keys and returns the least, the greatest number
// there is for none.
func sideKeysGo(up, left, keys []uint32) uint32 {
	left, keys = left[:len(up)], keys[:len(up)]
	least := ^uint32(0)
	for i, u := range up {
		s := u + left[i]
		keys[i] = s
		least = min(least, s)
	}
	return least
}

// nextGo returns the least key that is not less than from: the one with the least
// difference to it modulo 2^32. It returns from - 1 for no keys.
func nextGo(keys []uint32, from uint32) uint32 {
	step := ^uint32(0)
	for _, s := range keys {
		step = min(step, s-from)
	}
	return from + step
}

// inTurn is the place from which on a picker counts keys by classes.
const inTurn = 32

// picker finds the r-th least of many side keys. A count of keys by their leading
// bits, four steps to an octave, shows which few of them can be the one.
type picker struct {
	keys  []uint32
	some  []uint32
	count [33 * 4]uint16
}

func newPicker(n int) *picker { return &picker{keys: make([]uint32, n), some: make([]uint32, n)} }

// octave is a class of keys that rises with the key. The sum of both mismatches
// leaves room for the 4.
func octave(s uint32) int {
	s += 4
	l := bits.Len32(s)
	return l<<2 | int(s>>((l-3)&31)&3)
}

// nth is the r-th least of p.keys, counted from 0. No two are equal. The first few
// are found one after the other.
func (p *picker) nth(r int) uint32 {
	if r < inTurn {
		s := next(p.keys, 0)
		for range r {
			s = next(p.keys, s+1)
		}
		return s
	}
	clear(p.count[:])
	for _, s := range p.keys {
		p.count[octave(s)]++
	}
	class := 0
	for r >= int(p.count[class]) {
		r -= int(p.count[class])
		class++
	}
	n := 0
	for _, s := range p.keys {
		p.some[n] = s
		if octave(s) == class {
			n++
		}
	}
	some := p.some[:n]
	if n > 32 {
		slices.Sort(some)
		return some[r]
	}
	for i := 0; ; i++ {
		least := i
		for j := i + 1; j < len(some); j++ {
			if some[j] < some[least] {
				least = j
			}
		}
		if i == r {
			return some[least]
		}
		some[i], some[least] = some[least], some[i]
	}
}
