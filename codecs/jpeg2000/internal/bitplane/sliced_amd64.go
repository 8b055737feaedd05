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
	words := b.row * b.stripes
	for s := range b.stripes {
		for j := range b.width {
			columns := uint32(1)<<min(16, w-16*j) - 1
			at := s*b.row + 1 + j
			b.sign[(s+1)*b.row+1+j] = sliceAVX512(&b.bits[at], &src[4*s*stride+16*j], 4*stride, min(4, h-4*s), columns, planes, 8*words)
		}
	}
}

// contextArgs is a pass for contextsAVX512. Rows of words begin with the first samples of the first stripe, since the assembly
// reads the word in front of each, and of the row above.
type contextArgs struct {
	before, after *uint64 // what is significant before and after the pass
	sign          *uint64
	ones          *uint64 // bits of the bit-plane
	members       *uint64 // the samples of a significance propagation, or all of the block
	visited       *uint64 // those that a cleanup leaves out
	row           int     // bytes of a row of words
	words         int     // of all rows, from there on
	orientation   int
	cleanup       int // 1: the pass is a cleanup
	groups        *group
}

// contexts finds the decisions of a pass of bit-plane p for eight words at a time.
func (b *sliced) contexts(p uint, a *contextArgs) {
	n, first := b.row*b.stripes, b.row+1
	a.sign, a.visited, a.ones = &b.sign[first], &b.visited[first], &b.bits[int(p)*n+1]
	a.row, a.words, a.orientation = 8*b.row, n-1, int(b.orient)
	a.groups = &b.groups[:1][0]
	b.groups = b.groups[:contextsAVX512(a)]
}

// propagation finds the decisions of the significance propagation pass (D.3.1) of bit-plane p.
func (b *sliced) propagation(p uint) {
	b.propagate(p)
	if !useAVX512 {
		b.propagationGo(p)
		return
	}
	b.contexts(p, &contextArgs{before: &b.before[b.row+1], after: &b.after[b.row+1], members: &b.visited[b.row+1]})
}

// cleanup finds the decisions of the cleanup pass (D.3.4) of bit-plane p.
func (b *sliced) cleanup(p uint) {
	b.complete(p)
	if !useAVX512 {
		b.cleanupGo(p)
		return
	}
	b.contexts(p, &contextArgs{before: &b.after[b.row+1], after: &b.whole[b.row+1], members: &b.inside[b.row+1], cleanup: 1})
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

// contextsAVX512 fills groups with the decisions of the words that have some, as propagationGo and cleanupGo do, and
// returns how many there are. It may write one more.
//
//go:noescape
func contextsAVX512(a *contextArgs) (n int)
