package vq

import (
	"math/bits"
	"slices"
	"sync"

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

// edges is one edge of each codeword of a row, two samples in 32 bits: the first two of all
// codewords, then the next two, and so on.
type edges struct {
	row   int
	pairs []uint32
}

func newEdges(row, samples int) *edges { return &edges{row, make([]uint32, row*samples/2)} }

// set takes the edge of codeword x, whose samples are step apart from w[0] on.
func (e *edges) set(x int, w []byte, step int) {
	for i := range len(e.pairs) / e.row {
		e.pairs[i*e.row+x] = pair(w[2*i*step], w[(2*i+1)*step])
	}
}

func pair(a, b byte) uint32 { return uint32(a) | uint32(b)<<16 }

// differences adds to base, for each codeword, the sum of the squared differences of its
// edge to the samples that are step apart from w[0] on, shifted by indexBits.
func (e *edges) differences(out, base []uint32, w []byte, step int) {
	var edge [4]uint32
	n := len(e.pairs) / e.row
	for i := range n {
		edge[i] = pair(w[2*i*step], w[(2*i+1)*step])
	}
	differences(out, base, e.pairs, edge[:n])
}

// differencesGo is edges.differences for pairs of samples.
func differencesGo(out, base, pairs, edge []uint32) {
	for x := range out {
		var s uint32
		for i, v := range edge {
			p := pairs[i*len(out)+x]
			a, b := int32(v&0xffff)-int32(p&0xffff), int32(v>>16)-int32(p>>16)
			s += uint32(a*a) + uint32(b*b)
		}
		out[x] = s<<indexBits + base[x]
	}
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

// edgeVectors are the upper and left edges of codewords for vector instructions, and the lower
// and right ones for when the codeword is a neighbour.
//
// With x for the samples around a block and c for the edges of a codeword, side keys are
//
//	|c|^2 << 12 | index    +    (|x|^2 + odd - 254 (sum of x) + 2 (127 - c).x) << 12
//
// where odd is |x|^2 modulo 2, so that half of what is in brackets is an integer: 127 - c has a
// sign and x has none, as the instruction wants it. All keys beside the same neighbours are
// odd << 12 too great, and in the same order.
type edgeVectors struct {
	quads   int // four samples each, of an edge
	samples int // of both edges
	// words is 127 - c by groups of sixteen codewords: four samples of each, upper edge first. Edges
	// of two samples have two more that are 0, and codewords that there are not have 0.
	words []byte

	// base is |c|^2 << 12 | index of each codeword, without edges where there is no neighbour
	// above (not bit 0 of the first index) or to the left (not bit 1).
	base [4][]uint32

	neighbours []neighbour

	once   sync.Once
	sorted *edgeOrder // made when it is first needed
}

// neighbour is a codeword as the one above or to the left of others, and as one beside such.
type neighbour struct {
	lower, right         uint64 // edges
	upper, left          uint64
	lowerNorm, rightNorm uint32 // sums of their squares
	lowerSum, rightSum   uint32
	span                 uint32
}

func newEdgeVectors(book *codebook) *edgeVectors {
	n, p, q := book.n(), book.p, book.q
	row := rankerRow(n)
	v := &edgeVectors{quads: (max(p, q) + 3) / 4, samples: p + q, neighbours: make([]neighbour, n)}
	v.words = make([]byte, row*8*v.quads)
	for kind := range v.base {
		v.base[kind] = make([]uint32, row)
	}
	for x := range n {
		w := book.word(x)
		b := &v.neighbours[x]
		b.lower, b.lowerNorm, b.lowerSum = edge(w[(p-1)*q:], q, 1)
		b.right, b.rightNorm, b.rightSum = edge(w[q-1:], p, q)
		var upperNorm, leftNorm uint32
		b.upper, upperNorm, _ = edge(w, q, 1)
		b.left, leftNorm, _ = edge(w, p, q)
		b.span = uint32(span(w))
		for i, samples := range [2]int{q, p} {
			e := [2]uint64{b.upper, b.left}[i]
			for j := range samples {
				to := (x/16*2+i)*v.quads + j/4
				v.words[to*64+x%16*4+j%4] = 127 - byte(e>>(8*j))
			}
		}
		for kind := range v.base {
			key := uint32(x)
			if kind&1 != 0 {
				key += upperNorm << indexBits
			}
			if kind&2 != 0 {
				key += leftNorm << indexBits
			}
			v.base[kind][x] = key
		}
	}
	return v
}

// edge packs n samples that are step apart, and gives the sum of their squares and their sum.
func edge(w []byte, n, step int) (packed uint64, norm, sum uint32) {
	for j := range n {
		s := uint32(w[j*step])
		packed |= uint64(s) << (8 * j)
		norm += s * s
		sum += s
	}
	return packed, norm, sum
}

// kindOf is the index of the base for a block that has neighbours above and to the left, or not.
func kindOf(above, left bool) (kind int) {
	if above {
		kind = 1
	}
	if left {
		kind |= 2
	}
	return kind
}

// beside is what edgeKeys needs to know of the codewords above and to the left, which are -1 if
// there is none, and by how much all keys are too great.
func (v *edgeVectors) beside(above, left int) (base []uint32, lower, right uint64, half, over uint32) {
	var norm, sum uint32
	if above >= 0 {
		b := &v.neighbours[above]
		lower, norm, sum = b.lower, b.lowerNorm, b.lowerSum
	}
	if left >= 0 {
		b := &v.neighbours[left]
		right, norm, sum = b.right, norm+b.rightNorm, sum+b.rightSum
	}
	return v.base[kindOf(above >= 0, left >= 0)], lower, right, (norm+1)/2 - 127*sum, norm & 1 << indexBits
}

// edgeKeysGo writes the side keys of n codewords, and the least of sixteen parts of them. It
// returns the least of all.
func edgeKeysGo(keys []uint32, words []byte, base []uint32, n, quads int, lower, right uint64, half uint32, minima *[sortedKeys]uint32) (least uint32) {
	for i := range minima {
		minima[i] = ^uint32(0)
	}
	for x := range keys {
		if keys[x] = ^uint32(0); x >= n {
			continue
		}
		sum := half
		for i, e := range [2]uint64{lower, right} {
			for j := range 4 * quads {
				to := (x/16*2+i)*quads + j/4
				sum += uint32(int32(int8(words[to*64+x%16*4+j%4])) * int32(e>>(8*j)&255))
			}
		}
		keys[x] = base[x] + sum<<(indexBits+1)
		minima[x%16] = min(minima[x%16], keys[x])
	}
	return slices.Min(minima[:])
}

// edgeOrder is the codewords in the order of the sums of the samples along their upper and left edges, by which a decoder that expects an
// index finds its place among a few of them. With x for the p + q samples around a block and c for the edges of a codeword,
//
//	mismatch(c) = |x - c|^2 >= (sum of x - sum of c)^2 / (p + q)
//
// so that a codeword whose mismatch is at most that of the expected one, m, has a sum that differs from that of x by the root of (p + q) m
// at most. Of 256 codewords of a photograph these are 30 to 90, in as many places one after the other. It is for blocks with one above
// and one to the left.
type edgeOrder struct {
	words []byte   // those of edgeVectors, in this order
	base  []uint32 // base[3] of edgeVectors, in this order

	neighbours []neighbour
	quads      int
	samples    uint32 // of both edges
	most       uint32 // greatest sum there can be
	last       uint32 // bits of the last sixteen codewords that there are

	// Of eight sums each, the sixteen with the first codeword of such a sum or a greater one, and those with the last of such a sum or a
	// lesser one.
	first, through [sumClasses]uint16
}

const (
	sumShift   = 3
	sumClasses = 2*8*255>>sumShift + 1
)

// order is the order of the codewords of v.
func (v *edgeVectors) order() *edgeOrder {
	v.once.Do(func() {
		n := len(v.neighbours)
		o := &edgeOrder{
			words: make([]byte, len(v.words)), base: make([]uint32, len(v.base[3])), neighbours: v.neighbours, quads: v.quads,
			samples: uint32(v.samples), most: uint32(v.samples) * 255, last: 1<<((n-1)%16+1) - 1,
		}
		var counts [sumClasses]int
		list := make([]uint32, n)
		for x := range list {
			sum := sumBytes(v.neighbours[x].upper) + sumBytes(v.neighbours[x].left)
			counts[sum>>sumShift]++
			list[x] = sum<<indexBits | uint32(x)
		}
		slices.Sort(list)
		for to, key := range list {
			from := int(key & (1<<indexBits - 1))
			o.base[to] = v.base[3][from]
			for i := range 2 * v.quads {
				copy(o.words[(to/16*2*v.quads+i)*64+to%16*4:][:4], v.words[(from/16*2*v.quads+i)*64+from%16*4:])
			}
		}
		before := 0
		for class, count := range counts {
			o.first[class] = uint16(before / 16)
			before += count
			o.through[class] = uint16(max(before-1, 0) / 16)
		}
		v.sorted = o
	})
	return v.sorted
}

// sumBytes is the sum of the samples of a packed edge.
func sumBytes(e uint64) (sum uint32) {
	for ; e != 0; e >>= 8 {
		sum += uint32(e & 255)
	}
	return sum
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
