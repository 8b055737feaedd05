package vq

import (
	"math/bits"
	"sync"
)

// The index table is coded as ranks, each as the bit length of the rank in unary and
// then the bits below its leading one. Every decision but the lowest bits of long
// ranks is estimated in mixed contexts and the estimates are mixed.

const (
	mixed = 4 // contexts of a decision

	// Places of decisions in a rank: one for each step of the unary length, then
	// three for each length, the first two bits below the leading one.
	unaryPlaces = indexBits
	places      = unaryPlaces + 3*(indexBits+1)

	mismatches = 22 // bit lengths of a mismatch below 2^20, and room
	activities = 10 // bit lengths of an activity of at most 510
	surrounds  = 13
	bests      = 256

	noRank = 2 // bit length that stands for the rank of a missing neighbour
)

// contextSizes and the order of contexts: activity and least mismatch; least
// mismatch and surrounding ranks; activity and surrounding ranks; the codeword of
// least mismatch.
var contextStart = [mixed + 1]int{
	0,
	activities * mismatches,
	activities*mismatches + mismatches*surrounds,
	activities*mismatches + mismatches*surrounds + activities*surrounds,
	activities*mismatches + mismatches*surrounds + activities*surrounds + bests,
}

// rankModel is the adaptive state for the ranks of one segment.
type rankModel struct {
	estimates [][places]bit // by context, then by place
	weights   [places][mixed]int32
	low       [indexBits + 1][indexBits]bit
	most      int // bit length of the greatest rank

	at [mixed]*[places]bit // the estimates in the contexts of the present rank
}

// rankModels are models that nobody uses: making one takes longer than coding the ranks of
// a small image.
var rankModels = sync.Pool{New: func() any { return &rankModel{estimates: make([][places]bit, contextStart[mixed])} }}

// firstRankModel is the state in which each segment begins.
var firstRankModel = sync.OnceValue(func() *rankModel {
	m := &rankModel{estimates: make([][places]bit, contextStart[mixed])}
	for i := range m.estimates {
		for j := range m.estimates[i] {
			m.estimates[i][j] = bit{zero: 1 << 15}
		}
	}
	for i := range m.weights {
		for j := range m.weights[i] {
			m.weights[i][j] = mixStart
		}
	}
	for i := range m.low {
		for j := range m.low[i] {
			m.low[i][j] = bit{zero: 1 << 15}
		}
	}
	return m
})

// newRankModel gives a model for n codewords. Whoever has it puts it back into rankModels.
func newRankModel(n int) *rankModel {
	m, first := rankModels.Get().(*rankModel), firstRankModel()
	copy(m.estimates, first.estimates)
	m.weights, m.low, m.most = first.weights, first.low, bits.Len(uint(n-1))
	return m
}

const (
	mixStart = 16384 // first weight of an estimate, 1/4 in 1/65536
	mixShift = 15    // rate of the weights
)

// enter sets the contexts of a rank: a and l are the bit lengths of the activity and
// of the least mismatch, best is its codeword, left to upRight are the bit lengths of
// the ranks around.
func (m *rankModel) enter(a, l, best int, left, up, upLeft, upRight uint8) {
	s := min((2*int(left)+2*int(up)+int(upLeft)+int(upRight)+2)/4, surrounds-1)
	m.at = [mixed]*[places]bit{
		&m.estimates[contextStart[0]+a*mismatches+l],
		&m.estimates[contextStart[1]+l*surrounds+s],
		&m.estimates[contextStart[2]+a*surrounds+s],
		&m.estimates[contextStart[3]+best],
	}
}

// coder codes the decisions of ranks one way or the other: encodes v, or ignores v
// and returns what it decodes.
type coder struct {
	e *rangeEncoder
	d *rangeDecoder
}

// code codes the decision at a place. Its probability, in 1/65536, of being 0 is the mean
// of the log odds of the estimates by the weights of the place; afterwards weights and
// estimates move. Written without loops: the index coder spends its time here.
func (c coder) code(m *rankModel, place, v int) int {
	e0, e1, e2, e3 := &m.at[0][place], &m.at[1][place], &m.at[2][place], &m.at[3][place]
	o0, o1 := int32(stretch[e0.zero>>4]), int32(stretch[e1.zero>>4])
	o2, o3 := int32(stretch[e2.zero>>4]), int32(stretch[e3.zero>>4])
	w := &m.weights[place]
	sum := int64(w[0])*int64(o0) + int64(w[1])*int64(o1) + int64(w[2])*int64(o2) + int64(w[3])*int64(o3)
	zero := squash(int32(min(max(sum>>16, -2047), 2047)))
	zero = min(max(zero, probMin), 65536-probMin)
	if c.e != nil {
		c.e.put(uint32(zero), v)
	} else {
		v = c.d.get(uint32(zero))
	}
	miss := 65536&(int32(v)-1) - zero // 65536 less for 0
	w[0] += o0 * miss >> mixShift
	w[1] += o1 * miss >> mixShift
	w[2] += o2 * miss >> mixShift
	w[3] += o3 * miss >> mixShift
	e0.update(v)
	e1.update(v)
	e2.update(v)
	e3.update(v)
	return v
}

func (c coder) codeLow(b *bit, v int) int {
	if c.e != nil {
		c.e.encode(b, v)
		return v
	}
	return c.d.decode(b)
}

// rank codes rank r.
func (c coder) rank(m *rankModel, r int) int {
	want := bits.Len(uint(r))
	length := 0
	for length < m.most {
		more := 0
		if length < want {
			more = 1
		}
		if c.code(m, length, more) == 0 {
			break
		}
		length++
	}
	if length < 2 {
		return length
	}
	node := 1
	for i := length - 2; i >= 0; i-- {
		v := r >> i & 1
		if node < 4 {
			v = c.code(m, unaryPlaces+3*length+node-1, v)
		} else {
			v = c.codeLow(&m.low[length][i], v)
		}
		node = node<<1 | v
	}
	return node
}

// around holds the bit lengths of the ranks of the present row up to the present
// block and of the row above from there on. Entry c+1 belongs to column c; the
// outermost stand for what lies beyond the table.
type around struct {
	row          []uint8
	left, upLeft uint8
}

func newAround(cols int) *around {
	a := &around{row: make([]uint8, cols+2)}
	for i := range a.row {
		a.row[i] = noRank
	}
	return a
}

func (a *around) newRow() { a.left, a.upLeft = noRank, noRank }

func (a *around) enter(m *rankModel, c, activity, mismatch, best int) {
	m.enter(activity, mismatch, best, a.left, a.row[c+1], a.upLeft, a.row[c+2])
}

func (a *around) leave(c, r int) {
	a.upLeft = a.row[c+1]
	a.left = uint8(bits.Len(uint(r)))
	a.row[c+1] = a.left
}

// symbol is what the index coder has to know of a block:
//
//	bits 0-11   rank
//	bits 12-19  codeword of least mismatch, without its lowest bits where N > 256
//	bits 20-24  bit length of the least mismatch
//	bits 25-28  bit length of the activity
type symbol uint32

func makeSymbol(rank int, least uint32, activity, bestShift int) symbol {
	return symbol(rank | int(least&(1<<indexBits-1))>>bestShift<<12 |
		bits.Len32(least>>indexBits)<<20 | bits.Len(uint(activity))<<25)
}

func (s symbol) rank() int     { return int(s & (1<<indexBits - 1)) }
func (s symbol) best() int     { return int(s >> 12 & 255) }
func (s symbol) mismatch() int { return int(s >> 20 & 31) }
func (s symbol) activity() int { return int(s >> 25) }

// bestShift is how many of its bits the codeword of least mismatch loses in a symbol.
func bestShift(n int) int { return max(0, bits.Len(uint(n-1))-8) }

// ranks makes the symbols of the rows of one segment of a table.
func ranks(table []uint16, cols int, s segment, k *ranker, out []symbol) {
	shift := bestShift(k.n)
	for r := s.first; r < s.first+s.rows; r++ {
		for c := range cols {
			up, left, activity := k.edges(table, cols, s.first, r, c)
			place, least := rank(up, left, int(table[r*cols+c]))
			out[r*cols+c] = makeSymbol(place, least, activity, shift)
		}
	}
}

// encodeSegment codes the symbols of the rows of one segment of a table with n
// codewords.
func encodeSegment(table []symbol, cols int, s segment, n int) []byte {
	coder := coder{e: newRangeEncoder(nil)}
	m, a := newRankModel(n), newAround(cols)
	defer rankModels.Put(m)
	for r := s.first; r < s.first+s.rows; r++ {
		a.newRow()
		for c, s := range table[r*cols:][:cols] {
			a.enter(m, c, s.activity(), s.mismatch(), s.best())
			coder.rank(m, s.rank())
			a.leave(c, s.rank())
		}
	}
	return coder.e.finish()
}

// decodeSegment is the inverse of encodeSegment, into table. It reports whether
// the bytes are those of a segment.
func decodeSegment(in []byte, table []uint16, cols int, s segment, k *ranker) bool {
	coder := coder{d: newRangeDecoder(in)}
	m, a := newRankModel(k.n), newAround(cols)
	defer rankModels.Put(m)
	p, shift := newPicker(k.n), bestShift(k.n)
	for r := s.first; r < s.first+s.rows; r++ {
		a.newRow()
		for c := range cols {
			up, left, activity := k.edges(table, cols, s.first, r, c)
			side := sideKeys(up, left, p.keys)
			a.enter(m, c, bits.Len(uint(activity)), bits.Len32(side>>indexBits), int(side&(1<<indexBits-1))>>shift)
			place := coder.rank(m, 0)
			if place >= k.n {
				return false
			}
			if place > 0 {
				side = p.nth(place)
			}
			table[r*cols+c] = uint16(side & (1<<indexBits - 1))
			a.leave(c, place)
		}
		if coder.d.pos > len(in) {
			return false
		}
	}
	return coder.d.exact()
}
