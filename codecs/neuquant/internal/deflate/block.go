package deflate

import (
	"encoding/binary"
	"slices"
)

// histogram is how often each symbol occurs in tokens; the end of the block is not among
// them.
type histogram struct {
	symbols   [symbols]uint32
	distances [distances]uint32
}

// count sets the histogram to that of tokens. Literals are first counted as distances of 1,
// because what a token is cannot be foretold.
func (h *histogram) count(tokens []token) {
	var counts [2][512]uint32 // adding to one counter again and again waits for memory
	*h = histogram{}
	var far [32]uint32
	matches := uint32(0)
	for i, t := range tokens {
		counts[i&1][t>>16&511]++
		matches += uint32(t / matchBit)
		far[distanceSymbol(int(t&0xffff)+1)&31]++
	}
	copy(h.distances[:], far[:])
	h.distances[0] -= uint32(len(tokens)) - matches
	for i := range 256 {
		h.symbols[i] = counts[0][i] + counts[1][i]
		h.symbols[257+int(lengthSymbol[i])] += counts[0][256+i] + counts[1][256+i]
	}
}

// add adds what o counted.
func (h *histogram) add(o *histogram) {
	for i, n := range &o.symbols {
		h.symbols[i] += n
	}
	for i, n := range &o.distances {
		h.distances[i] += n
	}
}

// extra is the number of the extra bits of lengths and distances.
func (h *histogram) extra() (bits int) {
	for i, n := range lengthExtra {
		bits += int(n) * int(h.symbols[257+i])
	}
	for i, n := range distanceExtra {
		bits += int(n) * int(h.distances[i])
	}
	return bits
}

// blockRoom is more than what a block takes beside the description of its codes and its tokens.
const blockRoom = 64

const (
	// What the description of a code takes, in 1/256 bit, for each symbol that occurs and
	// for each block.
	symbolCost = 3 * 256
	headCost   = 60 * 256
)

// cost estimates what a block of the symbols takes with a code of its own, without extra
// bits, in 1/256 bit.
func (h *histogram) cost() int {
	return headCost + entropy(h.symbols[:]) + entropy(h.distances[:])
}

func entropy(n []uint32) int {
	all, sum, occur := 0, 0, uint32(0)
	for _, v := range n {
		// No branch: which symbols occur nobody could foretell. Where v is 0 log2 means nothing.
		all += int(v)
		sum += int(v) * int(log2(v))
		occur += (v | -v) >> 31
	}
	if all > 0 {
		sum = all*int(log2(uint32(all))) - sum
	}
	return sum + symbolCost*int(occur)
}

// segments writes the tokens of data, from number first on, as blocks.
func (w *blockWriter) segments(list []segment, data []byte, first int, last bool) {
	list = join(list)
	if w.later != nil {
		*w.later = slices.Grow(*w.later, len(list))
	}
	for i := range list {
		s := &list[i]
		w.block(data[:s.bytes], first, s.tokens, &s.histogram, last && i == len(list)-1)
		first, data = first+s.tokens, data[s.bytes:]
	}
}

// join adds neighbours together as long as that saves bits, those first of which it saves
// the most.
func join(list []segment) []segment {
	// What neighbours i and i+1 cost together, or less than 0 where that is not known.
	var both [maxSegments]int
	for i := range both {
		both[i] = -1
	}
	for {
		best, most := -1, -1
		for i := range len(list) - 1 {
			if both[i] < 0 {
				h := list[i].histogram
				h.add(&list[i+1].histogram)
				both[i] = h.cost()
			}
			if saves := list[i].cost + list[i+1].cost - both[i]; saves > most {
				best, most = i, saves
			}
		}
		if best < 0 {
			return list
		}
		a, b := &list[best], &list[best+1]
		a.tokens, a.bytes, a.cost = a.tokens+b.tokens, a.bytes+b.bytes, both[best]
		a.add(&b.histogram)
		list = append(list[:best+1], list[best+2:]...)
		copy(both[best:], both[best+1:])
		both[best] = -1
		if best > 0 {
			both[best-1] = -1
		}
	}
}

// blockWriter writes blocks behind each other.
type blockWriter struct {
	out  []byte
	bits uint64 // that are not yet written, from the lowest up
	n    uint   // of them

	all   []token  // of which blocks take some
	later *[]Block // where tokens are written later: their places; else nil

	symbolLengths   [symbols + 2]uint8 // those of the fixed code describe two more
	distanceLengths [distances + 2]uint8
	symbolCodes     [symbols]uint32 // of literals and the end: the bits from 8 up, and how many
	distanceCodes   [32]uint32
	firsts          [512]uint32 // of literals, and of lengths with their extra bits

	ops []uint16 // of the description: symbols of the code of lengths, and extra bits from 8 up
	code
}

func (w *blockWriter) reset(out []byte) { w.out, w.bits, w.n, w.later = out, 0, 0, nil }

// end fills the last byte and gives the stream away.
func (w *blockWriter) end() []byte {
	w.align()
	out := w.out
	w.out = nil
	return out
}

// put writes n bits, 32 at most.
func (w *blockWriter) put(v uint64, n uint) {
	w.bits |= v << w.n
	w.n += n
	for ; w.n >= 8; w.n -= 8 {
		w.out = append(w.out, byte(w.bits))
		w.bits >>= 8
	}
}

func (w *blockWriter) align() { w.put(0, -w.n&7) }

// Types of blocks (RFC 1951, 3.2.3).
const (
	stored = iota
	fixed
	dynamic
)

// block writes tokens of data, n from number first on, as the shortest of the three types of blocks.
func (w *blockWriter) block(data []byte, first, n int, h *histogram, last bool) {
	final := uint64(0)
	if last {
		final = 1
	}
	h.symbols[endOfBlock]++
	extra := h.extra()
	fixedBits := extra
	for i, n := range h.symbols {
		fixedBits += int(n) * int(fixedLength(i))
	}
	for _, n := range h.distances {
		fixedBits += 5 * int(n)
	}
	w.code.lengths(w.symbolLengths[:symbols], h.symbols[:], maxBits)
	w.code.lengths(w.distanceLengths[:distances], h.distances[:], maxBits)
	description := w.describe()
	dynamicBits := extra + description
	for i, n := range h.symbols {
		dynamicBits += int(n) * int(w.symbolLengths[i])
	}
	for i, n := range h.distances {
		dynamicBits += int(n) * int(w.distanceLengths[i])
	}
	if min(fixedBits, dynamicBits) >= 8*len(data)+32*(1+len(data)/maxStored) {
		w.store(data, final)
		return
	}
	w.grow(min(fixedBits, dynamicBits)/8 + blockRoom)
	size := dynamicBits - description
	if fixedBits <= dynamicBits {
		size = fixedBits
		w.put(final|fixed<<1, 3)
		for i := range w.symbolLengths {
			w.symbolLengths[i] = fixedLength(i)
		}
		for i := range w.distanceLengths {
			w.distanceLengths[i] = 5
		}
	} else {
		w.put(final|dynamic<<1, 3)
		clear(w.symbolLengths[symbols:])
		clear(w.distanceLengths[distances:])
		w.writeDescription()
	}
	w.assign()
	c := w.symbolCodes[endOfBlock]
	if w.later != nil {
		w.leave(first, n, size-int(c&255))
	} else {
		w.tokens(w.all[first : first+n])
	}
	w.put(uint64(c>>8), uint(c&255))
}

// fixedLength is that of a symbol's fixed code (RFC 1951, 3.2.6).
func fixedLength(symbol int) uint8 {
	switch {
	case symbol < 144:
		return 8
	case symbol < 256:
		return 9
	case symbol < 280:
		return 7
	}
	return 8
}

// maxStored is the most that a stored block has.
const maxStored = 65535

func (w *blockWriter) store(data []byte, final uint64) {
	for {
		part := data[:min(len(data), maxStored)]
		data = data[len(part):]
		if len(data) > 0 {
			w.put(stored, 3)
		} else {
			w.put(final|stored<<1, 3)
		}
		w.align()
		n := uint64(len(part))
		w.put(n|(n^0xffff)<<16, 32)
		w.out = append(w.out, part...)
		if len(data) == 0 {
			return
		}
	}
}

// grow makes room for n more bytes.
func (w *blockWriter) grow(n int) {
	if cap(w.out)-len(w.out) < n {
		w.out = append(make([]byte, 0, max(2*cap(w.out), len(w.out)+n)), w.out...)
	}
}

// describe finds the symbols that describe the two codes (RFC 1951, 3.2.7), and returns how
// many bits they take.
func (w *blockWriter) describe() int {
	w.literals, w.far = symbols, distances
	for w.literals > 257 && w.symbolLengths[w.literals-1] == 0 {
		w.literals--
	}
	for w.far > 1 && w.distanceLengths[w.far-1] == 0 {
		w.far--
	}
	var all [alphabet]uint8
	n := copy(all[:], w.symbolLengths[:w.literals])
	n += copy(all[n:], w.distanceLengths[:w.far])
	w.ops = w.ops[:0]
	var counts [lengthOps]uint32
	op := func(symbol, extra int) {
		w.ops = append(w.ops, uint16(symbol|extra<<8))
		counts[symbol]++
	}
	for i := 0; i < n; {
		v, from := all[i], i
		for i < n && all[i] == v {
			i++
		}
		run := i - from
		if v == 0 {
			for ; run >= 11; run -= min(run, 138) {
				op(18, min(run, 138)-11)
			}
			if run >= 3 {
				op(17, run-3)
				run = 0
			}
		} else {
			op(int(v), 0)
			for run--; run >= 3; run -= min(run, 6) {
				op(16, min(run, 6)-3)
			}
		}
		for range run {
			op(int(v), 0)
		}
	}
	w.code.lengths(w.opLengths[:], counts[:], maxOpBits)
	w.opCount = lengthOps
	for w.opCount > 4 && w.opLengths[opOrder[w.opCount-1]] == 0 {
		w.opCount--
	}
	size := 3 + 5 + 5 + 4 + 3*w.opCount
	for i, c := range counts {
		size += int(c) * (int(w.opLengths[i]) + int(opExtra(i)))
	}
	return size
}

// opExtra is the extra bits behind a symbol of the code of lengths.
func opExtra(symbol int) uint {
	switch symbol {
	case 16:
		return 2
	case 17:
		return 3
	case 18:
		return 7
	}
	return 0
}

func (w *blockWriter) writeDescription() {
	w.put(uint64(w.literals-257), 5)
	w.put(uint64(w.far-1), 5)
	w.put(uint64(w.opCount-4), 4)
	for _, s := range opOrder[:w.opCount] {
		w.put(uint64(w.opLengths[s]), 3)
	}
	var codes [lengthOps]uint32
	assign(codes[:], w.opLengths[:])
	for _, op := range w.ops {
		c := codes[op&255]
		w.put(uint64(c>>8), uint(c&255))
		w.put(uint64(op>>8), opExtra(int(op&255)))
	}
}

// assign makes the codes of which the lengths are known.
func (w *blockWriter) assign() {
	assign(w.symbolCodes[:], w.symbolLengths[:])
	assign(w.distanceCodes[:distances], w.distanceLengths[:])
	copy(w.firsts[:256], w.symbolCodes[:])
	for i, s := range lengthSymbol {
		c := w.symbolCodes[257+int(s)]
		w.firsts[256+i] = c + uint32(i+minMatch-int(lengthBase[s]))<<(8+c&255) + uint32(lengthExtra[s])
	}
}

// tokens writes the tokens, for which there is room.
func (w *blockWriter) tokens(tokens []token) {
	out, at := w.out[:cap(w.out)], len(w.out)
	acc, n := w.bits, w.n
	for _, t := range tokens {
		if len(out)-at < 8 { // only where counts that a device made are not those of the tokens
			out = append(out, make([]byte, len(out)+8)...)
		}
		c := w.firsts[t>>16&511]
		acc |= uint64(c>>8) << (n & 63)
		n += uint(c & 255)
		// Of a literal, no bits of a distance.
		match := -uint32(t / matchBit)
		d := uint32(t & 0xffff)
		s := distanceSymbol(int(d) + 1)
		c = w.distanceCodes[s] & match
		acc |= uint64(c>>8) << (n & 63)
		n += uint(c & 255)
		e := uint32(distanceExtra[s]) & match
		acc |= uint64(d&(1<<(e&31)-1)) << (n & 63)
		n += uint(e)
		// 7 bits are left at most, and the next token has 48 at most.
		binary.LittleEndian.PutUint64(out[at:], acc)
		at += int(n >> 3)
		acc >>= n &^ 7 & 63
		n &= 7
	}
	w.out, w.bits, w.n = out[:at], acc, n
}
