package entropy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

func TestLog2IsWithinItsBoundOverTheRange(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	check := func(v uint64) {
		t.Helper()
		// Above 2^53 float64 rounds v, by far less than the bound.
		if got, want := float64(log2(v)), math.Log2(float64(v))*65536; math.Abs(got-want) > 1.25 {
			t.Fatalf("log2(%d) = %v, want %.2f", v, got, want)
		}
	}
	for v := uint64(1); v < 1<<18; v++ {
		check(v)
	}
	for n := 18; n < 64; n++ {
		check(1 << n)
		check(1<<n - 1)
		check(1<<n + 1)
		for range 1000 {
			check(1<<n | r.Uint64()>>(64-n))
		}
	}
	check(math.MaxUint64)
}

func TestLog2DoesNotFall(t *testing.T) {
	last := uint32(0)
	for v := uint64(1); v < 1<<18; v++ {
		if l := log2(v); l < last {
			t.Fatalf("log2(%d) = %d < %d", v, l, last)
		} else {
			last = l
		}
	}
}

func TestEntropyIsTheSumOfIdealCodes(t *testing.T) {
	for _, c := range []struct {
		counts []uint32
		bits   float64
	}{
		{nil, 0},
		{[]uint32{0, 0}, 0},
		{[]uint32{7}, 0},
		{[]uint32{1, 1}, 2},
		{[]uint32{2, 1, 1}, 6},
		{[]uint32{1 << 30, 1 << 30, 1 << 30, 1 << 30}, 1 << 33},
	} {
		if got := float64(IdealBits(c.counts)) / 65536; math.Abs(got-c.bits) > 1e-4*(1+c.bits) {
			t.Errorf("entropy(%v) = %v, want %v", c.counts, got, c.bits)
		}
	}
}

func TestIdealCosts(t *testing.T) {
	hist, out := make([]uint32, format.CacheAt), make([]uint16, format.CacheAt)
	hist[format.RedAt+3], hist[format.RedAt+4], hist[format.RedAt+255] = 2, 1, 1
	IdealCosts(hist, out)
	for s, want := range map[int]uint16{format.RedAt + 3: 256, format.RedAt + 4: 512, format.RedAt + 255: 512, format.RedAt: 512 + 406} {
		if out[s] != want {
			t.Errorf("symbol %d costs %d, want %d", s, out[s], want)
		}
	}
	hist[format.RedAt+3] = math.MaxUint32
	IdealCosts(hist, out)
	if out[format.RedAt] != MaxCost {
		t.Errorf("an unseen symbol of 2^32 costs %d, want %d", out[format.RedAt], MaxCost)
	}
}

func TestCodeCostsAreTheLengthsOfTheCode(t *testing.T) {
	hist, out := make([]uint32, format.CacheAt), make([]uint16, format.CacheAt)
	hist[format.GreenAt], hist[format.GreenAt+1], hist[format.GreenAt+2] = 5, 2, 2
	hist[format.AlphaAt+255] = 9
	CodeCosts(hist, out)
	for s, want := range map[int]uint16{format.GreenAt: 256, format.GreenAt + 1: 512, format.GreenAt + 2: 512, format.AlphaAt + 255: 0} {
		if out[s] != want {
			t.Errorf("symbol %d costs %d, want %d", s, out[s], want)
		}
	}
	if out[format.GreenAt+3] < 512 {
		t.Errorf("an unseen symbol costs %d, less than the longest code", out[format.GreenAt+3])
	}
}

// The costs by code lengths are those of IdealCosts with the symbols that have a code put in.
func TestCodeCostsAreIdealCostsForUnusedSymbols(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{format.CacheAt, format.CacheAt + 2, format.CacheAt + 2048} {
		for range 200 {
			hist, got, want := make([]uint32, n), make([]uint16, n), make([]uint16, n)
			for range r.IntN(3 * n) {
				hist[r.IntN(1+r.IntN(n))] += 1 + r.Uint32()>>(2+r.IntN(30))
			}
			CodeCosts(hist, got)
			for _, p := range format.Alphabets(n) {
				counts := hist[p[0]:p[1]]
				total := uint64(0)
				for _, v := range counts {
					total += uint64(v)
				}
				lengths := bitstream.CodeLengths(counts, bitstream.MaxCodeLength)
				used := 0
				for _, l := range lengths {
					used += int(min(l, 1))
				}
				for i, l := range lengths {
					ideal := min((log2(max(3*total, 1))-log2(max(3*uint64(counts[i]), 1))+128)>>8, MaxCost)
					switch v := &want[p[0]+i]; {
					case l == 0:
						*v = max(uint16(ideal), uint16(slices.Max(lengths))<<8)
					case used > 1:
						*v = uint16(l) << 8
					}
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d symbols %v: %v, want %v", n, hist, got, want)
			}
			IdealCosts(hist, got)
			for _, p := range format.Alphabets(n) {
				total := uint64(0)
				for _, v := range hist[p[0]:p[1]] {
					total += uint64(v)
				}
				for i, v := range hist[p[0]:p[1]] {
					if ideal := uint16(min((log2(max(3*total, 1))-log2(max(3*uint64(v), 1))+128)>>8, MaxCost)); got[p[0]+i] != ideal {
						t.Fatalf("%d of %d cost %d, want %d", v, total, got[p[0]+i], ideal)
					}
				}
			}
		}
	}
}

// Cost tables are the same in vectors, of counts of all sizes and of alphabets around those that vectors take at once.
func TestCostsInVectors(t *testing.T) {
	defer func(v bool) { wide = v }(wide)
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 14, 15, 16, 17, 31, 32, 33, 40, 256, 280, 280 + 2048, 5000} {
		for range 200 {
			counts, lengths := make([]uint32, n), make([]uint8, n)
			bits, often := r.IntN(33), r.IntN(5)
			for i := range counts {
				if r.IntN(5) <= often {
					counts[i] = uint32(r.Uint64N(1 << bits))
				}
				lengths[i] = uint8(r.IntN(bitstream.MaxCodeLength + 1))
			}
			var by [bitstream.MaxCodeLength + 1]uint16
			for l := range by {
				by[l] = uint16(r.Uint32())
			}
			costs, byLength := make([]uint16, n), make([]uint16, n)
			alphabetCostsGo(counts, costs)
			costsByLengthGo(byLength, lengths, &by)
			for _, wide = range []bool{false, wide} {
				// What follows must stay.
				got := make([]uint16, n+1)
				got[n] = 7777
				if AlphabetCosts(counts, got[:n]); !slices.Equal(got[:n], costs) || got[n] != 7777 {
					t.Fatalf("vectors %t, counts %v: %v, want %v", wide, counts, got, costs)
				}
				if costsByLength(got[:n], lengths, &by); !slices.Equal(got[:n], byLength) || got[n] != 7777 {
					t.Fatalf("vectors %t, lengths %v: %v, want %v", wide, lengths, got, byLength)
				}
			}
		}
	}
}
