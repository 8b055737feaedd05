package vq

import "math/bits"

// ranker orders codewords by how well they would continue the picture: by the
// squared difference of a block's samples along its upper edge to the row above
// it, and along its left edge to the column before it, and then by index. This is
// the order of side-match VQ (Kim, 1992); here it only renumbers the choice that
// search made, so that nothing is lost.
type ranker struct {
	n    int
	up   []uint32 // N x N: lower edge of codeword u against upper edge of codeword c
	left []uint32 // N x N: right edge of codeword u against left edge of codeword c
}

func newRanker(c *crew, book *codebook) *ranker {
	n, k, p, q := book.n(), book.k(), book.p, book.q
	r := &ranker{n: n, up: make([]uint32, n*n), left: make([]uint32, n*n)}
	c.spans(n, 16, func(lo, hi int) {
		for u := lo; u < hi; u++ {
			a := book.word(u)
			for x := range n {
				b := book.words[x*k:][:k]
				var s, t uint32
				for j := range q {
					d := int32(a[(p-1)*q+j]) - int32(b[j])
					s += uint32(d * d)
				}
				for i := range p {
					d := int32(a[i*q+q-1]) - int32(b[i*q])
					t += uint32(d * d)
				}
				r.up[u*n+x], r.left[u*n+x] = s, t
			}
		}
	})
	return r
}

// edges are the rows of mismatches for the neighbours above and left of block c of
// row r, nil where the segment that begins at row first has none.
func (k *ranker) edges(table []uint16, cols, first, r, c int) (up, left []uint32) {
	at := r*cols + c
	if r > first {
		u := int(table[at-cols])
		up = k.up[u*k.n:][:k.n]
	}
	if c > 0 {
		u := int(table[at-1])
		left = k.left[u*k.n:][:k.n]
	}
	return up, left
}

// rank is the place of codeword x in the order: the number of codewords with a
// smaller (mismatch, index).
func rank(up, left []uint32, x int) int {
	switch {
	case up == nil && left == nil:
		return x
	case up == nil:
		up, left = left, nil
		fallthrough
	case left == nil:
		n := 0
		mine := up[x]
		for _, d := range up[:x] {
			n += int((mine-d)>>31) ^ 1
		}
		for _, d := range up[x+1:] {
			n += int((d - mine) >> 31)
		}
		return n
	}
	left = left[:len(up)]
	n := 0
	mine := up[x] + left[x]
	for i, d := range up[:x] {
		n += int((mine-d-left[i])>>31) ^ 1
	}
	for i := x + 1; i < len(up); i++ {
		n += int((up[i] + left[i] - mine) >> 31)
	}
	return n
}

// nth is the inverse of rank: the codeword at place r. sum and order are scratch
// of N entries.
func (k *ranker) nth(up, left []uint32, r int, scratch []key) int {
	switch {
	case up == nil && left == nil:
		return r
	case up == nil:
		up = left
		fallthrough
	case left == nil:
		for i, d := range up {
			scratch[i] = makeKey(d, i)
		}
	default:
		left = left[:len(up)]
		for i, d := range up {
			scratch[i] = makeKey(d+left[i], i)
		}
	}
	return selectKey(scratch[:len(up)], r).index()
}

// selectKey returns the r-th least of keys, which it reorders (Hoare, 1961).
func selectKey(keys []key, r int) key {
	if r < 4 {
		for i := 0; i <= r; i++ {
			least := i
			for j := i + 1; j < len(keys); j++ {
				if keys[j] < keys[least] {
					least = j
				}
			}
			keys[i], keys[least] = keys[least], keys[i]
		}
		return keys[r]
	}
	lo, hi := 0, len(keys)-1
	for lo < hi {
		pivot := keys[(lo+hi)/2]
		i, j := lo, hi
		for i <= j {
			for keys[i] < pivot {
				i++
			}
			for keys[j] > pivot {
				j--
			}
			if i <= j {
				keys[i], keys[j] = keys[j], keys[i]
				i++
				j--
			}
		}
		switch {
		case r <= j:
			hi = j
		case r >= i:
			lo = i
		default:
			return keys[r]
		}
	}
	return keys[r]
}

// rankModel is the adaptive state for the ranks of one segment. A rank r is coded
// as its bit length e, in unary, and then its bits below the leading one. The
// context is the bit lengths of the ranks of the neighbours.
type rankModel struct {
	length [7 * 7][indexBits + 1]bit
	top    [indexBits + 1][4]bit
	rest   [indexBits + 1][indexBits]bit
	most   int // bit length of the greatest rank
}

func newRankModel(n int) *rankModel {
	m := &rankModel{most: bits.Len(uint(n - 1))}
	even := bit{zero: 1 << 15}
	for i := range m.length {
		for j := range m.length[i] {
			m.length[i][j] = even
		}
	}
	for i := range m.top {
		for j := range m.top[i] {
			m.top[i][j] = even
		}
		for j := range m.rest[i] {
			m.rest[i][j] = even
		}
	}
	return m
}

func (m *rankModel) encode(e *rangeEncoder, ctx, r int) {
	l := bits.Len(uint(r))
	for i := 0; i < m.most; i++ {
		if i == l {
			e.encode(&m.length[ctx][i], 0)
			break
		}
		e.encode(&m.length[ctx][i], 1)
	}
	node := 1
	for i := l - 2; i >= 0; i-- {
		v := r >> i & 1
		if node < 4 {
			e.encode(&m.top[l][node], v)
			node = node<<1 | v
		} else {
			e.encode(&m.rest[l][i], v)
		}
	}
}

func (m *rankModel) decode(d *rangeDecoder, ctx int) int {
	l := 0
	for l < m.most && d.decode(&m.length[ctx][l]) == 1 {
		l++
	}
	if l == 0 {
		return 0
	}
	r, node := 1, 1
	for i := l - 2; i >= 0; i-- {
		var v int
		if node < 4 {
			v = d.decode(&m.top[l][node])
			node = node<<1 | v
		} else {
			v = d.decode(&m.rest[l][i])
		}
		r = r<<1 | v
	}
	return r
}

// rankContext is the context of a rank from the bit lengths of the ranks left of
// it and above it.
func rankContext(left, up uint8) int { return int(min(left, 6))*7 + int(min(up, 6)) }

// encodeSegment codes the ranks of the rows of one segment.
func encodeSegment(table []uint16, cols int, s segment, k *ranker) []byte {
	e := newRangeEncoder(nil)
	m := newRankModel(k.n)
	above := make([]uint8, cols)
	for r := s.first; r < s.first+s.rows; r++ {
		left := uint8(0)
		for c := range cols {
			u, l := k.edges(table, cols, s.first, r, c)
			v := rank(u, l, int(table[r*cols+c]))
			m.encode(e, rankContext(left, above[c]), v)
			left = uint8(bits.Len(uint(v)))
			above[c] = left
		}
	}
	return e.finish()
}

// decodeSegment is the inverse of encodeSegment, into table. It reports whether
// the bytes are those of a segment.
func decodeSegment(in []byte, table []uint16, cols int, s segment, k *ranker) bool {
	d := newRangeDecoder(in)
	m := newRankModel(k.n)
	above := make([]uint8, cols)
	scratch := make([]key, k.n)
	for r := s.first; r < s.first+s.rows; r++ {
		left := uint8(0)
		for c := range cols {
			v := m.decode(d, rankContext(left, above[c]))
			if v >= k.n {
				return false
			}
			u, l := k.edges(table, cols, s.first, r, c)
			table[r*cols+c] = uint16(k.nth(u, l, v, scratch))
			left = uint8(bits.Len(uint(v)))
			above[c] = left
		}
		if d.pos > len(in) {
			return false
		}
	}
	return d.exact()
}
