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
//
// Behind the entries of a row there are some for no codeword up to a multiple of sixteen,
// the number that vector instructions take at once; their keys are all ones, more than any
// codeword's.
//
// Where there are vectorRanks, there are no tables: the mismatches are worked out from the
// edges, which stay in the cache where the tables would not. See edgeVectors.
type ranker struct {
	n     int
	row   int      // entries of a row
	up    []uint32 // N rows: lower edge of codeword u against upper edge of c, and c
	left  []uint32 // N rows: right edge of codeword l against left edge of c
	index []uint32 // a row: c alone, for blocks without a neighbour above
	zero  []uint32 // a row: for blocks without a neighbour to the left
	span  []uint16 // N: greatest less least sample

	vectors *edgeVectors // in place of up, left, index and zero
}

// rankerRow is the number of entries of a row for n codewords.
func rankerRow(n int) int { return (n + 15) &^ 15 }

func newRanker(c *pool.Pool, book *codebook, vectors bool) *ranker {
	n, p, q := book.n(), book.p, book.q
	row := rankerRow(n)
	r := &ranker{n: n, row: row, span: make([]uint16, n)}
	if vectors {
		for x := range n {
			r.span[x] = span(book.word(x))
		}
		r.vectors = newEdgeVectors(book)
		return r
	}
	r.up, r.left = make([]uint32, n*row), make([]uint32, n*row)
	r.index, r.zero = make([]uint32, row), make([]uint32, row)
	for x := range r.index {
		r.index[x] = uint32(x)
	}
	above, left := newEdges(row, q), newEdges(row, p)
	for x := range n {
		w := book.word(x)
		above.set(x, w, 1)
		left.set(x, w, q)
	}
	c.Spans(n, 16, func(lo, hi int) {
		for u := lo; u < hi; u++ {
			w := book.word(u)
			r.span[u] = span(w)
			above.differences(r.up[u*row:][:row], r.index, w[(p-1)*q:], 1)
			left.differences(r.left[u*row:][:row], r.zero, w[q-1:], q)
			for x := n; x < row; x++ {
				r.up[u*row+x], r.left[u*row+x] = ^uint32(0), 0
			}
		}
	})
	for x := n; x < row; x++ {
		r.index[x] = ^uint32(0)
	}
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

// around are the codewords above and to the left, -1 where there is none, for column c of row r
// of an index table, in a segment that begins at row first, and the activity of the two.
func (k *ranker) around(table []uint16, cols, first, r, c int) (above, left, activity int) {
	at := r*cols + c
	above, left = -1, -1
	if r > first {
		above = int(table[at-cols])
		activity += int(k.span[above])
	}
	if c > 0 {
		left = int(table[at-1])
		activity += int(k.span[left])
	}
	return above, left, activity
}

// rows are the two table rows for the codewords above and to the left, which are -1 if there is
// none.
func (k *ranker) rows(above, left int) (u, l []uint32) {
	u, l = k.index, k.zero
	if above >= 0 {
		u = k.up[above*k.row:][:k.row]
	}
	if left >= 0 {
		l = k.left[left*k.row:][:k.row]
	}
	return u, l
}

// place is the place of codeword x in the order beside the codewords above and to the left, and
// the least side key. It uses p.
func (k *ranker) place(p *picker, above, left, x int) (place int, least uint32) {
	if k.vectors == nil {
		u, l := k.rows(above, left)
		return rank(u, l, x)
	}
	least = p.fill(k, above, left)
	return belowIn(p.keys, p.keys[x]), least
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
	// takes about as long as to find so many one after the other; inTurnVectors is that
	// where there are vectorRanks.
	inTurn        = 6
	inTurnVectors = 2

	// fewKeys is how many keys are put into order to find the one; sortedKeys is that
	// where there are vectorRanks.
	fewKeys    = 8
	sortedKeys = 16

	// boundByMinima is the place up to which the least keys of sixteen parts bound a key
	// so closely that few are less.
	boundByMinima = 40
)

// picker finds the r-th least of many side keys.
type picker struct {
	n     int      // codewords
	keys  []uint32 // a row of them
	least uint32
	few   [fewKeys]uint32

	// minima are the least keys of sixteen parts, and near has room for those that bounds
	// leave. They serve vectorRanks.
	minima [sortedKeys]uint32
	near   []uint32

	// usual is what the last key was whose place has so many bits: where the search for
	// the next one begins.
	usual [indexBits + 1]uint32
}

func newPicker(n int) *picker {
	row := rankerRow(n)
	return &picker{n: n, keys: make([]uint32, row), near: make([]uint32, row+sortedKeys)}
}

// fill makes the keys beside the codewords above and to the left, which are -1 if there is none.
// It returns the least, as it is without what all keys of edgeVectors are too great.
func (p *picker) fill(k *ranker, above, left int) uint32 {
	if k.vectors == nil {
		return p.fillRows(k.rows(above, left))
	}
	v := k.vectors
	base, lower, right, half, over := v.beside(above, left)
	p.least = edgeKeys(p.keys, v.words, base, k.n, v.quads, lower, right, half, &p.minima)
	return p.least - over
}

// fillRows makes the keys from two rows of a ranker and returns the least.
func (p *picker) fillRows(up, left []uint32) uint32 {
	p.least = sideKeys(up, left, p.keys, &p.minima)
	return p.least
}

// nth is the r-th least of the keys, counted from 0. No two are equal. The first few are
// found one after the other. Of the others the bounds of the key are moved together, by
// the number of keys below a key between them, until few are left.
func (p *picker) nth(r int) uint32 {
	turns, few := inTurn, fewKeys
	if vectorRanks {
		turns, few = inTurnVectors+1, sortedKeys
	}
	if r < turns {
		s := p.least
		for range r {
			s = next(p.keys, s+1)
		}
		return s
	}
	// There are below keys less than lo, at most r, and upTo less than hi, more than r.
	lo, hi := uint32(0), ^uint32(0)
	below, upTo := 0, p.n
	keys := p.keys
	if vectorRanks && r <= boundByMinima {
		// As many keys as there are such minima are less than s + 1, and as a rule two to four
		// times as many.
		if s := pick(&p.minima, min(r, sortedKeys-1)); s != hi {
			if n := compress(p.near, keys, 0, s+1); n <= r {
				lo, below = s+1, n
			} else if hi, upTo = s+1, n; n <= few {
				return pick((*[sortedKeys]uint32)(p.near), r)
			} else {
				keys = p.near[:rankerRow(n)]
			}
		}
	}
	usual := &p.usual[bits.Len(uint(r))]
	for t, half := *usual, false; upTo-below > few; half = !half {
		if t <= lo || t >= hi {
			t = lo + (hi-lo)/2
		}
		if n := belowIn(keys, t); n <= r {
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
	if vectorRanks {
		compress(p.near, keys, lo, hi-lo) // also in place
		*usual = pick((*[sortedKeys]uint32)(p.near), r-below)
	} else {
		*usual = ordered(keysIn(p.few[:0], p.keys, lo, hi-lo), r-below)
	}
	return *usual
}

// ordered is the r-th least of few keys, which it puts into order up to there.
func ordered(few []uint32, r int) uint32 {
	for i := 0; ; i++ {
		least := i
		for j := i + 1; j < len(few); j++ {
			if few[j] < few[least] {
				least = j
			}
		}
		few[i], few[least] = few[least], few[i]
		if i == r {
			return few[i]
		}
	}
}
