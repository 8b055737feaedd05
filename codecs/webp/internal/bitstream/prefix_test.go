package bitstream

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
)

// slowCodeCost is the least sum of count times length over all complete codes of at most
// most bits, found by trying every way to split the symbols, commonest first, into lengths.
func slowCodeCost(counts []uint32, most int) int {
	sorted := slices.Clone(counts)
	slices.SortFunc(sorted, func(a, b uint32) int { return int(b) - int(a) })
	best := 1 << 30
	var try func(rest []uint32, length, space, cost int)
	try = func(rest []uint32, length, space, cost int) { // space: free codes of this length
		if len(rest) == 0 {
			if space == 0 {
				best = min(best, cost)
			}
			return
		}
		if length > most || cost >= best {
			return
		}
		for take := 0; take <= min(space, len(rest)); take++ {
			c := cost
			for _, n := range rest[:take] {
				c += int(n) * length
			}
			try(rest[take:], length+1, 2*(space-take), c)
		}
	}
	try(sorted, 1, 2, 0)
	return best
}

func TestCodesAreOptimal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range codectest.Rounds(600) {
		n := 2 + r.IntN(9)
		most := 15
		for most > 2 && 1<<(most-1) >= n && r.IntN(4) > 0 {
			most--
		}
		counts := make([]uint32, n)
		for i := range counts {
			counts[i] = 1 + uint32(r.Uint64()>>(40+r.UintN(24)))
		}
		lengths := CodeLengths(counts, most)
		cost := 0
		for i, l := range lengths {
			cost += int(counts[i]) * int(l)
		}
		if want := slowCodeCost(counts, most); cost != want {
			t.Fatalf("counts %v in %d bits: %v costs %d, want %d", counts, most, lengths, cost, want)
		}
	}
}

// testCounts are histograms as they come: peaked, flat, sparse, empty, and so steep that
// Huffman's code would be too deep.
func testCounts(r *rand.Rand, n int) []uint32 {
	counts := make([]uint32, n)
	switch r.IntN(7) {
	case 0: // as residuals
		for range r.IntN(20000) {
			d := int(r.NormFloat64() * float64(1+r.IntN(40)))
			counts[(d%n+n)%n]++
		}
	case 1:
		for i := range counts {
			counts[i] = r.Uint32() >> r.IntN(32)
		}
	case 2:
		for range 1 + r.IntN(5) {
			counts[r.IntN(n)] = 1 + r.Uint32N(9)
		}
	case 3:
		a, b := uint32(1), uint32(1)
		for i := range min(n, 40) {
			counts[i], a, b = a, b, a+b
		}
		r.Shuffle(n, func(i, j int) { counts[i], counts[j] = counts[j], counts[i] })
	case 4:
		for i := range counts[:r.IntN(n+1)] {
			counts[i] = 7
		}
	case 5:
		for i := r.IntN(300); i < n; i += 1 + r.IntN(300) {
			counts[i] = 1 + r.Uint32N(3)
		}
	}
	return counts
}

func TestCodesAreComplete(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{19, 40, 256, 280, 280 + 2048} {
		for range codectest.Rounds(300) {
			counts := testCounts(r, n)
			for _, f := range []func([]uint32) []uint8{
				func(c []uint32) []uint8 { return CodeLengths(c, MaxCodeLength) },
				func(c []uint32) []uint8 { l, _ := BestCode(c); return l },
			} {
				lengths := f(counts)
				used, kraft := 0, 0
				for i, l := range lengths {
					if l > MaxCodeLength || counts[i] > 0 && l == 0 {
						t.Fatalf("symbol %d of %d: %d times, length %d", i, n, counts[i], l)
					}
					if l > 0 {
						used++
						kraft += 1 << (MaxCodeLength - l)
					}
				}
				if used > 1 && kraft != 1<<MaxCodeLength || used == 1 && kraft != 1<<(MaxCodeLength-1) {
					t.Fatalf("%d symbols: the code fills %d of %d", used, kraft, 1<<MaxCodeLength)
				}
			}
		}
	}
}

// bitReader is the inverse of bitWriter, a bit at a time.
type bitReader struct {
	data []byte
	at   int
}

func (r *bitReader) get(n int) (v int) {
	for i := range n {
		v |= int(r.data[r.at>>3]>>(r.at&7)&1) << i
		r.at++
	}
	return v
}

// symbol reads a symbol of the canonical code of lengths, by trying longer and longer
// codes (RFC 1951, 3.2.2).
func (r *bitReader) symbol(lengths []uint8) int {
	var used []int
	for s, l := range lengths {
		if l > 0 {
			used = append(used, s)
		}
	}
	if len(used) == 1 {
		return used[0]
	}
	code, first := 0, 0
	for l := uint8(1); l <= MaxCodeLength; l++ {
		code = code<<1 | r.get(1)
		for s, of := range lengths {
			if of == l {
				if first == code {
					return s
				}
				first++
			}
		}
		first <<= 1
	}
	return -1
}

// readCode reads what description.write writes (RFC 9649, 3.7.2.1).
func (r *bitReader) readCode(n int) []uint8 {
	lengths := make([]uint8, n)
	if r.get(1) == 1 {
		two := r.get(1) == 1
		lengths[r.get(1+7*r.get(1))] = 1
		if two {
			lengths[r.get(8)] = 1
		}
		return lengths
	}
	meta := make([]uint8, 19)
	for _, s := range codeLengthOrder[:4+r.get(4)] {
		meta[s] = uint8(r.get(3))
	}
	symbols := n
	if r.get(1) == 1 {
		symbols = 2 + r.get(2+2*r.get(3))
	}
	last := uint8(8)
	for i := 0; i < n && symbols > 0; symbols-- {
		switch s := r.symbol(meta); s {
		case 16:
			for range 3 + r.get(2) {
				lengths[i] = last
				i++
			}
		case 17:
			i += 3 + r.get(3)
		case 18:
			i += 11 + r.get(7)
		default:
			lengths[i] = uint8(s)
			i++
			if s > 0 {
				last = uint8(s)
			}
		}
	}
	return lengths
}

func TestCodesAreReadAsWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{40, 256, 280, 280 + 2, 280 + 2048} {
		for range codectest.Rounds(300) {
			lengths := CodeLengths(testCounts(r, n), MaxCodeLength)
			w := &bitWriter{}
			d := describe(lengths)
			d.write(w)
			if w.len() != CodeLengthBits(lengths) {
				t.Fatalf("%v takes %d bits, codeBits says %d", lengths, w.len(), CodeLengthBits(lengths))
			}
			in := &bitReader{data: w.bytes()}
			got := in.readCode(n)
			if slices.Max(lengths) == 0 {
				lengths[0] = 1 // no code is written as that of symbol 0
			}
			if !slices.Equal(got, lengths) {
				t.Fatalf("%v is read as %v", lengths, got)
			}
		}
	}
}

// The choice of runs is never worse than without any.
func TestRunsSave(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range codectest.Rounds(300) {
		lengths := CodeLengths(testCounts(r, 280), MaxCodeLength)
		d := describe(lengths)
		if d.simple > 0 {
			continue
		}
		single, all := description{}, tally{}
		for _, l := range lengths {
			all.add(l, 1)
		}
		new(codeMemory).code(&single, &all, false)
		if d.Bits > single.Bits {
			t.Errorf("%v: %d bits with runs, %d without", lengths, d.Bits, single.Bits)
		}
	}
}

// packageMerge is limitedLengths as its paper has it, with a list for each row.
func packageMerge(leaves []uint64, most int, lengths []uint8) {
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
		for l := 0; l < n || len(packages) > 0; {
			if len(packages) == 0 || l < n && leaves[l]>>12 <= packages[0] {
				rows[r] = append(rows[r], item{leaves[l] >> 12, l})
				l++
			} else {
				rows[r] = append(rows[r], item{packages[0], -1})
				packages = packages[1:]
			}
		}
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

// The lengths are those of the paper's algorithm, also where several are optimal.
func TestLimitedLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for range 3000 {
		most := MaxCodeLength
		n := 2 + r.IntN(300)
		if r.IntN(2) == 0 {
			most, n = maxMetaLength, 2+r.IntN(18)
		}
		leaves := make([]uint64, n)
		for i := range leaves {
			leaves[i] = (1 + uint64(r.Uint32())>>r.IntN(32)) << 12
		}
		if r.IntN(4) == 0 { // the deepest code there is
			a, b := uint64(1), uint64(1)
			for i := range leaves[:min(n, 45)] {
				leaves[i] = min(a, 1<<32-1) << 12
				a, b = b, a+b
			}
		}
		slices.Sort(leaves)
		for i := range leaves {
			leaves[i] |= uint64(i)
		}
		got, want := make([]uint8, n), make([]uint8, n)
		limitedLengths(leaves, most, got)
		packageMerge(leaves, most, want)
		if !slices.Equal(got, want) {
			t.Fatalf("%d leaves of at most %d bits: %v, want %v", n, most, got, want)
		}
	}
}
