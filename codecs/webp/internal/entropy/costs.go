// Package entropy says what symbols cost, and divides the tiles of an image among prefix
// code groups (RFC 9649, 3.7.2.2) by that. Costs are integers in 1/256 bit, logarithms and
// sizes in 1/65536 bit, so that every machine finds the same.
package entropy

import (
	"math"
	"math/bits"

	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// Fraction bits of logarithms and of costs: a cost of 256 is one bit.
const (
	Log2Bits = 16
	CostBits = 8
)

// MaxCost is what no symbol exceeds, 20 bits: with it the sum over the four symbols of each
// pixel of the largest tile, 256 x 256, fits into 32 bits.
const MaxCost = 20 << CostBits

// log2Table[i] is log2(1 + i/256), rounded; log2Table[128] is 0.58496 * 65536 = 38336.
// Its last entry is log2(2).
var log2Table = makeLog2Table()

// makeLog2Table finds the bits of each logarithm by squaring: log2(x*x) = 2 log2(x),
// whose whole part is the next bit.
func makeLog2Table() (t [257]uint32) {
	for i := range t {
		x := uint64(256+i) << 23 // 1.31 fixed point, 1 <= x <= 2
		if i == 256 {
			t[i] = 1 << Log2Bits
			break
		}
		v := uint32(0)
		for range Log2Bits + 1 {
			hi, lo := bits.Mul64(x, x)
			x = hi<<33 | lo>>31
			v <<= 1
			if x >= 1<<32 {
				v |= 1
				x >>= 1
			}
		}
		t[i] = (v + 1) >> 1
	}
	return t
}

// log2 returns the binary logarithm of v, at least 1, times 65536: table, shift, and
// a linear term between entries of the table. It is within 1.25 of the true value
// (half from the rounding of entries, 0.2 from the straight line, half from the
// rounding of the sum) and does not fall where v rises.
func log2(v uint64) uint32 {
	n := bits.Len64(v) - 1
	m := v << (63 - n) // 1.63 fixed point
	i := m >> 55 & 255
	f := m >> 39 & 0xffff
	a, b := uint64(log2Table[i]), uint64(log2Table[i+1])
	return uint32(n)<<Log2Bits + uint32(a+((b-a)*f+1<<15)>>16)
}

// IdealBits returns the bits, times 65536, of an ideal code for symbols that occur as
// often as counts says.
func IdealBits(counts []uint32) uint64 {
	n, s := uint64(0), uint64(0)
	for _, v := range counts {
		if v > 0 {
			n += uint64(v)
			s += uint64(v) * uint64(log2(uint64(v)))
		}
	}
	if n == 0 {
		return 0
	}
	return max(n*uint64(log2(n)), s) - s
}

// IdealCosts sets out[s] to what symbol s would cost in an ideal code for hist, in 1/256
// bit. Symbols that do not occur cost as if they did a third of a time.
func IdealCosts(hist []uint32, out []uint16) {
	for _, p := range format.Alphabets(len(hist)) {
		AlphabetCosts(hist[p[0]:p[1]], out[p[0]:p[1]])
	}
}

// AlphabetCosts is IdealCosts for one alphabet.
func AlphabetCosts(counts []uint32, out []uint16) {
	if !wideCosts(counts, out) {
		alphabetCostsGo(counts, out)
	}
}

// alphabetCostsGo is AlphabetCosts.
func alphabetCostsGo(counts []uint32, out []uint16) {
	n := uint64(0)
	for _, v := range counts {
		n += uint64(v)
	}
	all := idealCodeOf(n)
	unused := eightTimes(costBelow(all, 0))
	for ; len(counts) >= 8; counts, out = counts[8:], out[8:] {
		c, o := (*[8]uint32)(counts), (*[8]uint16)(out)
		if c[0]|c[1]|c[2]|c[3]|c[4]|c[5]|c[6]|c[7] == 0 {
			// Most symbols of a small image do not occur.
			*o = unused
			continue
		}
		for i, v := range c {
			o[i] = costBelow(all, v)
		}
	}
	for i, v := range counts {
		out[i] = costBelow(all, v)
	}
}

func eightTimes(v uint16) [8]uint16 { return [8]uint16{v, v, v, v, v, v, v, v} }

// idealCodeOf is the logarithm of three times the sum n of counts, and half the last bit of a
// cost, to round by.
func idealCodeOf(n uint64) uint32 {
	return log2(max(3*n, 1)) + 1<<(Log2Bits-CostBits-1)
}

// costBelow is what a symbol costs that occurs v times, by the result of idealCodeOf.
func costBelow(all, v uint32) uint16 {
	own := uint32(0)
	if v < uint32(len(fewLog2)) {
		own = fewLog2[v]
	} else {
		own = log2(3 * uint64(v))
	}
	return uint16(min((all-own)>>(Log2Bits-CostBits), MaxCost))
}

// fewLog2[v] is the logarithm of 3v, or of 1 for 0: most counts of a group are small.
// fewLog2[1] is log2(3) = 1.58496 * 65536 = 103872.
var fewLog2 = func() (t [256]uint32) {
	for v := range t {
		t[v] = log2(max(3*uint64(v), 1))
	}
	return t
}()

// CodeCosts sets out[s] to what symbol s costs in the prefix code that hist gets, in
// 1/256 bit; symbols without a code cost as by IdealCosts, but not less than the longest
// code.
func CodeCosts(hist []uint32, out []uint16) { CodeCostsAndLengths(hist, out, make([]uint8, len(hist))) }

// CodeCostsAndLengths is CodeCosts, and sets lengths to those of the codes.
func CodeCostsAndLengths(hist []uint32, out []uint16, lengths []uint8) {
	for _, p := range format.Alphabets(len(hist)) {
		counts, costs, lengths := hist[p[0]:p[1]], out[p[0]:p[1]], lengths[p[0]:p[1]]
		code := bitstream.SetCodeLengths(lengths, counts, bitstream.MaxCodeLength)
		// By length; a lone symbol takes no bits.
		var by [bitstream.MaxCodeLength + 1]uint16
		by[0] = max(costBelow(idealCodeOf(code.Sum), 0), uint16(code.Longest)<<CostBits)
		for l := 1; l < len(by) && code.Used > 1; l++ {
			by[l] = uint16(l) << CostBits
		}
		costsByLength(costs, lengths, &by)
	}
}

// costsByLengthGo sets costs to those of codes of the given lengths.
func costsByLengthGo(costs []uint16, lengths []uint8, by *[bitstream.MaxCodeLength + 1]uint16) {
	for i, l := range lengths {
		costs[i] = by[l%uint8(len(by))]
	}
}

// CostsOf returns the costs of the symbols of each group by the histograms.
func CostsOf(h [][]uint32) [][]uint16 {
	t := make([][]uint16, len(h))
	if len(h) > 1 {
		all := make([]uint32, len(h[0]))
		for _, g := range h {
			for i, v := range g {
				all[i] += v
			}
		}
		for k := range h {
			t[k] = make([]uint16, len(h[k]))
			smoothedCosts(h[k], all, t[k])
		}
		return t
	}
	for k := range h {
		t[k] = make([]uint16, len(h[k]))
		IdealCosts(h[k], t[k])
	}
	return t
}

// Costs of groups that no tile may move to. With the cost of any tile they still fit into 32
// bits. Tiles of a closed group stay there.
const (
	NoGroup = math.MaxUint32 / 2
	Closed  = NoGroup + 1
)

// GroupCosts are what it costs to name the groups of tiles in the entropy image, by how many
// tiles they have. Groups from the n-th on are closed.
func GroupCosts(counts []uint32, n int) []uint32 {
	short := make([]uint16, len(counts))
	AlphabetCosts(counts, short)
	out := make([]uint32, len(counts))
	for k, v := range short {
		switch {
		case k >= n:
			out[k] = Closed
		case counts[k] == 0:
			out[k] = NoGroup
		default:
			out[k] = uint32(v)
		}
	}
	return out
}
