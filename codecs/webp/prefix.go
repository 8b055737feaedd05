package webp

import (
	"math/bits"
	"slices"
)

const (
	maxCodeLength = 15 // of a symbol
	maxMetaLength = 7  // of a code length's code
)

// codeLengths returns the lengths of an optimal prefix code for counts of which no
// code is longer than most. Symbols that do not occur have length 0; a lone symbol has
// length 1.
func codeLengths(counts []uint32, most int) []uint8 {
	lengths := make([]uint8, len(counts))
	n := 0
	for _, c := range counts {
		if c > 0 {
			n++
		}
	}
	if n == 0 {
		return lengths
	}
	// Leaves by count and then symbol, which has 12 bits.
	memory := make([]uint64, 3*n)
	leaves, nodes := memory[:0:n], memory[n:2*n]
	for s, c := range counts {
		if c > 0 {
			leaves = append(leaves, uint64(c)<<12|uint64(s))
		}
	}
	slices.Sort(leaves)
	if n == 1 {
		lengths[leaves[0]&4095] = 1
		return lengths
	}
	// Huffman's algorithm with two queues, leaves and nodes in the order in which they
	// are made. Of equal weights the leaf goes first, which keeps codes short.
	parent := make([]int32, 2*n) // of leaves and then of nodes
	for k, i, j := 0, 0, 0; k < n-1; k++ {
		sum := uint64(0)
		for range 2 {
			if j >= k || i < n && leaves[i]>>12 <= nodes[j] {
				sum += leaves[i] >> 12
				parent[i] = int32(k)
				i++
			} else {
				sum += nodes[j]
				parent[n+j] = int32(k)
				j++
			}
		}
		nodes[k] = sum
	}
	depth := memory[2*n:]
	depth[n-2] = 0
	for k := n - 3; k >= 0; k-- {
		depth[k] = depth[parent[n+k]] + 1
	}
	// The rarest leaf is as deep as any.
	if depth[parent[0]]+1 > uint64(most) {
		limitedLengths(leaves, most, lengths)
		return lengths
	}
	for i, l := range leaves {
		lengths[l&4095] = uint8(depth[parent[i]] + 1)
	}
	return lengths
}

// limitedLengths is codeLengths where Huffman's code is too deep, by the package-merge
// of Larmore and Hirschberg (1990). Row r holds leaves, and packages of two of row r-1,
// by weight. The first 2n-2 items of the last row are bought; a leaf's length is how
// often it was.
func limitedLengths(leaves []uint64, most int, lengths []uint8) {
	n := len(leaves)
	type item struct {
		weight uint64
		leaf   int // -1 for a package
	}
	rows := make([][]item, most)
	for r := range rows {
		var packages []uint64
		if r > 0 {
			for last := rows[r-1]; len(last) > 1; last = last[2:] {
				packages = append(packages, last[0].weight+last[1].weight)
			}
		}
		row := make([]item, 0, n+len(packages))
		for l := 0; l < n || len(packages) > 0; {
			if len(packages) == 0 || l < n && leaves[l]>>12 <= packages[0] {
				row = append(row, item{leaves[l] >> 12, l})
				l++
			} else {
				row = append(row, item{packages[0], -1})
				packages = packages[1:]
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
				lengths[leaves[it.leaf]&4095]++
			}
		}
		take = 2 * packages
	}
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

// Symbols of runs, the least and most that they repeat, and their extra bits (RFC 9649,
// 3.7.2.1.2).
const (
	repeatLength = 16
	repeatZero   = 17
	repeatZeros  = 18
)

var (
	runLeast = [19]int{16: 3, 17: 3, 18: 11}
	runMost  = [19]int{16: 6, 17: 10, 18: 138}
	runExtra = [19]uint8{16: 2, 17: 3, 18: 7}
)

// startLengths are rough costs of the symbols of runs, for the first choice.
var startLengths = [19]uint8{4, 6, 6, 5, 5, 4, 4, 4, 4, 4, 4, 5, 6, 6, 7, 7, 4, 4, 4}

// runs codes lengths with the fewest bits where meta has the lengths of the codes.
func runs(out []run, lengths []uint8, meta *[19]uint8) []run {
	last := uint8(8)
	for i := 0; i < len(lengths); {
		v := lengths[i]
		n := 1
		for i+n < len(lengths) && lengths[i+n] == v {
			n++
		}
		i += n
		if v == 0 {
			out = zeros(out, n, meta)
			continue
		}
		if v != last {
			out = append(out, run{symbol: v})
			last = v
			n--
		}
		out = repeats(out, n, v, repeatLength, meta)
	}
	return out
}

// cost is the bits of a symbol of runs. One that has no code yet is dear.
func cost(symbol uint8, meta *[19]uint8) int {
	if meta[symbol] == 0 {
		return 12 + int(runExtra[symbol])
	}
	return int(meta[symbol] + runExtra[symbol])
}

// repeats codes n times v, with symbol where that is cheaper.
func repeats(out []run, n int, v, symbol uint8, meta *[19]uint8) []run {
	best, bestCost := 0, 1<<30
	for k := 0; k*runLeast[symbol] <= n; k++ {
		single := max(0, n-k*runMost[symbol])
		if c := k*cost(symbol, meta) + single*cost(v, meta); c < bestCost {
			best, bestCost = k, c
		}
		if single == 0 {
			break
		}
	}
	single := max(0, n-best*runMost[symbol])
	out = spread(out, n-single, best, symbol)
	for range single {
		out = append(out, run{symbol: v})
	}
	return out
}

// spread codes n by k runs of symbol.
func spread(out []run, n, k int, symbol uint8) []run {
	for ; k > 0; k-- {
		m := min(runMost[symbol], n-(k-1)*runLeast[symbol])
		out = append(out, run{symbol, uint8(m - runLeast[symbol])})
		n -= m
	}
	return out
}

// zeros codes n zeros.
func zeros(out []run, n int, meta *[19]uint8) []run {
	best, bestCost := 0, 1<<30
	for long := 0; long*runLeast[repeatZeros] <= n; long++ {
		rest := max(0, n-long*runMost[repeatZeros])
		c := long * cost(repeatZeros, meta)
		least := 1 << 30
		for short := 0; short*runLeast[repeatZero] <= rest; short++ {
			least = min(least, short*cost(repeatZero, meta)+max(0, rest-short*runMost[repeatZero])*cost(0, meta))
		}
		if c += least; c < bestCost {
			best, bestCost = long, c
		}
		if rest == 0 {
			break
		}
	}
	rest := max(0, n-best*runMost[repeatZeros])
	return repeats(spread(out, n-rest, best, repeatZeros), rest, 0, repeatZero, meta)
}

// description is a prefix code as it is written.
type description struct {
	symbols [2]int    // of a simple code
	simple  int       // how many, 0 for a normal code
	meta    [19]uint8 // lengths of the code length code
	stored  int       // how many of them are written
	runs    []run
	short   bool // the number of runs is written, because zeros follow that are not
	bits    int  // of all
}

// describe finds a short way to write the prefix code of the given lengths.
func describe(lengths []uint8) (d description) {
	used := 0
	for s, l := range lengths {
		if l > 0 {
			if used < 2 {
				d.symbols[used] = s
			}
			if used++; used > 2 {
				break
			}
		}
	}
	if used <= 2 && (used == 0 || d.symbols[used-1] < 256) {
		d.simple = max(used, 1)
		d.bits = 4
		if d.symbols[0] > 1 {
			d.bits += 7
		}
		if used == 2 {
			d.bits += 8
		}
		return d
	}
	end := len(lengths)
	for end > 0 && lengths[end-1] == 0 {
		end--
	}
	single := description{runs: make([]run, end)}
	for i, l := range lengths[:end] {
		single.runs[i].symbol = l
	}
	single.code(end < len(lengths))
	d = single
	// With the zeros at the end and without, from the costs of a usual code and from
	// those of this one without runs.
	for _, n := range [2]int{len(lengths), end} {
		for _, meta := range [2][19]uint8{startLengths, single.meta} {
			for range 2 {
				e := description{runs: runs(make([]run, 0, n), lengths[:n], &meta)}
				e.code(n < len(lengths))
				if e.bits < d.bits {
					d = e
				}
				if e.meta == meta {
					break
				}
				meta = e.meta
			}
		}
		if end == len(lengths) {
			break
		}
	}
	return d
}

// code makes the code length code of the runs and counts bits. Where runs are left out
// behind them, zeros, their number is written.
func (d *description) code(short bool) {
	if d.short = short; short && len(d.runs) < 2 {
		d.bits = 1 << 30 // their number cannot be written
		return
	}
	var counts [19]uint32
	for _, r := range d.runs {
		counts[r.symbol]++
	}
	copy(d.meta[:], codeLengths(counts[:], maxMetaLength))
	d.stored = 19
	for d.stored > 4 && d.meta[codeLengthOrder[d.stored-1]] == 0 {
		d.stored--
	}
	d.bits = 1 + 4 + 3*d.stored + 1
	kinds := 0
	for s, n := range counts {
		d.bits += int(n) * int(d.meta[s]+runExtra[s])
		if n > 0 {
			kinds++
		}
	}
	if kinds == 1 { // takes no bits
		d.bits -= len(d.runs)
	}
	if d.short {
		d.bits += 3 + int(d.countBits())
	}
}

// countBits is the size of the number of runs less 2: even, 2 to 16.
func (d *description) countBits() uint {
	return max(2, (uint(bits.Len(uint(len(d.runs)-2)))+1)&^1)
}

// codeBits is the cost of writing the prefix code of the given lengths, in bits.
func codeBits(lengths []uint8) int {
	d := describe(lengths)
	return d.bits
}

// write writes the prefix code (RFC 9649, 3.7.2.1).
func (d *description) write(w *bitWriter) {
	if d.simple > 0 {
		d.writeSimple(w)
		return
	}
	w.put(0, 1)
	w.put(uint64(d.stored-4), 4)
	for _, s := range codeLengthOrder[:d.stored] {
		w.put(uint64(d.meta[s]), 3)
	}
	if d.short {
		n := d.countBits()
		w.put(1, 1)
		w.put(uint64(n/2-1), 3)
		w.put(uint64(len(d.runs)-2), n)
	} else {
		w.put(0, 1)
	}
	var codes [19]code
	makeCodes(d.meta[:], codes[:])
	for _, r := range d.runs {
		c := codes[r.symbol]
		w.put(uint64(c>>4), uint(c&15))
		w.put(uint64(r.extra), uint(runExtra[r.symbol]))
	}
}

// writeSimple writes a code of one or two symbols below 256 (RFC 9649, 3.7.2.1.1).
func (d *description) writeSimple(w *bitWriter) {
	w.put(1, 1)
	w.put(uint64(d.simple-1), 1)
	if d.symbols[0] <= 1 {
		w.put(0, 1)
		w.put(uint64(d.symbols[0]), 1)
	} else {
		w.put(1, 1)
		w.put(uint64(d.symbols[0]), 8)
	}
	if d.simple == 2 {
		w.put(uint64(d.symbols[1]), 8)
	}
}

// bestCode returns the lengths, and how they are written, with the fewest bits for the
// code and its counts together: those of an optimal code or, where the code itself
// weighs, of one for counts evened out where neighbours are alike, whose lengths make
// longer runs.
func bestCode(counts []uint32) ([]uint8, description) {
	best := codeLengths(counts, maxCodeLength)
	d := describe(best)
	body := sizeOf(best, counts)
	if 8*d.bits < body || d.simple > 0 {
		return best, d
	}
	for _, tolerance := range [...]uint32{2, 5, 8} {
		lengths := codeLengths(evened(counts, tolerance), maxCodeLength)
		if e, b := describe(lengths), sizeOf(lengths, counts); e.bits+b < d.bits+body {
			best, d, body = lengths, e, b
		}
	}
	return best, d
}

// sizeOf is the bits that the symbols take, if more than one is used.
func sizeOf(lengths []uint8, counts []uint32) (n int) {
	for i, c := range counts {
		n += int(c) * int(lengths[i])
	}
	return n
}

// evened replaces the counts of four neighbours or more, none of them 0, that differ by
// no more than tolerance sixteenths of their mean, or 1, by the mean.
func evened(counts []uint32, tolerance uint32) []uint32 {
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
