package backref

import (
	"iter"
	"math/bits"
	"sync"

	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// The colour cache holds the latest pixel of each hash (RFC 9649, 3.6.2.3). All pixels go
// into it, also those of backward references, so whether a pixel is there does not depend on
// the parse.

// CacheHits returns for every pixel the bits of the smallest cache that has it, or 0xff where
// none has. All larger caches have the pixel too, because fewer pixels share its entry.
func CacheHits(argb []uint32) []uint8 {
	out := make([]uint8, len(argb))
	// The caches of all sizes are the levels of a tree: entry i of that of b bits lies at
	// 1<<b + i, and half of this is where the next smaller cache has the same pixel. They
	// are full of zeros at first.
	var caches [2 << format.MaxCacheBits]uint32
	for i, v := range argb {
		// The pixel before is in all of them.
		if i > 0 && v == argb[i-1] {
			out[i] = 1
			continue
		}
		k := 1<<format.MaxCacheBits | format.CacheHash(v)
		for k > 1 && caches[k%uint32(len(caches))] == v {
			k /= 2
		}
		if out[i] = uint8(bits.Len32(k)); out[i] > format.MaxCacheBits {
			out[i] = 0xff
		}
		for ; k > 1; k /= 2 {
			caches[k%uint32(len(caches))] = v
		}
	}
	return out
}

// CacheCounts is what the choice of a cache needs of a parse: how often each alpha, red, blue
// and green, and each hash, is among the pixels outside backward references, by the bits of
// the smallest cache that has the pixel, 0 for none; and the symbols of lengths.
type CacheCounts struct {
	colours [format.MaxCacheBits + 1][4][256]uint32
	hashes  [format.MaxCacheBits + 1][1 << format.MaxCacheBits]uint32
	lengths [24]uint32
}

// chooseCache returns the bits of the cache with which the literals and cached pixels of a
// parse take least; its backward references stay.
func chooseCache(p format.Pixels, q *format.Parse, hits []uint8) int {
	counts := cacheCounts.Get().(*CacheCounts)
	counts.count(p, q, hits)
	best := counts.Best()
	counts.clear()
	cacheCounts.Put(counts)
	return best
}

// cacheCounts are counts that nobody uses, all of them 0: making them takes longer than to count a small image.
var cacheCounts = sync.Pool{New: func() any { return new(CacheCounts) }}

func (n *CacheCounts) count(p format.Pixels, q *format.Parse, hits []uint8) {
	for i := 0; i < len(p.ARGB); i++ {
		if q.Length != nil {
			if l := q.Length[i]; l > 0 && l < format.Cached {
				c, _, _ := format.Prefix(uint32(l))
				n.lengths[c]++
				i += int(l) - 1
				continue
			}
		}
		v := p.ARGB[i]
		m := hits[i]
		if m > format.MaxCacheBits {
			m = 0
		} else {
			n.hashes[m][format.CacheHash(v)]++
		}
		c := &n.colours[m]
		c[0][v>>24]++
		c[1][v>>16&255]++
		c[2][v&255]++
		c[3][v>>8&255]++
	}
}

// Best returns the bits of the best cache.
func (n *CacheCounts) Best() int {
	sum := n.colours[0]
	var some [format.MaxCacheBits + 1]bool // whether a cache has pixels that no smaller one has

	// The alphabet that a cache is coded with: green, lengths, and the entries of the cache. These are the hashes of the
	// pixels that it has, folded to its bits.
	const entries = 256 + 24
	var alphabet [entries + 1<<format.MaxCacheBits]uint32
	copy(alphabet[256:], n.lengths[:])
	cache := alphabet[entries:]
	for m := range n.hashes {
		if some[m] = n.has(m); !some[m] {
			continue
		}
		for at, some := range eights(n.hashes[m][:]) {
			for h, v := range some {
				cache[at+h] += v
			}
		}
	}
	best, choice := uint64(1<<63), 0
	var others uint64 // the size of alpha, red and blue
	for b := format.MaxCacheBits; b >= 0; b-- {
		// Literals with b bits are the pixels that b bits do not have.
		if b == format.MaxCacheBits || some[b+1] {
			copy(alphabet[:], sum[3][:])
			others = entropy.AlphabetSize(sum[0][:]) + entropy.AlphabetSize(sum[1][:]) + entropy.AlphabetSize(sum[2][:])
		}
		used := entries
		if b > 0 {
			used += 1 << b
		}
		if cost := others + entropy.AlphabetSize(alphabet[:used]); cost < best {
			best, choice = cost, b
		}
		if b == 0 {
			break
		}
		if some[b] {
			for at, some := range eights(n.hashes[b][:]) {
				for h, v := range some {
					cache[(at+h)>>(format.MaxCacheBits-b)] -= v
				}
			}
			for c := range sum {
				for at, some := range eights(n.colours[b][c][:]) {
					for s, v := range some {
						sum[c][at+s] += v
					}
				}
			}
		}
		for i := range cache[:1<<(b-1)] {
			cache[i] = cache[2*i] + cache[2*i+1]
		}
	}
	return choice
}

// eights goes over counts, of which there are a multiple of eight, but for eights that are all 0: a small image has few pixels
// that only caches of one size have.
func eights(counts []uint32) iter.Seq2[int, *[8]uint32] {
	return func(yield func(at int, some *[8]uint32) bool) {
		for at := 0; at+8 <= len(counts); at += 8 {
			c := (*[8]uint32)(counts[at:])
			if c[0]|c[1]|c[2]|c[3]|c[4]|c[5]|c[6]|c[7] != 0 && !yield(at, c) {
				return
			}
		}
	}
}

// has reports whether there are pixels that a cache of b bits has and no smaller one.
func (n *CacheCounts) has(b int) bool {
	// Each pixel counts in every channel, so green tells.
	return n.colours[b][3] != [256]uint32{}
}

// clear makes all counts 0. Most caches of a small image have no pixels of their own, and the counts of all take
// longer to clear than such an image takes to count.
func (n *CacheCounts) clear() {
	for b := range n.colours {
		if n.has(b) {
			clear(n.colours[b][:])
			clear(n.hashes[b][:])
		}
	}
	clear(n.lengths[:])
}

// SetCache gives the parse p of in a cache of bits; its backward references stay.
func setCache(p *format.Parse, in format.Pixels, hits []uint8, bits int) {
	p.CacheBits = bits
	for i := 0; i < len(p.Length); i++ {
		switch l := p.Length[i]; {
		case l != 0 && l != format.Cached:
			i += int(l) - 1
		case int(hits[i]) <= bits:
			p.Length[i], p.Value[i] = format.Cached, format.CacheHash(in.ARGB[i])>>(format.MaxCacheBits-bits)
		default:
			p.Length[i] = 0
		}
	}
}
