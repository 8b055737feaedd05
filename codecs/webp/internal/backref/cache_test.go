package backref

import (
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
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

// The cache that is chosen is the one with which the alphabets of a parse take least, as counted for each size by itself.
// Counts that were used before are used again.
func TestBestCacheIsThatOfEverySizeCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	chosen := map[int]bool{}
	for i := range 200 {
		p := testimages.Drawn(r, 1+r.IntN(60), 1+r.IntN(60), 1+r.IntN(400))
		if i%3 == 0 {
			p = testimages.Texture(r, 1+r.IntN(60), 1+r.IntN(60), i%2 == 0)
		}
		q := testimages.SomeParse(r, len(p.ARGB))
		hits := CacheHits(p.ARGB)
		best, want := uint64(1<<63), 0
		for bits := format.MaxCacheBits; bits >= 0; bits-- {
			if size := sizeWithCache(p, &q, hits, bits); size < best {
				best, want = size, bits
			}
		}
		chosen[want] = true
		if got := chooseCache(p, &q, hits); got != want {
			t.Fatalf("image %d of %d x %d: a cache of %d bits, want %d", i, p.W, p.H, got, want)
		}
	}
	if len(chosen) < 4 {
		t.Errorf("only caches of %v bits were the best", chosen)
	}
}

// sizeWithCache estimates the alphabets of a parse with a cache of bits, 0 for none, but for its distances.
func sizeWithCache(p format.Pixels, q *format.Parse, hits []uint8, bits int) uint64 {
	var alpha, red, blue [256]uint32
	green := make([]uint32, 256+24, 256+24+1<<format.MaxCacheBits)
	if bits > 0 {
		green = green[:256+24+1<<bits]
	}
	for i := 0; i < len(p.ARGB); i++ {
		if q.Length != nil && q.Length[i] > 0 && q.Length[i] < format.Cached {
			code, _, _ := format.Prefix(uint32(q.Length[i]))
			green[256+code]++
			i += int(q.Length[i]) - 1
			continue
		}
		v := p.ARGB[i]
		if int(hits[i]) <= bits {
			green[256+24+format.CacheHash(v)>>(format.MaxCacheBits-bits)]++
			continue
		}
		alpha[v>>24]++
		red[v>>16&255]++
		green[v>>8&255]++
		blue[v&255]++
	}
	return entropy.AlphabetSize(green) + entropy.AlphabetSize(alpha[:]) + entropy.AlphabetSize(red[:]) + entropy.AlphabetSize(blue[:])
}
