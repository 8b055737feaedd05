package entropy

import (
	"golang.org/x/sys/cpu"

	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
)

// wide says whether cost tables are made with AVX-512; tests run both ways.
var wide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512CD

// Counts that vectors take are below fewCounts, in alphabets of at most wideSymbols: their sum has 32 bits.
const (
	fewCounts   = 1 << 20
	wideSymbols = 1 << 12
)

// steps are log2Table's entries and, above 16 bits, how much the next one is more: of entry 0, 369 << 16.
var steps = func() (t [256]uint32) {
	for i := range t {
		t[i] = log2Table[i] | (log2Table[i+1]-log2Table[i])<<16
	}
	return t
}()

//go:noescape
func sumAVX512(counts *uint32, n int) (sum, all uint32)

//go:noescape
func idealCostsAVX512(out *uint16, counts *uint32, n int, all uint32, unused uint16, steps *[256]uint32)

//go:noescape
func costsByLengthAVX512(costs *uint16, lengths *uint8, n int, by *[bitstream.MaxCodeLength + 1]uint16)

// wideCosts is AlphabetCosts, or returns false.
func wideCosts(counts []uint32, out []uint16) bool {
	if !wide || len(counts) == 0 || len(counts) > wideSymbols {
		return false
	}
	n, bits := sumAVX512(&counts[0], len(counts))
	if bits >= fewCounts {
		return false
	}
	_ = out[len(counts)-1]
	all := idealCodeOf(uint64(n))
	idealCostsAVX512(&out[0], &counts[0], len(counts), all, costBelow(all, 0), &steps)
	return true
}

// costsByLength is costsByLengthGo.
func costsByLength(costs []uint16, lengths []uint8, by *[bitstream.MaxCodeLength + 1]uint16) {
	if !wide || len(lengths) == 0 {
		costsByLengthGo(costs, lengths, by)
		return
	}
	_ = costs[len(lengths)-1]
	costsByLengthAVX512(&costs[0], &lengths[0], len(lengths), by)
}
