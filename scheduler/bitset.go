package scheduler

import "math/bits"

// bitset holds a bit a line of a manifest; it grows when a bit is set.
type bitset []uint64

func (b *bitset) set(i int64) {
	for int64(len(*b)) <= i/64 {
		*b = append(*b, make([]uint64, max(1024, len(*b)/4))...)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

func (b bitset) has(i int64) bool {
	return i/64 < int64(len(b)) && b[i/64]>>(i%64)&1 == 1
}

// countDone is the number of set bits of a bitmap of done chunks.
func countDone(done []byte) int {
	n := 0
	for _, b := range done {
		n += bits.OnesCount8(b)
	}
	return n
}
