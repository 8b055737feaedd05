package webp

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	maxCodeLength = 15 // of a symbol
	maxMetaLength = 7  // of a code length's code
)

// codeLengths returns the lengths of an optimal prefix code for counts of which no
// code is longer than most, by the package-merge of Larmore and Hirschberg (1990)
// where Huffman's code is too deep. Symbols that do not occur have length 0; a lone
// symbol has length 1.
func codeLengths(counts []uint32, most int) []uint8 {
	type leaf struct {
		count  uint32
		symbol int
	}
	lengths := make([]uint8, len(counts))
	var leaves []leaf
	for s, c := range counts {
		if c > 0 {
			leaves = append(leaves, leaf{c, s})
		}
	}
	n := len(leaves)
	if n == 0 {
		return lengths
	}
	if n == 1 {
		lengths[leaves[0].symbol] = 1
		return lengths
	}
	slices.SortFunc(leaves, func(a, b leaf) int {
		if c := cmp.Compare(a.count, b.count); c != 0 {
			return c
		}
		return cmp.Compare(a.symbol, b.symbol)
	})
	// Huffman's algorithm with two queues: leaves, and nodes in the order they are made.
	weight := make([]uint64, 2*n-1)
	parent := make([]int, 2*n-1)
	for i, l := range leaves {
		weight[i] = uint64(l.count)
	}
	i, j := 0, n
	for k := n; k < 2*n-1; k++ {
		for range 2 {
			var at int
			if j >= k || i < n && weight[i] <= weight[j] {
				at, i = i, i+1
			} else {
				at, j = j, j+1
			}
			weight[k] += weight[at]
			parent[at] = k
		}
	}
	depth := make([]int, 2*n-1)
	deepest := 0
	for k := 2*n - 3; k >= 0; k-- {
		depth[k] = depth[parent[k]] + 1
		deepest = max(deepest, depth[k])
	}
	if deepest <= most {
		for i, l := range leaves {
			lengths[l.symbol] = uint8(depth[i])
		}
		return lengths
	}
	// Package-merge: row r holds leaves and packages of two of row r-1, by weight. The
	// first 2n-2 items of the last row are bought; a leaf's length is how often it was.
	type item struct {
		weight uint64
		leaf   int // -1 for a package
	}
	rows := make([][]item, most)
	for r := range rows {
		var packages []item
		if r > 0 {
			for p := 0; p+1 < len(rows[r-1]); p += 2 {
				packages = append(packages, item{rows[r-1][p].weight + rows[r-1][p+1].weight, -1})
			}
		}
		row := make([]item, 0, n+len(packages))
		for l, p := 0, 0; l < n || p < len(packages); {
			if p == len(packages) || l < n && uint64(leaves[l].count) <= packages[p].weight {
				row = append(row, item{uint64(leaves[l].count), l})
				l++
			} else {
				row = append(row, packages[p])
				p++
			}
		}
		rows[r] = row
	}
	take := 2*n - 2
	for r := most - 1; r >= 0; r-- {
		packages := 0
		for _, it := range rows[r][:take] {
			if it.leaf < 0 {
				packages++
			} else {
				lengths[leaves[it.leaf].symbol]++
			}
		}
		take = 2 * packages
	}
	return lengths
}

// canonical returns the codes of the given lengths, bits reversed so that they can be
// put as they are (RFC 9649, 3.7.2).
func canonical(lengths []uint8) []uint16 {
	var count, next [maxCodeLength + 2]int
	for _, l := range lengths {
		count[l]++
	}
	count[0] = 0
	for l := 1; l <= maxCodeLength; l++ {
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

// codeLengthOrder is the order in which the lengths of the code length code are
// written (RFC 9649, 3.7.2.1.2).
var codeLengthOrder = [19]int{17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// run is a symbol of the code length code: a length, or 16 to repeat the last length
// that was not zero, or 17 and 18 for zeros.
type run struct {
	symbol uint8
	extra  uint8
}

var runExtraBits = [19]uint{16: 2, 17: 3, 18: 7}

// runs codes lengths as they are written.
func runs(lengths []uint8) []run {
	var out []run
	last := uint8(8)
	for i := 0; i < len(lengths); {
		v := lengths[i]
		n := 1
		for i+n < len(lengths) && lengths[i+n] == v {
			n++
		}
		i += n
		if v == 0 {
			for n >= 11 {
				k := min(n, 138)
				out = append(out, run{18, uint8(k - 11)})
				n -= k
			}
			if n >= 3 {
				out = append(out, run{17, uint8(n - 3)})
				n = 0
			}
			for range n {
				out = append(out, run{0, 0})
			}
			continue
		}
		if v != last {
			out = append(out, run{v, 0})
			last = v
			n--
		}
		for n >= 3 {
			k := min(n, 6)
			out = append(out, run{16, uint8(k - 3)})
			n -= k
		}
		for range n {
			out = append(out, run{v, 0})
		}
	}
	return out
}

// writeCode writes the prefix code of the given lengths (RFC 9649, 3.7.2.1).
func writeCode(w *bitWriter, lengths []uint8) {
	var used []int
	for s, l := range lengths {
		if l > 0 {
			used = append(used, s)
			if len(used) > 2 {
				break
			}
		}
	}
	if len(used) <= 2 && (len(used) == 0 || used[len(used)-1] < 256) {
		writeSimpleCode(w, used)
		return
	}
	w.put(0, 1)
	list := runs(lengths)
	counts := make([]uint32, 19)
	for _, r := range list {
		counts[r.symbol]++
	}
	meta := codeLengths(counts, maxMetaLength)
	codes := canonical(meta)
	n := 19
	for n > 4 && meta[codeLengthOrder[n-1]] == 0 {
		n--
	}
	w.put(uint64(n-4), 4)
	only := 0
	for _, s := range codeLengthOrder[:n] {
		w.put(uint64(meta[s]), 3)
	}
	for _, l := range meta {
		if l > 0 {
			only++
		}
	}
	// Zeros at the end need not be written where the number of symbols says so.
	end, saved := len(list), 0
	for end > 0 && (list[end-1].symbol == 0 || list[end-1].symbol >= 17) {
		end--
		saved += int(meta[list[end].symbol]) + int(runExtraBits[list[end].symbol])
	}
	if only == 1 {
		saved = 0
	}
	if end > 1 && saved > 12 {
		// max_symbol counts symbols of the code length code.
		v := uint64(end - 2)
		width := uint(2)
		for v>>width > 0 {
			width += 2
		}
		w.put(1, 1)
		w.put(uint64(width/2-1), 3)
		w.put(v, width)
		list = list[:end]
	} else {
		w.put(0, 1)
	}
	for _, r := range list {
		if only > 1 {
			w.put(uint64(codes[r.symbol]), uint(meta[r.symbol]))
		}
		w.put(uint64(r.extra), runExtraBits[r.symbol])
	}
}

func writeSimpleCode(w *bitWriter, used []int) {
	if len(used) == 0 {
		used = []int{0}
	}
	w.put(1, 1)
	w.put(uint64(len(used)-1), 1)
	if used[0] <= 1 {
		w.put(0, 1)
		w.put(uint64(used[0]), 1)
	} else {
		w.put(1, 1)
		w.put(uint64(used[0]), 8)
	}
	if len(used) == 2 {
		w.put(uint64(used[1]), 8)
	}
}
