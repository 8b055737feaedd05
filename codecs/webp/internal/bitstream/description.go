package bitstream

import "math/bits"

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

// same is n neighbours of one length.
type same struct {
	n      int32
	length uint8
}

// neighbours divides lengths, and appends the parts to out.
func neighbours(out []same, lengths []uint8) []same {
	for i := 0; i < len(lengths); {
		v := lengths[i]
		from := i
		for i++; i < len(lengths) && lengths[i] == v; i++ {
		}
		out = append(out, same{int32(i - from), v})
	}
	return out
}

// runs codes lengths with the fewest bits where meta has the lengths of the codes.
func runs(out []run, lengths []same, meta *[19]uint8) []run {
	last := uint8(8)
	for _, s := range lengths {
		n, v := int(s.n), s.length
		if v == 0 {
			out = zeros(out, n, meta)
			continue
		}
		if v != last {
			out = append(out, run{symbol: v})
			last = v
			n--
		}
		if n > 0 {
			out = repeats(out, n, v, repeatLength, meta)
		}
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

// bestRepeats returns how many runs of symbol, the fewest, code n times v with the fewest
// bits, and these. The cost of k runs is linear in k as long as each is as long as can be,
// so that none is best, or as many as fit, or one more where those can share n.
func bestRepeats(n int, v, symbol uint8, meta *[19]uint8) (runs, bits int) {
	run, single := cost(symbol, meta), cost(v, meta)
	most := runMost[symbol]
	bits = n * single
	k := n / most
	if c := k*run + (n-k*most)*single; k > 0 && c < bits {
		runs, bits = k, c
	}
	if k++; k*most-n < most && k*runLeast[symbol] <= n {
		if c := k * run; c < bits {
			runs, bits = k, c
		}
	}
	return runs, bits
}

// repeats codes n times v, with symbol where that is cheaper.
func repeats(out []run, n int, v, symbol uint8, meta *[19]uint8) []run {
	best, _ := bestRepeats(n, v, symbol, meta)
	single := max(0, n-best*runMost[symbol])
	out = longRuns(out, n-single, best, symbol)
	for range single {
		out = append(out, run{symbol: v})
	}
	return out
}

// longRuns codes n by k runs of symbol.
func longRuns(out []run, n, k int, symbol uint8) []run {
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
		_, c := bestRepeats(rest, 0, repeatZero, meta)
		if c += long * cost(repeatZeros, meta); c < bestCost {
			best, bestCost = long, c
		}
		if rest == 0 {
			break
		}
	}
	rest := max(0, n-best*runMost[repeatZeros])
	return repeats(longRuns(out, n-rest, best, repeatZeros), rest, 0, repeatZero, meta)
}

// description is a prefix code as it is written.
type description struct {
	symbols [2]int    // of a simple code
	simple  int       // how many, 0 for a normal code
	meta    [19]uint8 // lengths of the code length code
	stored  int       // how many of them are written
	runs    []run
	short   bool // the number of runs is written, because zeros follow that are not
	Bits    int  // of all
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
		d.Bits = 4
		if d.symbols[0] > 1 {
			d.Bits += 7
		}
		if used == 2 {
			d.Bits += 8
		}
		return d
	}
	end := len(lengths)
	for end > 0 && lengths[end-1] == 0 {
		end--
	}
	single := description{runs: make([]run, end, len(lengths))}
	for i, l := range lengths[:end] {
		single.runs[i].symbol = l
	}
	single.code(end < len(lengths))
	d = single
	// With the zeros at the end and without, from the costs of a usual code and from
	// those of this one without runs.
	var room [256 + 24]same // of all symbols but those of a cache, see RFC 9649, 6.2.3
	all := room[:0]
	if len(lengths) > len(room) {
		all = make([]same, 0, len(lengths))
	}
	all = neighbours(all, lengths)
	spare := make([]run, 0, len(lengths)) // where the next try is made, as d has the best one
	for _, n := range [2]int{len(lengths), end} {
		for _, meta := range [2][19]uint8{startLengths, single.meta} {
			for range 2 {
				e := description{runs: runs(spare, all, &meta)}
				e.code(n < len(lengths))
				if e.Bits < d.Bits {
					d, spare = e, d.runs[:0]
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
		all = all[:len(all)-1]
	}
	return d
}

// code makes the code length code of the runs and counts bits. Where runs are left out
// behind them, zeros, their number is written.
func (d *description) code(short bool) {
	if d.short = short; short && len(d.runs) < 2 {
		d.Bits = 1 << 30 // their number cannot be written
		return
	}
	var counts [19]uint32
	for _, r := range d.runs {
		counts[r.symbol]++
	}
	codeLengths(counts[:], maxMetaLength, d.meta[:], new([lengthsMemory]uint64))
	d.stored = 19
	for d.stored > 4 && d.meta[codeLengthOrder[d.stored-1]] == 0 {
		d.stored--
	}
	d.Bits = 1 + 4 + 3*d.stored + 1
	kinds := 0
	for s, n := range counts {
		d.Bits += int(n) * int(d.meta[s]+runExtra[s])
		if n > 0 {
			kinds++
		}
	}
	if kinds == 1 { // takes no bits
		d.Bits -= len(d.runs)
	}
	if d.short {
		d.Bits += 3 + int(d.countBits())
	}
}

// countBits is the size of the number of runs less 2: even, 2 to 16.
func (d *description) countBits() uint {
	return max(2, (uint(bits.Len(uint(len(d.runs)-2)))+1)&^1)
}

// CodeLengthBits is the cost of writing the prefix code of the given lengths, in bits.
func CodeLengthBits(lengths []uint8) int {
	d := describe(lengths)
	return d.Bits
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
	var codes [19]Code
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
