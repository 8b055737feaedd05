package jpeg2000

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Rows of any length are loaded, clamped and stored as Go does, with nothing written behind their ends.
func TestRowsAreThoseOfGo(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for n := range 100 {
		words := make([]uint16, n)
		for i := range words {
			words[i] = uint16(rng.Uint32())
		}
		for _, signed := range []bool{false, true} {
			for _, shift := range []int32{0, 1 << 8, 1 << 15} {
				got, want := make([]int32, n+1), make([]int32, n+1)
				loadWords(got[:n], words, signed, shift)
				loadWordsGo(want[:n], words, signed, shift)
				if !slices.Equal(got, want) {
					t.Fatalf("%d samples, signed %t, level %d: %v, want %v", n, signed, shift, got, want)
				}
			}
		}
		got, want := make([]int32, n+1), make([]int32, n+1)
		for i := range n {
			got[i] = int32(rng.Uint32()) >> rng.IntN(32)
			want[i] = got[i]
		}
		lo := -int32(rng.Uint32N(1 << 16))
		hi, shift := lo+int32(rng.Uint32N(1<<17)), int32(rng.Uint32N(1<<16))
		clampInts(got[:n], shift, lo, hi)
		clampIntsGo(want[:n], shift, lo, hi)
		if !slices.Equal(got, want) {
			t.Fatalf("%d samples of %d to %d, level %d: %v, want %v", n, lo, hi, shift, got, want)
		}
		for i := range n {
			got[i] = int32(rng.Uint32())
		}
		low, wantLow := make([]uint16, n+1), make([]uint16, n+1)
		putWords(low[:n], got[:n])
		putWordsGo(wantLow[:n], got[:n])
		if !slices.Equal(low, wantLow) {
			t.Fatalf("%d samples: %v, want %v", n, low, wantLow)
		}
	}
}
