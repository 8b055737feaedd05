package vq

import (
	"bytes"
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
// of indices and their contexts depend on the table alone, the probabilities of decisions on those, and width and code on the
// probabilities. The functions in assembly know how it lies.
type expecting struct {
	// Of each block: its side key; of the samples beside it the sum and that of their squares; the activity. Then half of what is the same
	// for all keys, and the classes of sums from which and to which codewords come into question: see edgeVectors and edgeOrder.
	keys, sums, norms, activities [expectBlocks]uint32
	halves, from, to              [expectBlocks]uint32

	places   [expectBlocks]uint16
	leasts   [expectBlocks]uint32 // least side keys
	contexts [mixed][expectBlocks]uint32

	decisions [expectBlocks*mostDecisions + 16]decision
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
	m := newRankModel(k.n)
	defer rankModels.Put(m)
	m.resetAll()
	e := expectings.Get().(*expecting)
	defer expectings.Put(e)
	p := newPicker(k.n)
	above, row := newLengths(cols), newLengths(cols)
	for r := s.first; r < s.first+s.rows; r++ {
		for from := 0; from < cols; from += expectBlocks {
			blocks := min(cols-from, expectBlocks)
			if !e.rank(table, cols, s, r, from, blocks, k, p) {
				return false
			}
			findContexts(e, above[from:], row[from:], bestShift(k.n), blocks)
			if !d.expect(e.decide(m, blocks)) {
				return false
			}
		}
		row[cols+1] = noRank
		above, row = row, above
		if d.pos > len(in) {
			return false
		}
	}
	return d.exact()
}

// newLengths is memory for the bit lengths of the ranks of a row. Entry c+1 belongs to column c; the first and the one behind the last
// stand for what lies beyond the table. Behind those there is room for vector instructions, which take sixteen at once.
func newLengths(cols int) []uint8 {
	return bytes.Repeat([]byte{noRank}, cols+2+16)
}

// rank finds the places of blocks indices of row r, from a column on, the least keys and the activities. It reports whether all are
// those of codewords.
func (e *expecting) rank(table []uint16, cols int, s segment, r, from, blocks int, k *ranker, p *picker) bool {
	row := table[r*cols:][:cols]
	for _, x := range row[from:][:blocks] {
		if int(x) >= k.n {
			return false
		}
	}
	alone := blocks // so many have no block above or none to the left
	if r > s.first {
		alone = 0
		if from == 0 {
			alone = 1
		}
	}
	for i := range alone {
		above, left, activity := k.around(table, cols, s.first, r, from+i)
		e.leasts[i] = p.fill(k, above, left)
		e.places[i] = uint16(belowIn(p.keys, p.keys[row[from+i]]))
		e.activities[i] = uint32(activity)
	}
	if alone < blocks {
		at := from + alone
		findPlaces(e, k.vectors.order(), table[(r-1)*cols+at:][:blocks-alone], row[at-1:], alone)
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

// leaves is what the decision leaves of a width, and all ones where it is 1.
func (d decision) leaves(width uint64) (left, one uint64) {
	one = uint64(int64(int32(d)) >> 31)
	return (width*uint64(d&(1<<17-1)) + one&65535) >> 16, one
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
			list = list[:len(list)+decideRanks(m, e, from, to, list[len(list):cap(list)])]
		}
		if to < blocks {
			for c := range m.contexts {
				m.contexts[c] = e.contexts[c][to]
			}
			list = m.decideLong(list, int(e.places[to]))
			to++
		}
		from = to
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
		left, one := v.leaves(width)
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
