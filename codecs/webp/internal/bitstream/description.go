package bitstream

import (
	"encoding/binary"
	"math"
	"math/bits"
)

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

// neighbours divides lengths, of which there are some, into parts. They lie in memory, which has
// room for as many as there are lengths.
func neighbours(memory []same, lengths []uint8) []same {
	start, k := 0, 0
	part := func(end int) {
		memory[k] = same{int32(end - start), lengths[start]}
		start = end
		k++
	}
	// Eight at a time: a byte of differs is not 0, but below 16, where a length differs from the one before.
	i, before := 0, uint64(lengths[0])
	for ; i+8 <= len(lengths); i += 8 {
		v := binary.LittleEndian.Uint64(lengths[i:])
		differs := v ^ (v<<8 | before)
		before = v >> 56
		for differs = (differs + 0x7f7f7f7f7f7f7f7f) & 0x8080808080808080; differs != 0; differs &= differs - 1 {
			part(i + bits.TrailingZeros64(differs)/8)
		}
	}
	for ; i < len(lengths); i++ {
		if v := uint64(lengths[i]); v != before {
			part(i)
			before = v
		}
	}
	part(len(lengths))
	return memory[:k]
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
	long := longZeros(n, meta)
	rest := max(0, n-long*runMost[repeatZeros])
	return repeats(longRuns(out, n-rest, long, repeatZeros), rest, 0, repeatZero, meta)
}

// longZeros returns how many runs of repeatZeros, the fewest, code n zeros with the fewest
// bits, the others by runs of repeatZero.
func longZeros(n int, meta *[19]uint8) int {
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
	return best
}

// description is a prefix code as it is written.
type description struct {
	symbols [2]int    // of a simple code
	simple  int       // how many, 0 for a normal code
	meta    [19]uint8 // lengths of the code length code
	stored  int       // how many of them are written
	lengths []uint8   // that are written, which the caller of describe keeps as they are
	single  bool      // each of them by itself, else in the runs that are best with chosen
	chosen  [19]uint8 // lengths of a code length code
	runs    int       // how many
	short   bool      // the number of runs is written, because zeros follow that are not
	Bits    int       // of all
}

// describe finds a short way to write the prefix code of the given lengths.
func describe(lengths []uint8) description {
	m := memories.Get().(*codeMemory)
	defer memories.Put(m)
	return m.describe(lengths)
}

func (m *codeMemory) describe(lengths []uint8) description {
	d, isSimple := simpleDescription(lengths)
	if isSimple {
		return d
	}
	p := divide(m.alike[:], lengths)
	d = m.describeSingly(&p, lengths)
	// With the zeros at the end and without, from the costs of a usual code and from
	// those of this one without runs. Both begin with the same runs.
	starts := [2][19]uint8{startLengths, d.meta}
	first := [2]tally{p.tally(&starts[0]), p.tally(&starts[1])}
	for _, n := range [2]int{len(lengths), p.end} {
		var seen [4]described
		tried := 0
		for i, meta := range starts {
			if i > 0 && first[0] == first[1] && n == p.end {
				break // what follows is the same, too
			}
			for try := range 2 {
				t := &seen[tried].tally
				if try == 0 {
					*t = first[i]
				} else {
					*t = p.tally(&meta)
				}
				if n > p.end {
					t.zeros(n-p.end, &meta)
				}
				k := 0
				for seen[k].tally != *t {
					k++
				}
				if k == tried {
					e := description{lengths: lengths[:n], chosen: meta}
					m.code(&e, t, n < len(lengths))
					if e.Bits < d.Bits {
						d = e
					}
					seen[k].meta = e.meta
					tried++
				}
				if seen[k].meta == meta {
					break
				}
				meta = seen[k].meta
			}
		}
		if p.end == len(lengths) {
			break
		}
	}
	return d
}

// described is a tally that describe has tried, and the lengths of the best code length code for it.
type described struct {
	tally tally
	meta  [19]uint8
}

// simpleDescription describes the prefix codes that can be written as simple ones.
func simpleDescription(lengths []uint8) (d description, ok bool) {
	used := 0
	for s := nextUsed(lengths, 0); s < len(lengths); s = nextUsed(lengths, s+1) {
		if used == 2 {
			return description{}, false
		}
		d.symbols[used] = s
		used++
	}
	if used > 0 && d.symbols[used-1] >= 256 {
		return description{}, false
	}
	d.simple = max(used, 1)
	d.Bits = 4
	if d.symbols[0] > 1 {
		d.Bits += 7
	}
	if used == 2 {
		d.Bits += 8
	}
	return d, true
}

// describeSingly describes the prefix code with the given parts of lengths without runs.
func (m *codeMemory) describeSingly(p *lengthParts, lengths []uint8) description {
	t := p.single
	for _, s := range p.long {
		t.add(s.length, int(s.n))
	}
	d := description{lengths: lengths[:p.end], single: true}
	m.code(&d, &t, p.end < len(lengths))
	return d
}

// code makes the code length code of the runs of d, which t counts, and counts bits. Where
// runs are left out behind them, zeros, their number is written.
func (m *codeMemory) code(d *description, t *tally, short bool) {
	d.runs = t.runs
	if d.short = short; short && d.runs < 2 {
		d.Bits = 1 << 30 // their number cannot be written
		return
	}
	// One description after the other often has the same runs.
	if t.counts != m.metaCounts {
		m.codeLengths(t.counts[:], maxMetaLength, m.meta[:])
		m.metaCounts = t.counts
	}
	d.meta = m.meta
	d.stored = 19
	for d.stored > 4 && d.meta[codeLengthOrder[d.stored-1]] == 0 {
		d.stored--
	}
	d.Bits = 1 + 4 + 3*d.stored + 1
	kinds := 0
	for s, n := range t.counts {
		d.Bits += int(n) * int(d.meta[s]+runExtra[s])
		if n > 0 {
			kinds++
		}
	}
	if kinds == 1 { // takes no bits
		d.Bits -= d.runs
	}
	if d.short {
		d.Bits += 3 + int(d.countBits())
	}
}

// countBits is the size of the number of runs less 2: even, 2 to 16.
func (d *description) countBits() uint {
	return max(2, (uint(bits.Len(uint(d.runs-2)))+1)&^1)
}

// CodeLengthBits is the cost of writing the prefix code of the given lengths, in bits.
func CodeLengthBits(lengths []uint8) int {
	d := describe(lengths)
	return d.Bits
}

// UsualLengthBits is the cost of writing the prefix code of the given lengths in the runs that suit
// a usual code, which CodeLengthBits does not exceed by looking for better ones.
func UsualLengthBits(lengths []uint8) int {
	m := memories.Get().(*codeMemory)
	defer memories.Put(m)
	d, isSimple := simpleDescription(lengths)
	if isSimple {
		return d.Bits
	}
	p := divide(m.alike[:], lengths)
	t := p.tally(&startLengths)
	m.code(&d, &t, p.end < len(lengths))
	return d.Bits
}

// occurringGo sets the bits of the symbols that occur, 64 in each of masks.
func occurringGo(masks []uint64, counts []uint32) {
	for k := 0; 64*k < len(counts); k++ {
		masks[k] = 0
		for i, v := range counts[64*k : min(64*k+64, len(counts))] {
			masks[k] |= uint64((uint64(v)+math.MaxUint32)>>32) << i
		}
	}
}

// MostCodeLengthBits is what CodeLengthBits of the code for counts does not exceed: that of a
// simple code or, of any other, the less of two: all lengths up to the last one in 4 bits each, for
// which a code length code has room, or the runs that suit a usual code, in a code length code of 2
// bits for a zero, 3 and 4 bits for the two kinds of runs of zeros, and 5 for anything else.
func MostCodeLengthBits(counts []uint32) int {
	var memory [(mostSymbols + 63) / 64]uint64
	masks := memory[:(len(counts)+63)/64]
	occurring(masks, counts)
	const (
		header = 1 + 4 + 3*19 + 1 // all but the runs
		number = 3 + 16           // how many there are
	)
	used, first, end := 0, 0, 0
	runs := header
	for k, mask := range masks {
		zeros := ^mask
		if left := len(counts) - 64*k; left < 64 {
			zeros &= 1<<left - 1
		}
		if mask != 0 {
			if used == 0 {
				first = 64*k + bits.TrailingZeros64(mask)
			}
			end = 64*k + bits.Len64(mask)
			n := bits.OnesCount64(mask)
			used += n
			runs += 5 * n
		}
		if zeros == 0 {
			continue
		}
		// One or two zeros are by themselves, up to ten take 3 + 3 bits, and more 4 + 7. One of these that goes on in the next
		// 64 symbols counts as two, which may be a bit less.
		starts := zeros &^ (zeros << 1)
		two := zeros & (zeros >> 1)
		three := two & (zeros >> 2)
		four := two & (two >> 2)
		eleven := four & (four >> 4) & (four >> 7)
		runs += 2*(bits.OnesCount64(starts)+bits.OnesCount64(starts&two)+bits.OnesCount64(starts&three)) + 5*bits.OnesCount64(starts&eleven) + 1
	}
	if used <= 2 && end <= 256 {
		simple := 4
		if first > 1 {
			simple += 7
		}
		if used == 2 {
			simple += 8
		}
		return simple
	}
	return min(runs, header+number+4*end)
}

// list returns the runs, in the memory of m.
func (d *description) list(m *codeMemory) []run {
	out := m.runs[:0]
	if !d.single {
		return runs(out, neighbours(m.alike[:], d.lengths), &d.chosen)
	}
	for _, l := range d.lengths {
		out = append(out, run{symbol: l})
	}
	return out
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
		w.put(uint64(d.runs-2), n)
	} else {
		w.put(0, 1)
	}
	var codes [19]Code
	makeCodes(d.meta[:], codes[:])
	m := memories.Get().(*codeMemory)
	defer memories.Put(m)
	for _, r := range d.list(m) {
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
