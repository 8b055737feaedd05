package vq

import "math/bits"

// The index table is coded as ranks, each as the bit length of the rank in unary and
// then the bits below its leading one. Every decision but the lowest bits of long
// ranks is estimated in mixed contexts and the estimates are mixed.

const (
	mixed      = 4  // contexts of a decision
	mismatches = 22 // bit lengths of a mismatch below 2^20, and room
	activities = 10 // bit lengths of an activity of at most 510
	surrounds  = 13
	bests      = 256

	noRank = 2 // bit length that stands for the rank of a missing neighbour
)

// contextStart says where the contexts of each kind begin: activity and least mismatch; least
// mismatch and surrounding ranks; activity and surrounding ranks; the codeword of
// least mismatch.
var contextStart = [mixed]int{
	0,
	activities * mismatches,
	activities*mismatches + mismatches*surrounds,
	activities*mismatches + mismatches*surrounds + activities*surrounds,
}

const contextCount = activities*mismatches + mismatches*surrounds + activities*surrounds + bests

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

// enter makes the contexts of column c the present ones of m.
func (a *around) enter(m *rankModel, c, activity, mismatch, best int) {
	a.find(m, &m.contexts, c, activity, mismatch, best)
}

func (a *around) find(m *rankModel, contexts *[mixed]uint32, c, activity, mismatch, best int) {
	m.find(contexts, activity, mismatch, best, a.left, a.row[c+1], a.upLeft, a.row[c+2])
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
	p, shift := newPicker(k.n), bestShift(k.n)
	for r := s.first; r < s.first+s.rows; r++ {
		for c := range cols {
			above, left, activity := k.around(table, cols, s.first, r, c)
			place, least := k.place(p, above, left, int(table[r*cols+c]))
			out[r*cols+c] = makeSymbol(place, least, activity, shift)
		}
	}
}

// encodeSegment codes the symbols of the rows of one segment of a table with n
// codewords.
func encodeSegment(table []symbol, cols int, s segment, n int) []byte {
	e := newRangeEncoder(nil)
	m, a := newRankModel(n), newAround(cols)
	defer rankModels.Put(m)
	for r := s.first; r < s.first+s.rows; r++ {
		a.newRow()
		for c, s := range table[r*cols:][:cols] {
			a.enter(m, c, s.activity(), s.mismatch(), s.best())
			m.encode(e, s.rank())
			a.leave(c, s.rank())
		}
	}
	return e.finish()
}

// decodeSegment is the inverse of encodeSegment, into table. It reports whether
// the bytes are those of a segment.
func decodeSegment(in []byte, table []uint16, cols int, s segment, k *ranker) bool {
	d := newRangeDecoder(in)
	m, a := newRankModel(k.n), newAround(cols)
	defer rankModels.Put(m)
	p, shift := newPicker(k.n), bestShift(k.n)
	for r := s.first; r < s.first+s.rows; r++ {
		a.newRow()
		for c := range cols {
			above, left, activity := k.around(table, cols, s.first, r, c)
			side := p.fill(k, above, left)
			a.enter(m, c, bits.Len(uint(activity)), bits.Len32(side>>indexBits), int(side&(1<<indexBits-1))>>shift)
			place := m.decode(d)
			if place >= k.n {
				return false
			}
			if place > 0 {
				side = p.nth(place)
			}
			table[r*cols+c] = uint16(side & (1<<indexBits - 1))
			a.leave(c, place)
		}
		if d.pos > len(in) {
			return false
		}
	}
	return d.exact()
}
