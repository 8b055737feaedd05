package backref

import (
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
)

func TestCacheHitsAreThoseOfEverySize(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, colours := range []int{1, 2, 30, 5000} {
		p := testimages.Drawn(r, 97, 83, colours)
		hits := CacheHits(p.ARGB)
		for bits := 1; bits <= format.MaxCacheBits; bits++ {
			cache := make([]uint32, 1<<bits)
			for i, v := range p.ARGB {
				k := v * 0x1e35a7bd >> (32 - bits)
				if got, want := int(hits[i]) <= bits, cache[k] == v; got != want && want {
					t.Fatalf("%d colours, %d bits: pixel %d: hit %t, want %t", colours, bits, i, got, want)
				} else if got && !want {
					t.Fatalf("%d colours, %d bits: pixel %d is not in the cache", colours, bits, i)
				}
				cache[k] = v
			}
		}
	}
}
