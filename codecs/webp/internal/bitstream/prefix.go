package bitstream

import (
	"math"
	"math/bits"
	"slices"
	"sync"
)

const (
	MaxCodeLength = 15 // of a symbol
	maxMetaLength = 7  // of a code length's code
)

// mostSymbols is the largest alphabet: green, lengths and the largest colour cache.
const mostSymbols = 256 + 24 + 1<<11

// codeMemory is what making a code takes. Its contents do not matter before or after, but meta has the lengths of the code length
// code for metaCounts.
type codeMemory struct {
	metaCounts [19]uint32
	meta       [19]uint8

	leaves, next [mostSymbols + 1]uint64 // one more than there are, to end the queue
	nodes        [mostSymbols]uint64     // weights
	parent       [2 * mostSymbols]uint16 // of leaves, and behind these of nodes
	depth        [mostSymbols]uint8      // of nodes
	alike        [mostSymbols]same       // of a description
}

// memories are those that nobody uses: clearing one takes longer than to make a code.
var memories = sync.Pool{New: func() any { return new(codeMemory) }}

// CodeLengths returns the lengths of an optimal prefix code for counts of which no
// code is longer than most. Symbols that do not occur have length 0; a lone symbol has
// length 1.
func CodeLengths(counts []uint32, most int) []uint8 {
	lengths := make([]uint8, len(counts))
	SetCodeLengths(lengths, counts, most)
	return lengths
}

// SetCodeLengths sets lengths, one for each of counts, to those that CodeLengths returns.
func SetCodeLengths(lengths []uint8, counts []uint32, most int) {
	m := memories.Get().(*codeMemory)
	defer memories.Put(m)
	m.codeLengths(counts, most, lengths)
}

// codeLengths is SetCodeLengths.
func (m *codeMemory) codeLengths(counts []uint32, most int, lengths []uint8) {
	clear(lengths)
	n, all := 0, uint32(0)
	// Leaves by count and then symbol, which has 12 bits. Whether a symbol occurs is no
	// branch, as it cannot be foreseen.
	for s, c := range counts {
		all |= c
		m.leaves[n] = uint64(c)<<12 | uint64(s)
		if c > 0 {
			n++
		}
	}
	leaves := m.leaves[:n+1]
	switch n {
	case 0:
		return
	case 1:
		lengths[leaves[0]&4095] = 1
		return
	}
	sortLeaves(leaves[:n], m.next[:n], bits.Len32(all))
	m.join(n)
	parent, depth := m.parent[:2*n-2], m.depth[:n-1]
	depth[n-2] = 0
	for k := n - 3; k >= 0; k-- {
		depth[k] = depth[parent[n+k]] + 1
	}
	// The rarest leaf is as deep as any.
	if int(depth[parent[0]])+1 > most {
		limitedLengths(leaves[:n], most, lengths)
		return
	}
	for i, l := range leaves[:n] {
		lengths[l&4095] = depth[parent[i]] + 1
	}
}

// join makes the n - 1 nodes of Huffman's algorithm for n sorted leaves with two queues,
// leaves and nodes in the order in which they are made. Of equal weights the leaf goes
// first, which keeps codes short. Which queue goes first cannot be foreseen, so there is no
// branch: the comparison becomes a mask.
func (m *codeMemory) join(n int) {
	leaves, nodes, parent := m.leaves[:n+1], m.nodes[:n], m.parent[:2*n]
	leaves[n] = math.MaxUint64
	for k := range nodes {
		nodes[k] = math.MaxUint64
	}
	i, j := uint64(0), uint64(0)
	for k := range n - 1 {
		sum := uint64(0)
		for range 2 {
			leaf, node := leaves[i]>>12, nodes[j]
			_, less := bits.Sub64(node, leaf, 0) // 1 where the node goes first
			mask := -less
			sum += leaf ^ (leaf^node)&mask
			parent[i^(i^(uint64(n)+j))&mask] = uint16(k)
			i += 1 - less
			j += less
		}
		nodes[k] = sum
	}
}

// sortLeaves sorts leaves of counts of so many bits, which are in the order of their symbols.
// next is memory of the same size.
func sortLeaves(leaves, next []uint64, countBits int) {
	const (
		mostDigit = 8
		few       = 20 // that are sorted sooner by comparing
	)
	digit := max(1, (countBits+1)/2)
	if digit > mostDigit || len(leaves) < few {
		slices.Sort(leaves)
		return
	}
	// By the low digit of the counts to next and by the high one back.
	var lows, highs [1 << mostDigit]uint16
	low, high := lows[:1<<digit], highs[:1<<digit]
	mask, shift := uint64(1)<<digit-1, 12+digit
	for _, v := range leaves {
		low[v>>12&mask]++
		high[v>>shift&mask]++
	}
	a, b := uint16(0), uint16(0)
	for i := range low {
		low[i], a = a, a+low[i]
		high[i], b = b, b+high[i]
	}
	for _, v := range leaves {
		at := &low[v>>12&mask]
		next[*at] = v
		*at++
	}
	for _, v := range next[:len(leaves)] {
		at := &high[v>>shift&mask]
		leaves[*at] = v
		*at++
	}
}

// limitedLengths is CodeLengths where Huffman's code is too deep, by the package-merge
// of Larmore and Hirschberg (1990). Row r holds leaves, and packages of two of row r-1,
// by weight. The first 2n-2 items of the last row are bought; a leaf's length is how
// often it was.
func limitedLengths(leaves []uint64, most int, lengths []uint8) {
	n := len(leaves)
	take := 2*n - 2
	// Weights are below 1<<47: counts have 32 bits, and an item has less than 1<<15 of them. What is behind the last one is heavier.
	const (
		noLeaf    = math.MaxUint64 >> 12
		noPackage = 1 << 60
	)
	memory := make([]uint64, n+1+2*(take+2))
	counts, row, last := memory[:n+1], memory[n+1:][:take+2], memory[n+1+take+2:]
	for i, v := range leaves {
		counts[i] = v >> 12
	}
	counts[n] = noLeaf
	packages := make([]uint8, most*take) // 1 for those among the items of all rows, as far as they may be bought
	before := 0                          // items of the row before
	last[0], last[1] = noPackage, noPackage
	for r := range most {
		size := min(take, n+before/2)
		is := packages[r*take:][:size]
		l, k := uint64(0), uint64(0)
		for i := range is {
			// As in join, no branch.
			leaf, pack := counts[l], last[2*k]+last[2*k+1]
			_, less := bits.Sub64(pack, leaf, 0) // 1 where the package goes first
			row[i] = leaf ^ (leaf^pack)&-less
			is[i] = uint8(less)
			l += 1 - less
			k += less
		}
		row[size], row[size+1] = noPackage, noPackage
		row, last, before = last, row, size
	}
	bought := take
	for r := most - 1; r >= 0; r-- {
		packed, l := 0, 0
		for _, is := range packages[r*take:][:bought] {
			if is != 0 {
				packed++
			} else {
				lengths[leaves[l]&4095]++
				l++
			}
		}
		bought = 2 * packed
	}
}

// canonical returns the codes of the given lengths, bits reversed so that they can be
// put as they are (RFC 9649, 3.7.2).
func canonical(lengths []uint8) []uint16 {
	var count, next [MaxCodeLength + 2]int
	for _, l := range lengths {
		count[l]++
	}
	count[0] = 0
	for l := 1; l <= MaxCodeLength; l++ {
		next[l+1] = (next[l] + count[l]) << 1
	}
	codes := make([]uint16, len(lengths))
	for s, l := range lengths {
		if l > 0 {
			codes[s] = bits.Reverse16(uint16(next[l])) >> (16 - l)
			next[l]++
		}
	}
	return codes
}

// BestCode returns the lengths, and how they are written, with the fewest bits for the
// code and its counts together: those of an optimal code or, where the code itself
// weighs, of one for counts evened out where neighbours are alike, whose lengths make
// longer runs.
func BestCode(counts []uint32) ([]uint8, description) {
	m := memories.Get().(*codeMemory)
	defer memories.Put(m)
	best := make([]uint8, len(counts))
	m.codeLengths(counts, MaxCodeLength, best)
	d := m.describe(best)
	body := CodedBits(best, counts)
	if 8*d.Bits < body || d.simple > 0 {
		return best, d
	}
	for _, tolerance := range [...]uint32{2, 5, 8} {
		lengths := make([]uint8, len(counts))
		m.codeLengths(smoothedCounts(counts, tolerance), MaxCodeLength, lengths)
		if e, b := m.describe(lengths), CodedBits(lengths, counts); e.Bits+b < d.Bits+body {
			best, d, body = lengths, e, b
		}
	}
	return best, d
}

// CodedBits is the bits that the symbols take, if more than one is used.
func CodedBits(lengths []uint8, counts []uint32) (n int) {
	for i, c := range counts {
		n += int(c) * int(lengths[i])
	}
	return n
}

// smoothedCounts replaces the counts of four neighbours or more, none of them 0, that differ by
// no more than tolerance sixteenths of their mean, or 1, by the mean.
func smoothedCounts(counts []uint32, tolerance uint32) []uint32 {
	out := slices.Clone(counts)
	for i := 0; i < len(counts); {
		sum, least, most := uint64(counts[i]), counts[i], counts[i]
		j := i + 1
		for ; least > 0 && j < len(counts); j++ {
			c := counts[j]
			lo, hi := min(least, c), max(most, c)
			if c == 0 || uint64(hi-lo)*16*uint64(j-i+1) > max(16*uint64(j-i+1), (sum+uint64(c))*uint64(tolerance)) {
				break
			}
			sum, least, most = sum+uint64(c), lo, hi
		}
		if n := uint64(j - i); n >= 4 {
			for k := i; k < j; k++ {
				out[k] = uint32((sum + n/2) / n)
			}
		}
		i = j
	}
	return out
}
