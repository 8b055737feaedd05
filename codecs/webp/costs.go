package webp

import (
	"math"
	"math/bits"
)

// Logarithms have 16 fraction bits, prices 8: 256 is one bit.
const (
	log2Bits = 16
	costBits = 8
)

// maxCost is what no symbol exceeds, 20 bits: the sum over the four symbols of each
// pixel of the largest tile, 256 x 256, fits into 32 bits.
const maxCost = 20 << costBits

// log2Table[i] is log2(1 + i/256), rounded; log2Table[128] is 0.58496 * 65536 = 38336.
// Its last entry is log2(2).
var log2Table = makeLog2Table()

// makeLog2Table finds the bits of each logarithm by squaring: log2(x*x) = 2 log2(x),
// whose whole part is the next bit.
func makeLog2Table() (t [257]uint32) {
	for i := range t {
		x := uint64(256+i) << 23 // 1.31 fixed point, 1 <= x <= 2
		if i == 256 {
			t[i] = 1 << log2Bits
			break
		}
		v := uint32(0)
		for range log2Bits + 1 {
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
	return uint32(n)<<log2Bits + uint32(a+((b-a)*f+1<<15)>>16)
}

// idealBits returns the bits, times 65536, of an ideal code for symbols that occur as
// often as counts says.
func idealBits(counts []uint32) uint64 {
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

// idealCosts sets out[s] to what symbol s would cost in an ideal code for hist, in 1/256
// bit. Symbols that do not occur cost as if they did a third of a time.
func idealCosts(hist []uint32, out []uint16) {
	for _, p := range alphabets(len(hist)) {
		alphabetCosts(hist[p[0]:p[1]], out[p[0]:p[1]])
	}
}

func alphabetCosts(counts []uint32, out []uint16) {
	n := uint64(0)
	for _, v := range counts {
		n += uint64(v)
	}
	all := log2(max(3*n, 1))
	for i, v := range counts {
		own := log2(max(3*uint64(v), 1))
		out[i] = uint16(min((all-own+1<<(log2Bits-costBits-1))>>(log2Bits-costBits), maxCost))
	}
}

// codeCosts sets out[s] to what symbol s costs in the prefix code that hist gets, in
// 1/256 bit; symbols without a code cost as in prices, but not less than the longest
// code.
func codeCosts(hist []uint32, out []uint16) {
	idealCosts(hist, out)
	for _, p := range alphabets(len(hist)) {
		lengths := codeLengths(hist[p[0]:p[1]], maxCodeLength)
		used, most := 0, uint8(0)
		for _, l := range lengths {
			if l > 0 {
				used++
				most = max(most, l)
			}
		}
		for i, l := range lengths {
			at := p[0] + i
			switch {
			case l == 0:
				out[at] = max(out[at], uint16(most)<<costBits)
			case used == 1:
				out[at] = 0
			default:
				out[at] = uint16(l) << costBits
			}
		}
	}
}

// costsOf returns the prices of the groups' symbols by their histograms.
func costsOf(h [][]uint32) [][]uint16 {
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
		idealCosts(h[k], t[k])
	}
	return t
}

// Prices of groups that no tile may move to: with the dearest tile they still fit into
// 32 bits. Tiles of a closed group stay there.
const (
	noGroup = math.MaxUint32 / 2
	closed  = noGroup + 1
)

// groupCosts are what it costs to say that a tile is in a group. From the n-th on they
// are closed.
func groupCosts(counts []uint32, n int) []uint32 {
	short := make([]uint16, len(counts))
	alphabetCosts(counts, short)
	out := make([]uint32, len(counts))
	for k, v := range short {
		switch {
		case k >= n:
			out[k] = closed
		case counts[k] == 0:
			out[k] = noGroup
		default:
			out[k] = uint32(v)
		}
	}
	return out
}
