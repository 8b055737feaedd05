package bitstream

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
)

// leafSizes are alphabets around those that vectors take at once, and around those that they sort.
var leafSizes = []int{0, 1, 2, 7, 15, 16, 17, 19, 31, 32, 33, 40, 63, 64, 65, 127, 128, 129, 144, 256, 280, 280 + 2048}

// Leaves are the symbols that occur by their counts, the lightest first, and of equal counts by symbol.
func TestSortedLeaves(t *testing.T) {
	defer func(v bool) { vectors = v }(vectors)
	r := rand.New(rand.NewPCG(45, 46))
	m := new(codeMemory)
	for _, n := range leafSizes {
		for range codectest.Rounds(200) {
			counts := make([]uint32, n, n+1)
			bits, often := r.IntN(33), r.IntN(5)
			for s := range counts {
				if r.IntN(5) <= often {
					counts[s] = uint32(r.Uint64N(1 << bits))
				}
			}
			var want []uint64
			for s, v := range counts {
				if v > 0 {
					want = append(want, uint64(v)<<12|uint64(s))
				}
			}
			slices.Sort(want)
			for _, vectors = range []bool{false, vectors} {
				for i := range m.leaves {
					m.leaves[i] = r.Uint64()
				}
				if got := m.leaves[:m.sortedLeaves(counts)]; !slices.Equal(got, want) {
					t.Fatalf("vectors %t, counts %v: %v, want %v", vectors, counts, got, want)
				}
			}
		}
	}
}

func TestOccurring(t *testing.T) {
	defer func(v bool) { vectors = v }(vectors)
	r := rand.New(rand.NewPCG(47, 48))
	for _, n := range leafSizes {
		for range codectest.Rounds(50) {
			counts := make([]uint32, n)
			for s := range counts {
				counts[s] = r.Uint32() >> r.IntN(40)
			}
			for _, vectors = range []bool{false, vectors} {
				masks := make([]uint64, (n+63)/64+1)
				for k := range masks {
					masks[k] = 1234567
				}
				occurring(masks, counts)
				for s := range 64 * (len(masks) - 1) {
					if got, want := masks[s/64]>>(s%64)&1 > 0, s < n && counts[s] > 0; got != want {
						t.Fatalf("vectors %t, %d counts: symbol %d occurs %t, want %t", vectors, n, s, got, want)
					}
				}
				if masks[len(masks)-1] != 1234567 {
					t.Fatalf("vectors %t, %d counts: a mask behind the last one is set", vectors, n)
				}
			}
		}
	}
}
