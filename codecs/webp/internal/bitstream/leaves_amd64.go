package bitstream

import (
	"math/bits"

	"golang.org/x/sys/cpu"
)

// vectors says whether leaves and masks of symbols are made with AVX-512; tests run both ways.
var vectors = cpu.X86.HasAVX512F && cpu.X86.HasPOPCNT

const (
	packedCount  = 1 << 20 // below it a leaf has 32 bits
	sortedAtOnce = 128     // leaves that vectors sort
)

// leavesAVX512 sets leaves to those of n counts, and returns how many there are, and all bits of the counts. Where a count is not
// below packedCount there are none. They are sorted where they are not more than sortedAtOnce, and else they are in packed alone.
//
//go:noescape
func leavesAVX512(leaves *uint64, packed, counts *uint32, n int) (used int, all uint32)

// vectorLeaves is sortedLeaves, or returns false.
func (m *codeMemory) vectorLeaves(counts []uint32) (n int, ok bool) {
	if !vectors || len(counts) == 0 || len(counts) > mostSymbols {
		return 0, false
	}
	n, all := leavesAVX512(&m.leaves[0], &m.packed[0], &counts[0], len(counts))
	if all >= packedCount {
		return 0, false
	}
	if n > sortedAtOnce {
		for i, v := range m.packed[:n] {
			m.leaves[i] = uint64(v)
		}
		sortLeaves(m.leaves[:n], m.next[:n], bits.Len32(all))
	}
	return n, true
}

//go:noescape
func occurringAVX512(masks *uint64, counts *uint32, n int)

// occurring is occurringGo.
func occurring(masks []uint64, counts []uint32) {
	if !vectors || len(counts) == 0 {
		occurringGo(masks, counts)
		return
	}
	_ = masks[(len(counts)-1)/64]
	occurringAVX512(&masks[0], &counts[0], len(counts))
}
