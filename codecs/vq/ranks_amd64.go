package vq

import (
	"encoding/binary"
	"math/bits"
)

//go:noescape
func sideKeysAVX2(keys, up, left *uint32, eights int) uint32

//go:noescape
func nextAVX2(keys *uint32, eights int, from uint32) uint32

//go:noescape
func rankAVX2(up, left *uint32, eights int, mine uint32) (lesser int, least uint32)

//go:noescape
func belowAVX2(keys *uint32, eights int, t uint32) int

//go:noescape
func keysInAVX2(hits *uint8, keys *uint32, eights int, lo, span uint32)

// rank, sideKeys, next, belowIn and keysIn hand whole groups of eight to AVX2 where it exists and the
// rest to the functions in Go.

func rank(up, left []uint32, x int) (place int, least uint32) {
	mine := up[x] + left[x]
	n := len(up) &^ 7
	if bestKernel == kernelGo || n == 0 {
		return rankGo(up, left, mine)
	}
	place, least = rankAVX2(&up[0], &left[0], n/8, mine)
	p, l := rankGo(up[n:], left[n:], mine)
	return place + p, min(least, l)
}

func sideKeys(up, left, keys []uint32) uint32 {
	n := len(up) &^ 7
	if bestKernel == kernelGo || n == 0 {
		return sideKeysGo(up, left, keys)
	}
	least := sideKeysAVX2(&keys[0], &up[0], &left[0], n/8)
	return min(least, sideKeysGo(up[n:], left[n:], keys[n:]))
}

func next(keys []uint32, from uint32) uint32 {
	n := len(keys) &^ 7
	if bestKernel == kernelGo || n == 0 {
		return nextGo(keys, from)
	}
	step := nextAVX2(&keys[0], n/8, from)
	return from + min(step, nextGo(keys[n:], from)-from)
}

func belowIn(keys []uint32, t uint32) int {
	n := len(keys) &^ 7
	if bestKernel == kernelGo || n == 0 {
		return belowGo(keys, t)
	}
	return belowAVX2(&keys[0], n/8, t) + belowGo(keys[n:], t)
}

// keysIn is for few keys: it takes time for each of them.
func keysIn(out, keys []uint32, lo, span uint32) []uint32 {
	n := len(keys) &^ 7
	if bestKernel == kernelGo || n == 0 {
		return keysInGo(out, keys, lo, span)
	}
	var hits [maxCodewords / 8]uint8
	keysInAVX2(&hits[0], &keys[0], n/8, lo, span)
	for i := 0; i < n; i += 64 {
		for h := binary.LittleEndian.Uint64(hits[i/8:]); h != 0; h &= h - 1 {
			out = append(out, keys[i+bits.TrailingZeros64(h)])
		}
	}
	return keysInGo(out, keys[n:], lo, span)
}
