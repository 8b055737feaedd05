package vq

import (
	"hash/crc32"
	"math/bits"
	"sync"
)

// expected are the index tables of luma and of chroma that an encoder has found. A decoder to which they are given reads the
// decisions of a file as always, one after the other, but it knows which one it is looking for: so it does not wait for one before
// it works out the next, and where every decision is the expected one the tables are those. A single one that is not, and the
// decoder begins the segment again without. A table of expected indices therefore says nothing about a file; it says in which
// order the processor should do what it has to do anyway.
type expected [][]uint16

// fit reports whether the tables have the sizes of those of a file.
func (e expected) fit(h *header) bool {
	sizes := h.tableSizes()
	if len(e) != len(sizes) {
		return false
	}
	for i, n := range sizes {
		if len(e[i]) != n {
			return false
		}
	}
	return true
}

// plainShare says that of one file of so many nothing is expected: the way of a reader who knows nothing is taken, too.
const plainShare = 64

// unexpected chooses these files by their index sections, so that a file is treated alike whenever it is decoded.
func unexpected(index []byte) bool { return crc32.ChecksumIEEE(index)%plainShare == 0 }

// expecting is memory for a part of a row of expected indices. What is worked out of all of them at once waits for nothing: the places
// of indices depend on the table alone, the probabilities of decisions on the places, and width and code on the probabilities.
type expecting struct {
	places     [expectBlocks]uint16
	leasts     [expectBlocks]uint32 // least side keys
	activities [expectBlocks]uint8  // bit lengths
	contexts   [expectBlocks][mixed]uint32
	decisions  [expectBlocks*mostDecisions + lanes]decision
}

const (
	expectBlocks  = 128           // of a part
	mostDecisions = 2 * indexBits // of a rank: its bit length in unary, and the bits below the leading one
)

var expectings = sync.Pool{New: func() any { return new(expecting) }}

// expectSegment reports whether in is the segment s of table, with every byte and none more. Where it says no, in may be any.
// It is for machines with vectorRanks, and says no on others.
func expectSegment(in []byte, table []uint16, cols int, s segment, k *ranker) bool {
	if k.vectors == nil {
		return false
	}
	d := newRangeDecoder(in)
	m, a := newRankModel(k.n), newAround(cols)
	defer rankModels.Put(m)
	e := expectings.Get().(*expecting)
	defer expectings.Put(e)
	shift := bestShift(k.n)
	for r := s.first; r < s.first+s.rows; r++ {
		a.newRow()
		for from := 0; from < cols; from += expectBlocks {
			blocks := min(cols-from, expectBlocks)
			if !e.rank(table, cols, s, r, from, blocks, k) {
				return false
			}
			for i, place := range e.places[:blocks] {
				least := e.leasts[i]
				a.find(m, &e.contexts[i], from+i, int(e.activities[i]), bits.Len32(least>>indexBits), int(least&(1<<indexBits-1))>>shift)
				a.leave(from+i, int(place))
			}
			if !d.expect(e.decide(m, blocks)) {
				return false
			}
		}
		if d.pos > len(in) {
			return false
		}
	}
	return d.exact()
}

// rank finds the places of blocks indices of row r, from a column on. It reports whether all are those of codewords.
func (e *expecting) rank(table []uint16, cols int, s segment, r, from, blocks int, k *ranker) bool {
	row := table[r*cols:][:cols]
	for _, x := range row[from:][:blocks] {
		if int(x) >= k.n {
			return false
		}
	}
	var above []uint16
	if r > s.first {
		above = table[(r-1)*cols:][:cols]
	}
	k.vectors.places(k.n, row, above, from, e.places[:blocks], e.leasts[:blocks])
	for i := range blocks {
		_, _, activity := k.around(table, cols, s.first, r, from+i)
		e.activities[i] = uint8(bits.Len(uint(activity)))
	}
	return true
}

// decision is one that a range decoder is to decode: how much of width it leaves, in 1/65536, and expectOne where it is 1.
type decision uint32

const expectOne decision = 1 << 31

// makeDecision makes the decision v, which is 0 with a probability of zero/65536.
func makeDecision(zero uint32, v uint) decision {
	one := -decision(v) // all ones or 0
	return decision(zero) + (65536-2*decision(zero))&one | expectOne&one
}

// decide moves m after the ranks of blocks, and returns their decisions.
func (e *expecting) decide(m *rankModel, blocks int) []decision {
	list := e.decisions[:0]
	for from := 0; from < blocks; {
		to := from
		for to < blocks && (m.most <= lanes || e.places[to] < 1<<(lanes-1)) {
			to++
		}
		if from < to {
			list = m.decide(list, e.contexts[from:to], e.places[from:to])
		}
		if to < blocks {
			m.contexts = e.contexts[to]
			list = m.decideLong(list, int(e.places[to]))
			to++
		}
		from = to
	}
	return list
}

// decide moves m after ranks in their contexts, and appends their decisions to list, which has room for them and for lanes more. No
// bit length has steps of a second group.
func (m *rankModel) decide(list []decision, contexts [][mixed]uint32, ranks []uint16) []decision {
	decideTops(m, contexts, ranks, list[len(list):cap(list)])
	for _, r := range ranks {
		length := bits.Len16(r)
		n := bits.OnesCount8(uint8(m.unary[length][0]))
		if length > 3 {
			m.decideLow(list[:len(list)+n+2], int(r), length)
		}
		list = list[:len(list)+n+max(length-1, 0)]
	}
	return list
}

// decideLong is decide for a rank in the present contexts, whose bit length has steps of a second group.
func (m *rankModel) decideLong(list []decision, r int) []decision {
	length := bits.Len(uint(r))
	more := length - lanes
	ones := uint(1)<<more - 1
	coded, n := ones, more
	if length < m.most {
		coded, n = coded|1<<more, n+1
	}
	m.step(0, 1<<lanes-1, 1<<lanes-1)
	for i := range lanes {
		list = append(list, makeDecision(m.probability(i), 1))
	}
	m.step(longUnary, coded, ones)
	for i := range n {
		list = append(list, makeDecision(m.probability(i), ones>>i&1))
	}
	group, lane := below(length)
	v, second := uint(r)>>(length-2)&1, uint(r)>>(length-3)&1
	next := lane + 1 + int(v)
	m.step(group, 1<<lane|1<<next, v<<lane|second<<next)
	list = append(list, makeDecision(m.probability(lane), v), makeDecision(m.probability(next), second))
	return m.decideLow(list, r, length)
}

// decideLow is decide for the bits of a rank of length bits below the highest three.
func (m *rankModel) decideLow(list []decision, r, length int) []decision {
	for i := length - 4; i >= 0; i-- {
		b, v := &m.low[length][i], r>>i&1
		list = append(list, makeDecision(uint32(b.zero), uint(v)))
		b.update(v)
	}
	return list
}

// expect decodes decisions and reports whether they are those.
//
// It takes what each leaves of width and code, and looks only where it reads a byte, and at the end, whether all were those that code
// stands for. Where one is not, code is no longer less than width, neither then nor after any decision to come, as each takes as much
// of both, or takes of width alone. Of 64 bits, since code falls below 0 where a decision is told to be 1 and is not.
func (d *rangeDecoder) expect(list []decision) bool {
	width, code := uint64(d.width), uint64(d.code)
	for _, v := range list {
		one := uint64(int64(int32(v)) >> 31) // all ones or 0
		left := (width*uint64(v&(1<<17-1)) + one&65535) >> 16
		code -= (width - left) & one
		width = left
		if width < 1<<24 {
			if code >= width {
				return false
			}
			w, c := d.refill(uint32(width), uint32(code))
			width, code = uint64(w), uint64(c)
		}
	}
	d.width, d.code = uint32(width), uint32(code)
	return code < width
}
