package entropy

import mathbits "math/bits"

// Costs are in 1/65536 bit.
const bit = 1 << 16

// log2Mantissa[i] is log2(1 + i/4096) in 1/65536. It is made by repeated squaring, in
// integers, so that it is the same on all machines: i = 4096*(sqrt(2)-1) gives 32768.
var log2Mantissa = func() (table [4097]uint32) {
	for i := range table {
		m := uint64(4096+i) << 18 // 1.0 is 1<<30
		var log uint32
		for range 18 {
			log <<= 1
			if m >= 1<<31 {
				m >>= 1
				log |= 1
			}
			m = m * m >> 30
		}
		table[i] = (log + 1) >> 1
	}
	table[4096] = bit
	return table
}()

// log2 is the logarithm of n in 1/65536; n is not 0.
func log2(n uint32) int64 {
	high := mathbits.Len32(n) - 1
	m := uint64(n) << (63 - high) << 1 // without the leading one
	i, f := m>>52, int64(m>>36&0xffff)
	a, b := int64(log2Mantissa[i]), int64(log2Mantissa[i+1])
	return int64(high)<<16 + a + (b-a)*f>>16
}

// smallLogs holds n*log2(n) for the counts that are met most.
var smallLogs = func() (table [4096]int64) {
	for n := 1; n < len(table); n++ {
		table[n] = int64(n) * log2(uint32(n))
	}
	return table
}()

// NLog is n*log2(n) in 1/65536 bit.
func NLog(n uint32) int64 {
	if n < uint32(len(smallLogs)) {
		return smallLogs[n]
	}
	return largeLog(n)
}

// largeLog is of its own so that nLog is inlined.
//
//go:noinline
func largeLog(n uint32) int64 { return int64(n) * log2(n) }

// histogram counts tokens.
type histogram struct {
	counts  []uint32 // up to the last one that is not zero
	total   uint32
	entropy int64 // of all tokens together
}

func newHistogram(counts []uint32) histogram {
	h := histogram{}
	n := len(counts)
	for n > 0 && counts[n-1] == 0 {
		n--
	}
	h.counts = counts[:n]
	var sum int64
	for _, c := range h.counts {
		h.total += c
		sum += NLog(c)
	}
	h.entropy = NLog(h.total) - sum
	return h
}

// distance is what coding the tokens of both with one distribution costs more.
func (h *histogram) distance(o *histogram) int64 {
	if h.total == 0 || o.total == 0 {
		return 0
	}
	a, b := h.counts, o.counts
	if len(a) < len(b) {
		a, b = b, a
	}
	var sum int64
	for i, c := range b {
		sum += NLog(c + a[i])
	}
	for _, c := range a[len(b):] {
		sum += NLog(c)
	}
	return NLog(h.total+o.total) - sum - h.entropy - o.entropy
}

// plus is the histogram of the tokens of both, in counts of its own.
func (h *histogram) plus(o *histogram) histogram {
	a, b := h.counts, o.counts
	if len(a) < len(b) {
		a, b = b, a
	}
	counts := make([]uint32, len(a))
	copy(counts, a)
	for i, c := range b {
		counts[i] += c
	}
	return newHistogram(counts)
}

// header is about what the distribution itself costs.
func (h *histogram) header() int64 {
	sum := int64(10 * bit)
	for _, c := range h.counts {
		sum += 5 * bit / 2
		if c > 0 {
			sum += 2*bit + log2(c)/4
		}
	}
	return sum
}
