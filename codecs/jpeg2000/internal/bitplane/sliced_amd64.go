package bitplane

import (
	"math/bits"

	"golang.org/x/sys/cpu"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/mq"
)

// useAVX512 says whether the machine has what the assembly takes.
var useAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI2 && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT

// useSliced says whether blocks are sliced where they can be. Without the assembly column words are faster.
var useSliced = useAVX512

// planesOf returns the bit-planes of the largest magnitude.
func planesOf(src []int32, stride, w, h int) int {
	if !useAVX512 {
		return planesOfGo(src, stride, w, h)
	}
	all := uint32(0)
	for y := range h {
		all |= unionAVX512(&src[y*stride], w)
	}
	return bits.Len32(all)
}

// slice fills bits and sign.
func (b *sliced) slice(src []int32, stride, w, h, planes int) {
	if !useAVX512 {
		b.sliceGo(src, stride, w, h, planes)
		return
	}
	words := b.width * b.stripes
	for s := range b.stripes {
		for j := range b.width {
			columns := uint32(1)<<min(16, w-16*j) - 1
			at := s*b.width + j
			b.sign[(s+1)*b.row+1+j] = sliceAVX512(&b.bits[at], &src[4*s*stride+16*j], 4*stride, min(4, h-4*s), columns, planes, 8*words)
		}
	}
}

// write appends the decisions of groups to out, which has room for them.
func write(out []mq.Symbol, groups []group) []mq.Symbol {
	switch {
	case !useAVX512:
		return writeGo(out, groups)
	case len(groups) == 0:
		return out
	}
	n := len(out)
	return out[:n+writeAVX512(&out[:n+1][n], groups)]
}

// unionAVX512 returns the union of the magnitudes of n coefficients.
//
//go:noescape
func unionAVX512(src *int32, n int) uint32

// sliceAVX512 slices rows of up to 16 coefficients, of which columns has a bit for each, stride bytes
// apart. It returns the word of their signs and writes words of the planes from the lowest on, step bytes apart.
//
//go:noescape
func sliceAVX512(dst *uint64, src *int32, stride, rows int, columns uint32, planes, step int) (sign uint64)

// writeAVX512 writes the decisions of groups and returns how many there are. It writes up to 64 bytes beyond them.
//
//go:noescape
func writeAVX512(out *mq.Symbol, groups []group) (n int)
