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

//go:noescape
func sideKeysAVX512(keys, up, left *uint32, sixteens int, minima *[sortedKeys]uint32) uint32

//go:noescape
func nextAVX512(keys *uint32, sixteens int, from uint32) uint32

//go:noescape
func rankAVX512(up, left *uint32, sixteens int, mine uint32) (lesser int, least uint32)

//go:noescape
func belowAVX512(keys *uint32, sixteens int, t uint32) int

//go:noescape
func compressAVX512(out, keys *uint32, sixteens int, lo, span uint32) int

//go:noescape
func selectAVX512(keys *uint32, r uint32) uint32

//go:noescape
func edgesAVX2(out, base, pairs, edge *uint32, n, eights int)

// differences is differencesGo. The number of entries is a multiple of sixteen.
func differences(out, base, pairs, edge []uint32) {
	if bestKernel == kernelGo {
		differencesGo(out, base, pairs, edge)
		return
	}
	edgesAVX2(&out[0], &base[0], &pairs[0], &edge[0], len(edge), len(out)/8)
}

//go:noescape
func edgeKeysVNNI(keys *uint32, words *byte, base *uint32, sixteens int, last uint32, quads int, lower, right uint64, half uint32, minima *[sortedKeys]uint32) uint32

// edgeKeys is edgeKeysGo for machines with vectorRanks.
func edgeKeys(keys []uint32, words []byte, base []uint32, n, quads int, lower, right uint64, half uint32, minima *[sortedKeys]uint32) uint32 {
	return edgeKeysVNNI(&keys[0], &words[0], &base[0], len(keys)/16, 1<<((n-1)%16+1)-1, quads, lower, right, half, minima)
}

//go:noescape
func mismatchesAVX512(e *expecting, o *edgeOrder, above, left *uint16, first, end int)

//go:noescape
func boundsAVX512(e *expecting, o *edgeOrder, end int)

//go:noescape
func placesVNNI(e *expecting, o *edgeOrder, above, left *uint16, first, end int)

//go:noescape
func contextsAVX512(e *expecting, above, row *uint8, shift, end int)

// findPlaces finds the places, the least side keys and the activities of blocks from first on, which have indices above. Those to the
// left are in left, and behind the first of them those of the blocks themselves. It is for machines with vectorRanks.
func findPlaces(e *expecting, o *edgeOrder, above, left []uint16, first int) {
	end := first + len(above)
	mismatchesAVX512(e, o, &above[0], &left[0], first, end)
	boundsAVX512(e, o, end)
	placesVNNI(e, o, &above[0], &left[0], first, end)
}

// findContexts finds the contexts of blocks of which the places, least keys and activities are known, and the bit lengths of their ranks.
// above and row begin with the column to the left of the first block: see newLengths. shift is bestShift. It is for machines with
// vectorRanks.
func findContexts(e *expecting, above, row []uint8, shift, blocks int) {
	contextsAVX512(e, &above[0], &row[0], shift, blocks)
}

// The functions below hand whole groups of sixteen to AVX-512 or of eight to AVX2, where
// they exist, and the rest to the functions in Go.

// whole is how many of n keys the vector instructions take.
func whole(n int) int {
	switch {
	case vectorRanks:
		return n &^ 15
	case bestKernel != kernelGo:
		return n &^ 7
	}
	return 0
}

func rank(up, left []uint32, x int) (place int, least uint32) {
	mine := up[x] + left[x]
	n := whole(len(up))
	least = ^uint32(0)
	switch {
	case n == 0:
	case vectorRanks:
		place, least = rankAVX512(&up[0], &left[0], n/16, mine)
	default:
		place, least = rankAVX2(&up[0], &left[0], n/8, mine)
	}
	p, l := rankGo(up[n:], left[n:], mine)
	return place + p, min(least, l)
}

func sideKeys(up, left, keys []uint32, minima *[sortedKeys]uint32) uint32 {
	n, least := whole(len(up)), ^uint32(0)
	switch {
	case n == 0:
	case vectorRanks:
		least = sideKeysAVX512(&keys[0], &up[0], &left[0], n/16, minima)
	default:
		least = sideKeysAVX2(&keys[0], &up[0], &left[0], n/8)
	}
	if n == len(up) {
		return least
	}
	return min(least, sideKeysGo(up[n:], left[n:], keys[n:]))
}

func next(keys []uint32, from uint32) uint32 {
	n, step := whole(len(keys)), ^uint32(0)
	switch {
	case n == 0:
	case vectorRanks:
		step = nextAVX512(&keys[0], n/16, from)
	default:
		step = nextAVX2(&keys[0], n/8, from)
	}
	if n == len(keys) {
		return from + step
	}
	return from + min(step, nextGo(keys[n:], from)-from)
}

func belowIn(keys []uint32, t uint32) int {
	n, below := whole(len(keys)), 0
	switch {
	case n == 0:
	case vectorRanks:
		below = belowAVX512(&keys[0], n/16, t)
	default:
		below = belowAVX2(&keys[0], n/8, t)
	}
	if n == len(keys) {
		return below
	}
	return below + belowGo(keys[n:], t)
}

// compress writes to out, which has room for sixteen more than there are keys, the keys
// from lo on that are less than lo + span, and after the last of them sixteen times all ones. The
// number of keys is a multiple of sixteen, and they may lie where out begins. It is for machines
// with vectorRanks.
func compress(out, keys []uint32, lo, span uint32) int {
	return compressAVX512(&out[0], &keys[0], len(keys)/16, lo, span)
}

// pick is the one of sixteen keys that r of them are less than, all ones if there is none. It is
// for machines with vectorRanks.
func pick(keys *[sortedKeys]uint32, r int) uint32 { return selectAVX512(&keys[0], uint32(r)) }

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
