package bitstream

import (
	"encoding/binary"
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

	leaves [mostSymbols + 2]uint64  // two more than there are, to end the queue
	packed [mostSymbols + 16]uint32 // leaves, and behind them what vectors write
	next   [mostSymbols]uint64
	nodes  [mostSymbols + 2]uint64 // weights
	taken  [mostSymbols]uint16     // by node: how many nodes it and those before it have joined
	alike  [mostSymbols]same       // of a description
	runs   [mostSymbols]run        // of a description
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

// CodeShape is what there is to know of a code besides its lengths.
type CodeShape struct {
	Used    int    // symbols that occur
	Longest uint8  // length
	Sum     uint64 // of the counts
}

// SetCodeLengths sets lengths, one for each of counts, to those that CodeLengths returns.
func SetCodeLengths(lengths []uint8, counts []uint32, most int) CodeShape {
	m := memories.Get().(*codeMemory)
	defer memories.Put(m)
	return m.codeLengths(counts, most, lengths)
}

// codeLengths is SetCodeLengths.
func (m *codeMemory) codeLengths(counts []uint32, most int, lengths []uint8) CodeShape {
	clear(lengths)
	n := m.sortedLeaves(counts)
	leaves := m.leaves[:n]
	switch n {
	case 0:
		return CodeShape{}
	case 1:
		lengths[leaves[0]&4095] = 1
		return CodeShape{1, 1, leaves[0] >> 12}
	}
	m.join(n)
	shape := CodeShape{n, 0, m.nodes[n-2]}
	// Nodes are joined in the order in which they are made, and so are leaves: each level of the tree has the nodes before those
	// of the level above, and the commonest leaves that are left. The root is the last node.
	from, inner := n-2, 1 // the first node of a level, and how many nodes it has
	for end := n; ; {
		below := 0 // the first node of the next level
		if from > 0 {
			below = int(m.taken[from-1])
		}
		if shape.Longest++; int(shape.Longest) > most {
			clear(lengths)
			limitedLengths(leaves, most, lengths)
			shape.Longest = uint8(most)
			return shape
		}
		for outer := 2*inner - (from - below); outer > 0; outer-- {
			end--
			lengths[leaves[end]&4095] = shape.Longest
		}
		if end == 0 {
			return shape
		}
		from, inner = below, from-below
	}
}

// sortedLeaves makes the leaves of counts, the lightest first, and returns how many there are.
func (m *codeMemory) sortedLeaves(counts []uint32) int {
	if n, ok := m.vectorLeaves(counts); ok {
		return n
	}
	n, all := m.takeLeaves(counts)
	sortLeaves(m.leaves[:n], m.next[:n], bits.Len32(all))
	return n
}

// takeLeaves makes the leaves of counts, by symbol, which has 12 bits, and the count above. It returns how many there are, and
// all bits of the counts.
func (m *codeMemory) takeLeaves(counts []uint32) (n int, all uint32) {
	// Whether a symbol occurs is no branch, as it cannot be foreseen, but mostly not eight of them together.
	const together = 8
	s := 0
	for ; s+together <= len(counts); s += together {
		c := (*[together]uint32)(counts[s:])
		any := c[0] | c[1] | c[2] | c[3] | c[4] | c[5] | c[6] | c[7]
		if any == 0 {
			continue
		}
		all |= any
		for k, v := range c {
			m.leaves[n] = uint64(v)<<12 | uint64(s+k)
			if v > 0 {
				n++
			}
		}
	}
	for ; s < len(counts); s++ {
		v := counts[s]
		all |= v
		m.leaves[n] = uint64(v)<<12 | uint64(s)
		if v > 0 {
			n++
		}
	}
	return n, all
}

// join makes the n - 1 nodes of Huffman's algorithm for n sorted leaves with two queues,
// leaves and nodes in the order in which they are made. Of equal weights the leaf goes
// first, which keeps codes short. Which queue goes first cannot be foreseen, so there is no
// branch: the comparisons become masks.
func (m *codeMemory) join(n int) {
	leaves, nodes, taken := m.leaves[:n+2], m.nodes[:n+1], m.taken[:n-1]
	leaves[n], leaves[n+1] = math.MaxUint64, math.MaxUint64
	nodes[0], nodes[1] = math.MaxUint64, math.MaxUint64
	i, j := uint64(0), uint64(0)
	for k := range taken {
		leaf, leaf2 := leaves[i]>>12, leaves[i+1]>>12
		node, node2 := nodes[j], nodes[j+1]
		_, one := bits.Sub64(node, leaf2, 0) // 1 where a node or two are joined
		_, two := bits.Sub64(node2, leaf, 0) // 1 where two are
		first := leaf ^ (leaf^node)&-two
		second := leaf2 ^ (leaf2^node^(node^node2)&-two)&-one
		nodes[k+2] = math.MaxUint64
		nodes[k] = first + second
		i += 2 - one - two
		j += one + two
		taken[k] = uint16(j)
	}
}

// sortLeaves sorts leaves of counts of so many bits, which are in the order of their symbols.
// next is memory of the same size.
func sortLeaves(leaves, next []uint64, countBits int) {
	const (
		mostDigit = 8
		few       = 24 // that are sorted sooner by comparing
	)
	digit := max(1, (countBits+1)/2)
	if len(leaves) <= few {
		sortFew(leaves)
		return
	}
	if digit > mostDigit {
		slices.Sort(leaves)
		return
	}
	// By the low digit of the counts to next and by the high one back, from both ends at once: the place of a leaf has to be waited
	// for where the one before had the same digit, and most counts have the same high one.
	var lows, highs [2][1 << mostDigit]uint16
	mask, shift := uint64(1)<<digit-1, 12+digit
	half := len(leaves) / 2
	for i, v := range leaves[:half] {
		w := leaves[len(leaves)-1-i]
		lows[0][v>>12&mask]++
		lows[1][w>>12&mask]++
		highs[0][v>>shift&mask]++
		highs[1][w>>shift&mask]++
	}
	if v := leaves[half]; len(leaves)%2 > 0 {
		lows[0][v>>12&mask]++
		highs[0][v>>shift&mask]++
	}
	// From then on the first place of a digit, and the one behind its last.
	a, b := uint16(0), uint16(0)
	for i := range mask + 1 {
		nextA, nextB := a+lows[0][i]+lows[1][i], b+highs[0][i]+highs[1][i]
		lows[0][i], lows[1][i] = a, nextA
		highs[0][i], highs[1][i] = b, nextB
		a, b = nextA, nextB
	}
	distribute := func(to, from []uint64, places *[2][1 << mostDigit]uint16, shift int) {
		from = from[:len(to)]
		for i, v := range from[:half] {
			at := &places[0][v>>shift&mask]
			to[*at] = v
			*at++
			w := from[len(from)-1-i]
			at = &places[1][w>>shift&mask]
			*at--
			to[*at] = w
		}
		if v := from[half]; len(from)%2 > 0 {
			to[places[0][v>>shift&mask]] = v
		}
	}
	distribute(next[:len(leaves)], leaves, &lows, 12)
	distribute(leaves, next, &highs, shift)
}

// sortFew is sortLeaves by comparing.
func sortFew(leaves []uint64) {
	for i := 1; i < len(leaves); i++ {
		v := leaves[i]
		k := i
		for ; k > 0 && leaves[k-1] > v; k-- {
			leaves[k] = leaves[k-1]
		}
		leaves[k] = v
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

// BestCode returns the lengths, and how they are written, with the fewest bits for the
// code and its counts together: those of an optimal code or, where the code itself
// weighs, of one for counts evened out where neighbours are alike, whose lengths make
// longer runs.
func BestCode(counts []uint32) ([]uint8, description) {
	lengths := make([]uint8, len(counts))
	d, _ := setBestCode(lengths, counts)
	return lengths, d
}

// setBestCode sets lengths, one for each of counts, to those that BestCode returns. It returns how they are written, in the memory
// of lengths, and CodedBits.
func setBestCode(lengths []uint8, counts []uint32) (d description, body int) {
	m := memories.Get().(*codeMemory)
	defer memories.Put(m)
	m.codeLengths(counts, MaxCodeLength, lengths)
	d = m.describe(lengths)
	body = CodedBits(lengths, counts)
	if 8*d.Bits < body || d.simple > 0 {
		return d, body
	}
	best := lengths
	for _, tolerance := range [...]uint32{2, 5, 8} {
		smoothed, other := smoothedCounts(counts, tolerance)
		if !other {
			continue
		}
		tried := make([]uint8, len(counts))
		m.codeLengths(smoothed, MaxCodeLength, tried)
		if slices.Equal(tried, best) {
			continue
		}
		if e, b := m.describe(tried), CodedBits(tried, counts); e.Bits+b < d.Bits+body {
			best, d, body = tried, e, b
		}
	}
	copy(lengths, best)
	d.lengths = lengths[:len(d.lengths)]
	return d, body
}

// CodedBits is the bits that the symbols take, if more than one is used.
func CodedBits(lengths []uint8, counts []uint32) (n int) {
	for ; len(lengths) >= 8 && len(counts) >= 8; lengths, counts = lengths[8:], counts[8:] {
		l, c := (*[8]uint8)(lengths), (*[8]uint32)(counts)
		if binary.LittleEndian.Uint64(l[:]) == 0 {
			continue
		}
		for i, v := range c {
			n += int(v) * int(l[i])
		}
	}
	for i, c := range counts {
		n += int(c) * int(lengths[i])
	}
	return n
}

// smoothedCounts replaces the counts of four neighbours or more, none of them 0, that differ by
// no more than tolerance sixteenths of their mean, or 1, by the mean. It says whether any of them is another one then.
func smoothedCounts(counts []uint32, tolerance uint32) (out []uint32, other bool) {
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
		if n := uint64(j - i); n >= 4 && least < most {
			if !other {
				out, other = slices.Clone(counts), true
			}
			for k := i; k < j; k++ {
				out[k] = uint32((sum + n/2) / n)
			}
		}
		i = j
	}
	return out, other
}
