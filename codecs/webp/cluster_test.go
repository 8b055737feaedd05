package webp

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSumsOfGroupsCostWhatTheyDoCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, symbols := range []int{cacheAt, cacheAt + 2, cacheAt + 1<<maxCacheBits} {
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
			if got, want := sumSizeEstimate(a, b, usedSymbols(a), usedSymbols(b)), groupSizeEstimate(sum); got != want {
				t.Errorf("%d symbols, one in %d: %d, want %d", symbols, share, got, want)
			}
		}
	}
}

func TestTileListsHaveTheSymbolsOfTheTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, shape := range shapes {
		for _, opaque := range []bool{false, true} {
			p := drawn(r, shape[0], shape[1], 40)
			alpha := ^uint32(0)
			for i := range p.argb {
				if opaque {
					p.argb[i] |= opaqueBlack
				}
				alpha &= p.argb[i]
			}
			s := &stream{width: p.w, height: p.h, pixels: p, parse: someParse(r, len(p.argb))}
			l := newTileLists(s, 3)
			for tile := range len(l.at) - 1 {
				want := tileSymbols(nil, &p, &s.parse, alpha>>24 == 255, 3, tile%l.columns, tile/l.columns)
				if got := l.tile(tile); !slices.Equal(got, want) {
					t.Fatalf("%dx%d: tile %d: %v, want %v", p.w, p.h, tile, got, want)
				}
			}
		}
	}
}
