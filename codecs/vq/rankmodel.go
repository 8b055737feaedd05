package vq

import (
	"math/bits"
	"sync"
)

// The adaptive state of ranks is laid out so that a vector instruction takes the decisions
// of a rank side by side: the estimates and weights of a decision are its own, so that the
// probabilities of all decisions that a rank may take follow from its contexts alone,
// before the first of them is coded.
//
// Decisions are in groups of eight lanes:
//
//	group  lanes 0 to 7
//	0      steps 0 to 7 of the unary bit length
//	1-4    bits below the leading one of ranks of 2 bits (lanes 0-2) and 3 (lanes 4-6), then 4 and 5, 6 and 7, 8 and 9
//	5      steps 8 to 11 of the unary bit length, in lanes 0 to 3
//	6-7    bits below the leading one of ranks of 10 and 11, and of 12 bits
//
// Of three lanes for a length the first is for the bit below the leading one, the second
// for the next bit after 0, and the third for it after 1.
const (
	lanes      = 8
	longUnary  = 5 // group of the steps from the ninth on
	rankGroups = 8
)

// below is the group and the first lane of the bits below the leading one of ranks of
// length bits, 2 at least.
func below(length int) (group, lane int) {
	group = length / 2
	if length >= 10 {
		group++
	}
	return group, length % 2 * 4
}

// estimates are those of the decisions of a group in one context. They fill a line of the
// cache. The functions in assembly know how they lie.
type estimates struct {
	log  [lanes]int32  // stretch of the next
	zero [lanes]uint16 // probability that the decision is 0, in 1/65536
	seen [lanes]uint16 // decisions so far, at most adaptLimit
}

// rankModel is the adaptive state for the ranks of one segment.
type rankModel struct {
	contexts [mixed]uint32 // of the present rank
	odds     [lanes]int32  // log odds of the decisions of the present group

	weights [rankGroups][mixed][lanes]int32

	estimates *[contextCount][rankGroups]estimates
	stamps    *[contextCount]uint32
	stamp     uint32 // estimates of contexts with another are those of a model before
	groups    int    // groups that ranks need

	low  [indexBits + 1][16]bit // vector instructions take sixteen at once
	most int                    // bit length of the greatest rank

	vectors bool // step and decode take all lanes of a group at once

	// unary are the lanes of the steps of a bit length below lanes, and those of them that are 1, in each byte of a word.
	unary [lanes + 1][2]uint32

	at [mixed]*estimates // of the present group in the contexts of the present rank, where there are no vectors
}

// rankModels are models that nobody uses: making one takes longer than coding the ranks of
// a small image.
var rankModels = sync.Pool{New: func() any {
	return &rankModel{estimates: new([contextCount][rankGroups]estimates), stamps: new([contextCount]uint32)}
}}

const (
	mixStart = 16384 // first weight of an estimate, 1/4 in 1/65536
	mixShift = 15    // rate of the weights
)

// firstEstimates are those of a context in which nothing has been coded.
var firstEstimates = func() (e estimates) {
	for i := range e.zero {
		e.zero[i] = 1 << 15
		e.log[i] = int32(stretch[1<<15>>4])
	}
	return e
}()

// newRankModel gives a model for n codewords. Whoever has it puts it back into rankModels.
func newRankModel(n int) *rankModel {
	m := rankModels.Get().(*rankModel)
	if m.stamp++; m.stamp == 0 {
		*m.stamps = [contextCount]uint32{}
		m.stamp = 1
	}
	m.most, m.vectors = bits.Len(uint(n-1)), vectorRanks
	for length := range m.unary {
		const each = 0x01010101
		ones := uint32(1)<<length - 1
		m.unary[length] = [2]uint32{ones * each, ones * each}
		if length < min(m.most, lanes) {
			m.unary[length][0] |= each << length
		}
	}
	m.groups = rankGroups
	if m.most <= lanes {
		m.groups = m.most/2 + 1
	}
	for g := range m.weights {
		for c := range m.weights[g] {
			for i := range m.weights[g][c] {
				m.weights[g][c][i] = mixStart
			}
		}
	}
	for i := range m.low {
		for j := range m.low[i] {
			m.low[i][j] = bit{zero: 1 << 15}
		}
	}
	return m
}

// find finds the contexts of a rank: a and l are the bit lengths of the activity and
// of the least mismatch, best is its codeword, left to upRight are the bit lengths of
// the ranks around.
func (m *rankModel) find(contexts *[mixed]uint32, a, l, best int, left, up, upLeft, upRight uint8) {
	s := min((2*int(left)+2*int(up)+int(upLeft)+int(upRight)+2)/4, surrounds-1)
	c0, c1 := contextStart[0]+a*mismatches+l, contextStart[1]+l*surrounds+s
	c2, c3 := contextStart[2]+a*surrounds+s, contextStart[3]+best
	contexts[0], contexts[1], contexts[2], contexts[3] = uint32(c0), uint32(c1), uint32(c2), uint32(c3)
	stamp := m.stamp
	if m.stamps[c0] == stamp && m.stamps[c1] == stamp && m.stamps[c2] == stamp && m.stamps[c3] == stamp {
		return
	}
	for _, c := range contexts {
		if m.stamps[c] != stamp {
			m.reset(c)
		}
	}
}

// reset makes the estimates of a context those of a new model. It is done when they are first
// needed, since most contexts of a small image never are.
func (m *rankModel) reset(context uint32) {
	m.stamps[context] = m.stamp
	e := &m.estimates[context]
	for group := range e[:m.groups] {
		e[group] = firstEstimates
	}
}

// resetAll is reset for all contexts: what finds contexts in vector code looks for none that is not.
func (m *rankModel) resetAll() {
	for c := range m.stamps {
		m.reset(uint32(c))
	}
}

// open makes group the present one.
func (m *rankModel) open(group int) {
	for i, c := range &m.contexts {
		m.at[i] = &m.estimates[c][group]
	}
}

// probability is that of the decision in a lane of the present group being 0, in 1/65536, for
// its log odds.
func (m *rankModel) probability(lane int) uint32 {
	return uint32(squashed[m.odds[lane]+2048])
}

// openProbability is probability of a lane that nothing was worked out for.
func (m *rankModel) openProbability(group, lane int) uint32 {
	m.mix(group, lane)
	return m.probability(lane)
}

// mix works out the log odds of one lane: the mean of those of the estimates by the weights of
// the decision. It and learnLane are written without loops: where there are
// no vector instructions, the index coder spends its time in them.
func (m *rankModel) mix(group, lane int) {
	lane %= lanes
	w := &m.weights[group]
	sum := int64(w[0][lane])*int64(m.at[0].log[lane]) + int64(w[1][lane])*int64(m.at[1].log[lane]) +
		int64(w[2][lane])*int64(m.at[2].log[lane]) + int64(w[3][lane])*int64(m.at[3].log[lane])
	m.odds[lane] = int32(min(max(sum>>16, -2047), 2047))
}

// step sets the log odds of the lanes of a group where coded has a bit, and moves the
// weights and estimates after decisions there that are 1 where ones has a bit.
func (m *rankModel) step(group int, coded, ones uint) {
	if m.vectors {
		stepLanes(m, group, coded, ones)
		return
	}
	m.open(group)
	for c := coded; c != 0; c &= c - 1 {
		m.mix(group, bits.TrailingZeros(c))
	}
	m.learn(group, coded, ones)
}

// learn moves weights and estimates after the decisions in the lanes of the bits of coded,
// which were 1 where ones has a bit. Nothing may have changed since open.
func (m *rankModel) learn(group int, coded, ones uint) {
	for ; coded != 0; coded &= coded - 1 {
		lane := bits.TrailingZeros(coded) % lanes
		m.learnLane(group, lane, int32(ones>>lane&1))
	}
}

// learnLane is learn for one lane.
func (m *rankModel) learnLane(group, lane int, v int32) {
	lane %= lanes
	w := &m.weights[group]
	e0, e1, e2, e3 := m.at[0], m.at[1], m.at[2], m.at[3]
	miss := 65536&(v-1) - int32(m.probability(lane)) // 65536 less for 0
	w[0][lane] += e0.log[lane] * miss >> mixShift
	w[1][lane] += e1.log[lane] * miss >> mixShift
	w[2][lane] += e2.log[lane] * miss >> mixShift
	w[3][lane] += e3.log[lane] * miss >> mixShift
	e0.zero[lane], e0.seen[lane] = updated(e0.zero[lane], e0.seen[lane], v)
	e1.zero[lane], e1.seen[lane] = updated(e1.zero[lane], e1.seen[lane], v)
	e2.zero[lane], e2.seen[lane] = updated(e2.zero[lane], e2.seen[lane], v)
	e3.zero[lane], e3.seen[lane] = updated(e3.zero[lane], e3.seen[lane], v)
	e0.log[lane], e1.log[lane] = stretch32[e0.zero[lane]>>4], stretch32[e1.zero[lane]>>4]
	e2.log[lane], e3.log[lane] = stretch32[e2.zero[lane]>>4], stretch32[e3.zero[lane]>>4]
}

// updated is an estimate after decision v; see [bit.update].
func updated(zero, seen uint16, v int32) (z, s uint16) {
	p, minus := int32(zero), -v
	way := ((65536&^minus - p) ^ minus) - minus
	step := int32(uint32(way) * uint32(adaptRate[seen&63]) >> 16)
	p += (step ^ minus) - minus
	return uint16(min(max(p, probMin), 65536-probMin)), min(seen+1, adaptLimit)
}

// encode codes rank r.
func (m *rankModel) encode(e *rangeEncoder, r int) {
	length := bits.Len(uint(r))
	for group, first := 0, 0; ; group, first = longUnary, lanes {
		n := min(length-first, lanes)
		ones := uint(1)<<n - 1
		ends := n < lanes && length < m.most
		coded := ones
		if ends {
			coded |= 1 << n
		}
		m.step(group, coded, ones)
		for i := range n {
			e.put(m.probability(i), 1)
		}
		if ends {
			e.put(m.probability(n), 0)
		}
		if n < lanes || first+lanes >= m.most {
			break
		}
	}
	if length < 2 {
		return
	}
	group, lane := below(length)
	v := r >> (length - 2) & 1
	coded, ones := uint(1)<<lane, uint(v)<<lane
	next := lane + 1 + v
	if length > 2 {
		coded, ones = coded|1<<next, ones|uint(r>>(length-3)&1)<<next
	}
	m.step(group, coded, ones)
	e.put(m.probability(lane), v)
	if length > 2 {
		e.put(m.probability(next), r>>(length-3)&1)
	}
	for i := length - 4; i >= 0; i-- {
		e.encode(&m.low[length][i], r>>i&1)
	}
}

// decode is the inverse of encode.
func (m *rankModel) decode(d *rangeDecoder) int {
	if m.vectors {
		r, length := decodeTop(m, d)
		if length > 3 {
			r = m.decodeLow(d, r, length)
		}
		return r
	}
	width, code := d.width, d.code
	length := 0
	for group, first := 0, 0; ; group, first = longUnary, lanes {
		m.open(group)
		most := min(m.most-first, lanes)
		n := 0
		for v := 1; n < most && v == 1; n += v {
			width, code, v = narrow(width, code, m.openProbability(group, n))
			if width < 1<<24 {
				width, code = d.refill(width, code)
			}
		}
		length = first + n
		coded := uint(1)<<n - 1
		if n < most {
			coded |= 1 << n
		}
		m.learn(group, coded, 1<<n-1)
		if n < lanes || length == m.most {
			break
		}
	}
	if length < 2 {
		d.width, d.code = width, code
		return length
	}
	group, lane := below(length)
	m.open(group)
	width, code, v := narrowEvenly(width, code, m.openProbability(group, lane))
	if width < 1<<24 {
		width, code = d.refill(width, code)
	}
	r := 2 | v
	coded, ones := uint(1)<<lane, uint(v)<<lane
	if length > 2 {
		lane += 1 + v
		width, code, v = narrowEvenly(width, code, m.openProbability(group, lane))
		if width < 1<<24 {
			width, code = d.refill(width, code)
		}
		r = r<<1 | v
		coded, ones = coded|1<<lane, ones|uint(v)<<lane
	}
	m.learn(group, coded, ones)
	d.width, d.code = width, code
	return m.decodeLow(d, r, length)
}

// decodeLow decodes the bits below the three highest of a rank of length bits, if there are any;
// r is those.
func (m *rankModel) decodeLow(d *rangeDecoder, r, length int) int {
	width, code, v := d.width, d.code, 0
	for i := length - 4; i >= 0; i-- {
		b := &m.low[length][i]
		width, code, v = narrowEvenly(width, code, uint32(b.zero))
		if width < 1<<24 {
			width, code = d.refill(width, code)
		}
		b.update(v)
		r = r<<1 | v
	}
	d.width, d.code = width, code
	return r
}
