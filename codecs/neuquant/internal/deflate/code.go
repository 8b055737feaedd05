package deflate

import (
	"math/bits"
	"slices"
)

// code is the memory in which codes are made, and the description of a block's codes.
type code struct {
	leaves []uint32 // of the symbols that occur, by how often: that from 9 up, and the symbol
	room   [symbols]uint32
	sums   []uint64 // of the inner nodes and, after that, of packages
	lists  [maxBits][]uint64

	literals, far, opCount int // lengths of codes that are written, of each of the three codes
	opLengths              [lengthOps]uint8
}

// lengths sets out to the lengths of the best prefix code, of at most limit bits, for
// symbols that occur so often; 0 for those that do not. One symbol alone gets one bit, and
// without any the first two symbols get one, because some readers want a whole code.
func (c *code) lengths(out []uint8, counts []uint32, limit int) {
	clear(out)
	c.leaves = c.leaves[:0]
	for i, n := range counts {
		if n > 0 {
			c.leaves = append(c.leaves, n<<9|uint32(i))
		}
	}
	switch len(c.leaves) {
	case 0:
		out[0], out[1] = 1, 1
		return
	case 1:
		s := c.leaves[0] & 511
		out[s] = 1
		if s == 0 {
			out[1] = 1
		} else {
			out[0] = 1
		}
		return
	}
	c.sort()
	if c.huffman(out) > limit {
		c.packages(out, limit)
	}
}

// fewLeaves is up to how many leaves comparing them takes less time than counting.
const fewLeaves = 48

// sort puts the leaves, which are by symbol, into order by how often these occur.
func (c *code) sort() {
	if len(c.leaves) <= fewLeaves {
		slices.Sort(c.leaves)
		return
	}
	from, to := c.leaves, c.room[:len(c.leaves)]
	all := uint32(0)
	for _, l := range from {
		all |= l
	}
	for shift := 9; all>>shift != 0; shift += 8 {
		var at [256]uint16
		for _, l := range from {
			at[l>>(shift&31)&255]++
		}
		n := uint16(0)
		for i, k := range at {
			at[i] = n
			n += k
		}
		for _, l := range from {
			p := &at[l>>(shift&31)&255]
			to[*p] = l
			*p++
		}
		from, to = to, from
	}
	copy(c.leaves, from)
}

// huffman sets the lengths of Huffman's code and returns the longest (Moffat and
// Katajainen, "In-place calculation of minimum-redundancy codes", 1995).
func (c *code) huffman(out []uint8) int {
	n := len(c.leaves)
	a := c.sums[:0]
	for _, l := range c.leaves {
		a = append(a, uint64(l>>9))
	}
	c.sums = a
	// Sums of inner nodes, then their parents in their places.
	leaf, root := 0, 0
	take := func(next int) (v uint64) {
		if leaf >= n || root < next && a[root] < a[leaf] {
			v = a[root]
			a[root] = uint64(next)
			root++
			return v
		}
		v = a[leaf]
		leaf++
		return v
	}
	for next := range n - 1 {
		v := take(next)
		v += take(next)
		a[next] = v
	}
	// Depths of inner nodes.
	a[n-2] = 0
	for i := n - 3; i >= 0; i-- {
		a[i] = a[a[i]] + 1
	}
	// Depths of leaves, the most frequent first.
	free, depth, inner, at := 1, 0, n-2, n-1
	for free > 0 {
		used := 0
		for inner >= 0 && int(a[inner]) == depth {
			used++
			inner--
		}
		for ; free > used; free-- {
			out[c.leaves[at]&511] = uint8(depth)
			at--
		}
		free, depth = 2*used, depth+1
	}
	return depth - 1
}

// packages sets the lengths of the best code of at most limit bits (Larmore and Hirschberg,
// "A fast algorithm for optimal length-limited Huffman codes", 1990): each list is the
// leaves and the pairs of the list before, by weight, and a leaf is as long as lists have
// it among what the pairs that are taken are made of.
func (c *code) packages(out []uint8, limit int) {
	n := len(c.leaves)
	const leaf = 1 << 63
	for i := range limit {
		list, before := c.lists[i][:0], []uint64(nil)
		if i > 0 {
			before = c.lists[i-1]
		}
		pair, at := 0, 0
		for at < n || pair+1 < len(before) {
			sum := uint64(leaf)
			if pair+1 < len(before) {
				sum = before[pair]&^leaf + before[pair+1]&^leaf
			}
			if at < n && uint64(c.leaves[at]>>9) <= sum {
				list = append(list, leaf|uint64(c.leaves[at]>>9))
				at++
			} else {
				list = append(list, sum)
				pair += 2
			}
		}
		c.lists[i] = list
	}
	clear(out)
	take := 2*n - 2
	for i := limit - 1; i >= 0; i-- {
		at, pairs := 0, 0
		for _, v := range c.lists[i][:take] {
			if v&leaf != 0 {
				out[c.leaves[at]&511]++
				at++
			} else {
				pairs++
			}
		}
		take = 2 * pairs
	}
}

// assign sets codes to the bits of each symbol, in the order in which they are written,
// from 8 up, and how many there are (RFC 1951, 3.2.2).
func assign(codes []uint32, lengths []uint8) {
	var count, next [maxBits + 2]uint32
	for _, l := range lengths {
		count[l]++
	}
	count[0] = 0
	for l := 1; l <= maxBits; l++ {
		next[l+1] = (next[l] + count[l]) << 1
	}
	for i, l := range lengths {
		if l == 0 {
			if i < len(codes) {
				codes[i] = 0
			}
			continue
		}
		v := next[l]
		next[l]++
		if i < len(codes) {
			codes[i] = bits.Reverse32(v)>>(32-uint32(l))<<8 | uint32(l)
		}
	}
}
