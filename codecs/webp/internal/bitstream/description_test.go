package bitstream

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
)

// No number of runs takes fewer bits than the one that bestRepeats looks up, and no smaller
// number as few.
func TestBestRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for range 200 {
		var meta [19]uint8
		for i := range meta {
			meta[i] = uint8(r.IntN(8))
		}
		for _, symbol := range []uint8{repeatLength, repeatZero, repeatZeros} {
			v := uint8(0)
			if symbol == repeatLength {
				v = uint8(1 + r.IntN(15))
			}
			for n := range 300 {
				want, least := 0, 1<<30
				for k := 0; k*runLeast[symbol] <= n; k++ {
					if c := k*cost(symbol, &meta) + max(0, n-k*runMost[symbol])*cost(v, &meta); c < least {
						want, least = k, c
					}
				}
				if got, bits := bestRepeats(n, v, symbol, &meta); got != want || bits != least {
					t.Fatalf("%d times %d by %d with %v: %d runs of %d bits, want %d of %d", n, v, symbol, meta, got, bits, want, least)
				}
			}
		}
	}
}

func TestCodeLengthBitsAreBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 36))
	for _, n := range []int{1, 2, 40, 256, 280, 280 + 2, 280 + 2048} {
		for range codectest.Rounds(300) {
			counts := testCounts(r, n)
			if r.IntN(2) == 0 { // with runs of zeros
				for i := r.IntN(20); i < n; {
					end := min(n, i+1+r.IntN(1+r.IntN(200)))
					clear(counts[i:end])
					i = end + 1 + r.IntN(1+r.IntN(100))
				}
			}
			lengths := CodeLengths(counts, MaxCodeLength)
			if bits, usual, most := CodeLengthBits(lengths), UsualLengthBits(lengths), MostCodeLengthBits(counts); bits > usual || bits > most {
				t.Fatalf("counts %v: %d bits, %d by usual runs, at most %d", counts, bits, usual, most)
			}
		}
	}
}

func TestSortLeaves(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	for _, n := range []int{0, 1, 19, 20, 21, 47, 48, 49, 256, 2328} {
		for _, bits := range []int{1, 2, 7, 8, 9, 15, 16, 17, 32} {
			leaves := make([]uint64, n)
			for s := range leaves {
				leaves[s] = uint64(r.Uint32()>>(32-bits))<<12 | uint64(s)
			}
			want := slices.Clone(leaves)
			slices.Sort(want)
			if sortLeaves(leaves, make([]uint64, n), bits); !slices.Equal(leaves, want) {
				t.Fatalf("%d leaves of counts of %d bits are not in order", n, bits)
			}
		}
	}
}
