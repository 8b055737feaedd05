package vq

import (
	"math/bits"

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

// belowGo counts the keys that are less than t.
func belowGo(keys []uint32, t uint32) int {
	var n uint32
	for _, s := range keys {
		_, less := bits.Sub32(s, t, 0)
		n += less
	}
	return int(n)
}

// keysInGo appends the keys from lo on that are less than lo + span.
func keysInGo(out, keys []uint32, lo, span uint32) []uint32 {
	for _, s := range keys {
		if s-lo < span {
			out = append(out, s)
		}
	}
	return out
}

const (
	// inTurn is the place from which on a picker narrows down where a key can be, which
	// takes about as long as to find so many one after the other.
	inTurn = 6

	// fewKeys is how many keys are put into order to find the one.
	fewKeys = 8
)

// picker finds the r-th least of many side keys.
type picker struct {
	keys []uint32
	few  [fewKeys]uint32

	// usual is what the last key was whose place has so many bits: where the search for
	// the next one begins.
	usual [indexBits + 1]uint32
}

func newPicker(n int) *picker { return &picker{keys: make([]uint32, n)} }

// nth is the r-th least of p.keys, counted from 0. No two are equal. The first few are
// found one after the other. Of the others the bounds of the key are moved together, by
// the number of keys below a key between them, until few are left.
func (p *picker) nth(r int) uint32 {
	if r < inTurn {
		s := next(p.keys, 0)
		for range r {
			s = next(p.keys, s+1)
		}
		return s
	}
	usual := &p.usual[bits.Len(uint(r))]
	// There are below keys less than lo, at most r, and upTo less than hi, more than r.
	lo, hi := uint32(0), ^uint32(0)
	below, upTo := 0, len(p.keys)
	for t, half := *usual, false; upTo-below > fewKeys; half = !half {
		if t <= lo || t >= hi {
			t = lo + (hi-lo)/2
		}
		if n := belowIn(p.keys, t); n <= r {
			lo, below = t, n
		} else {
			hi, upTo = t, n
		}
		switch {
		case hi == ^uint32(0):
			t = lo + lo/2
		case lo == 0:
			t = hi - hi/4
		case half: // so that an uneven distribution costs twice the halvings at most
			t = lo + (hi-lo)/2
		default:
			t = lo + uint32(uint64(hi-lo)*uint64(2*(r-below)+1)/uint64(2*(upTo-below)))
		}
	}
	few := keysIn(p.few[:0], p.keys, lo, hi-lo)
	for i := 0; ; i++ {
		least := i
		for j := i + 1; j < len(few); j++ {
			if few[j] < few[least] {
				least = j
			}
		}
		few[i], few[least] = few[least], few[i]
		if i == r-below {
			*usual = few[i]
			return few[i]
		}
	}
}
