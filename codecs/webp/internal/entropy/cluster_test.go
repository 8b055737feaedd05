package entropy

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
)

func TestSumsOfGroupsCostWhatTheyDoCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, symbols := range []int{format.CacheAt, format.CacheAt + 2, format.CacheAt + 1<<format.MaxCacheBits} {
		for _, share := range []int{1, 3, 50, 2000} {
			a, b, sum := make([]uint32, symbols), make([]uint32, symbols), make([]uint32, symbols)
			for i := range sum {
				if r.IntN(share) == 0 {
					a[i] = r.Uint32N(300)
				}
				if r.IntN(share) == 0 {
					b[i] = r.Uint32N(3)
				}
				sum[i] = a[i] + b[i]
			}
			if got, want := sumSizeEstimate(a, b, usedSymbols(a), usedSymbols(b)), GroupSizeEstimate(sum); got != want {
				t.Errorf("%d symbols, one in %d: %d, want %d", symbols, share, got, want)
			}
		}
	}
}

func TestTileListsHaveTheSymbolsOfTheTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, shape := range testimages.Shapes {
		for _, opaque := range []bool{false, true} {
			p := testimages.Drawn(r, shape[0], shape[1], 40)
			alpha := ^uint32(0)
			for i := range p.ARGB {
				if opaque {
					p.ARGB[i] |= format.OpaqueBlack
				}
				alpha &= p.ARGB[i]
			}
			s := &bitstream.Stream{Width: p.W, Height: p.H, Pixels: p, Parse: testimages.SomeParse(r, len(p.ARGB))}
			l := newTileLists(s, 3)
			for tile := range len(l.at) - 1 {
				want := tileSymbols(nil, &p, &s.Parse, alpha>>24 == 255, 3, tile%l.columns, tile/l.columns)
				if got := l.tile(tile); !slices.Equal(got, want) {
					t.Fatalf("%dx%d: tile %d: %v, want %v", p.W, p.H, tile, got, want)
				}
			}
		}
	}
}

func TestAlphabetSizeTakesEverySymbolThatOccurs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 300 {
		counts := make([]uint32, n)
		for range r.IntN(1 + n) {
			counts[r.IntN(n)] = r.Uint32N(3)
		}
		want := NewSizeEstimate(0)
		for i, v := range counts {
			if v > 0 {
				want.Add(i, v)
			}
		}
		if got := AlphabetSize(counts); got != want.Size() {
			t.Fatalf("counts %v: %d, want %d", counts, got, want.Size())
		}
	}
}
