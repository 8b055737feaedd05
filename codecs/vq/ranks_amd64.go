package vq

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
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
func edgePlacesVNNI(places *uint16, leasts *uint32, row, above, left *uint16, blocks int, neighbours *neighbour, words *byte, base *uint32, sixteens int, last uint32, quads int)

// edgePlaces finds the places of the blocks of a row and the least side keys beside them. Of above and left, nil if there are none, the
// first elements belong to the first block. It is for machines with vectorRanks.
func edgePlaces(v *edgeVectors, n int, places []uint16, leasts []uint32, row, above, left []uint16) {
	base := v.base[kindOf(above != nil, left != nil)]
	edgePlacesVNNI(&places[0], &leasts[0], &row[0], unsafe.SliceData(above), unsafe.SliceData(left), len(row), &v.neighbours[0],
		&v.words[0], &base[0], len(base)/16, 1<<((n-1)%16+1)-1, v.quads)
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
