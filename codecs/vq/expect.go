package vq

import (
	"hash/crc32"
	"math/bits"
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

// expectSegment reports whether in is the segment s of table, with every byte and none more. Where it says no, in may be any.
// It is for machines with vectorRanks, and says no on others.
func expectSegment(in []byte, table []uint16, cols int, s segment, k *ranker) bool {
	if k.vectors == nil {
		return false
	}
	d := newRangeDecoder(in)
	m, a := newRankModel(k.n), newAround(cols)
	defer rankModels.Put(m)
	shift := bestShift(k.n)
	for r := s.first; r < s.first+s.rows; r++ {
		a.newRow()
		for c := range cols {
			x := int(table[r*cols+c])
			if x >= k.n {
				return false
			}
			above, left, activity := k.around(table, cols, s.first, r, c)
			place, side := k.vectors.place(k.n, above, left, x)
			a.enter(m, c, bits.Len(uint(activity)), bits.Len32(side>>indexBits), int(side&(1<<indexBits-1))>>shift)
			if !m.expect(d, place) {
				return false
			}
			a.leave(c, place)
		}
		if d.pos > len(in) {
			return false
		}
	}
	return d.exact()
}

// expect decodes a rank and reports whether it is r. If not, neither m nor d is of use any more. It is for machines with vectorRanks.
//
// The decisions of r are known before the first of them is decoded: no branch waits for the stream, and those that depend on r are taken
// early.
func (m *rankModel) expect(d *rangeDecoder, r int) bool {
	length := bits.Len(uint(r))
	if length >= lanes && m.most > lanes {
		return m.expectLong(d, r, length)
	}
	ones := uint(1)<<length - 1
	coded, n := ones, length
	if length < m.most {
		coded, n = coded|1<<length, n+1
	}
	if length < 2 {
		stepBoth(m, coded, ones, 0, 0, 0)
		return d.expect(m.chances[:n], ones)
	}
	group, lane := below(length)
	v := uint(r) >> (length - 2) & 1
	if length == 2 {
		stepBoth(m, coded, ones, group, 1<<lane, v<<lane)
		m.chances[n] = m.chancesBelow[lane%lanes]
		return d.expect(m.chances[:n+1], ones|v<<n)
	}
	next, second := lane+1+int(v), uint(r)>>(length-3)&1
	stepBoth(m, coded, ones, group, 1<<lane|1<<next, v<<lane|second<<next)
	m.chances[n], m.chances[n+1] = m.chancesBelow[lane%lanes], m.chancesBelow[next%lanes]
	ones |= v<<n | second<<(n+1)
	n += 2
	for i := length - 4; i >= 0; i-- {
		b, v := &m.low[length][i], r>>i&1
		m.chances[n] = uint32(b.zero)
		ones |= uint(v) << n
		n++
		b.update(v)
	}
	return d.expect(m.chances[:n], ones)
}

// expect decodes decisions that are 0 with the given probabilities in 1/65536, and reports whether they are 1 where ones has a bit
// and 0 elsewhere.
func (d *rangeDecoder) expect(zeros []uint32, ones uint) bool {
	width, code, others := d.width, d.code, uint32(0)
	for _, zero := range zeros {
		one := -uint32(ones & 1) // all ones or 0
		ones >>= 1
		bound := uint32(uint64(width) * uint64(zero) >> 16)
		_, less := bits.Sub32(code, bound, 0)
		others |= (less - 1) ^ one
		width, code = bound+(width-2*bound)&one, code-bound&one
		if width < 1<<24 {
			width, code = d.refill(width, code)
		}
	}
	d.width, d.code = width, code
	return others == 0
}

// expectLong is expect for ranks whose length has a second group of steps, or may have one.
func (m *rankModel) expectLong(d *rangeDecoder, r, length int) bool {
	more := length - lanes
	ones := uint(1)<<more - 1
	coded, n := ones, more
	if length < m.most {
		coded, n = coded|1<<more, n+1
	}
	m.step(0, 1<<lanes-1, 1<<lanes-1)
	if !d.expect(m.probabilities(0, lanes), 1<<lanes-1) {
		return false
	}
	m.step(longUnary, coded, ones)
	if !d.expect(m.probabilities(0, n), ones) {
		return false
	}
	group, lane := below(length)
	v, second := uint(r)>>(length-2)&1, uint(r)>>(length-3)&1
	next := lane + 1 + int(v)
	m.step(group, 1<<lane|1<<next, v<<lane|second<<next)
	if !d.expect(m.probabilities(lane, 1), v) || !d.expect(m.probabilities(next, 1), second) {
		return false
	}
	for i := length - 4; i >= 0; i-- {
		b, v := &m.low[length][i], r>>i&1
		if !d.expect([]uint32{uint32(b.zero)}, uint(v)) {
			return false
		}
		b.update(v)
	}
	return true
}

// probabilities are those of n lanes from lane on, after step.
func (m *rankModel) probabilities(lane, n int) []uint32 {
	for i := range n {
		m.chances[i] = m.probability(lane + i)
	}
	return m.chances[:n]
}
