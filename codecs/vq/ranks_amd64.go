package vq

//go:noescape
func sideKeysAVX2(keys, up, left *uint32, eights int) uint32

//go:noescape
func nextAVX2(keys *uint32, eights int, from uint32) uint32

//go:noescape
func rankAVX2(up, left *uint32, eights int, mine uint32) (lesser int, least uint32)

// rank, sideKeys and next hand whole groups of eight to AVX2 where it exists and the
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
