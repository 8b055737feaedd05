package webp

import "math/bits"

// The colour cache holds the latest pixel of each hash (RFC 9649, 5.2.3). All pixels go
// into it, also copied ones, so whether a pixel is there does not depend on the parse.

// cacheHits says for every pixel the bits of the smallest cache that has it: a larger
// one has it too, because of the pixels of a hash fewer are in its way. 0xff: none.
func cacheHits(argb []uint32) []uint8 {
	out := make([]uint8, len(argb))
	// The caches of all sizes are the levels of a tree: entry i of that of b bits lies at
	// 1<<b + i, and half of this is where the next smaller cache has the same pixel. They
	// are full of zeros at first.
	var caches [2 << maxCacheBits]uint32
	for i, v := range argb {
		// The pixel before is in all of them.
		if i > 0 && v == argb[i-1] {
			out[i] = 1
			continue
		}
		k := 1<<maxCacheBits | cacheHash(v)
		for k > 1 && caches[k%uint32(len(caches))] == v {
			k /= 2
		}
		if out[i] = uint8(bits.Len32(k)); out[i] > maxCacheBits {
			out[i] = 0xff
		}
		for ; k > 1; k /= 2 {
			caches[k%uint32(len(caches))] = v
		}
	}
	return out
}

// cacheCounts is what the choice of a cache takes of a parse: of the pixels that are not
// copied, by the bits of the smallest cache that has them, 0 for none, how often each
// alpha, red, blue and green, and each hash is among them; and the symbols of lengths.
type cacheCounts struct {
	colours [maxCacheBits + 1][4][256]uint32
	hashes  [maxCacheBits + 1][1 << maxCacheBits]uint32
	lengths [24]uint32
}

// chooseCache returns the bits with which the literals and cached pixels of a parse
// become smallest, its copies kept.
func chooseCache(p pixels, q *parse, hits []uint8) int {
	counts := new(cacheCounts)
	counts.count(p, q, hits)
	return counts.best()
}

func (n *cacheCounts) count(p pixels, q *parse, hits []uint8) {
	for i := 0; i < len(p.argb); i++ {
		if q.length != nil {
			if l := q.length[i]; l > 0 && l < cached {
				c, _, _ := prefix(uint32(l))
				n.lengths[c]++
				i += int(l) - 1
				continue
			}
		}
		v := p.argb[i]
		m := hits[i]
		if m > maxCacheBits {
			m = 0
		} else {
			n.hashes[m][cacheHash(v)]++
		}
		c := &n.colours[m]
		c[0][v>>24]++
		c[1][v>>16&255]++
		c[2][v&255]++
		c[3][v>>8&255]++
	}
}

// best returns the bits of the best cache.
func (n *cacheCounts) best() int {
	best, choice := uint64(1<<63), 0
	sum := n.colours[0]
	var hashes [1 << maxCacheBits]uint32 // of the pixels that a cache has
	var some [maxCacheBits + 1]bool      // whether a cache has pixels that no smaller one has
	for m := range n.hashes {
		for h, v := range n.hashes[m] {
			hashes[h] += v
			some[m] = some[m] || v > 0
		}
	}
	for b := maxCacheBits; b >= 0; b-- {
		// Literals with b bits are the pixels that b bits do not have.
		green := append([]uint32(nil), sum[3][:]...)
		green = append(green, n.lengths[:]...)
		if b > 0 {
			folded := make([]uint32, 1<<b)
			for h, v := range hashes {
				folded[h>>(maxCacheBits-b)] += v
			}
			green = append(green, folded...)
		}
		cost := alphabetSize(green) + alphabetSize(sum[0][:]) + alphabetSize(sum[1][:]) + alphabetSize(sum[2][:])
		if cost < best {
			best, choice = cost, b
		}
		if some[b] {
			for h, v := range n.hashes[b] {
				hashes[h] -= v
			}
			for c := range sum {
				for s, v := range n.colours[b][c] {
					sum[c][s] += v
				}
			}
		}
	}
	return choice
}

// setCache gives the parse p of in a cache of bits; its backward references stay.
func setCache(p *parse, in pixels, hits []uint8, bits int) {
	p.cacheBits = bits
	for i := 0; i < len(p.length); i++ {
		switch l := p.length[i]; {
		case l != 0 && l != cached:
			i += int(l) - 1
		case int(hits[i]) <= bits:
			p.length[i], p.value[i] = cached, cacheHash(in.argb[i])>>(maxCacheBits-bits)
		default:
			p.length[i] = 0
		}
	}
}
