//go:build amd64 && linux

package bitplane

import (
	"math/rand/v2"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"
)

// guarded is room for words between pages that cannot be touched: right behind the first one, or right before the last.
func guarded(t *testing.T, words int, front bool) []uint64 {
	const page = 4096
	size := (8*words + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { syscall.Munmap(mem) })
	for _, p := range [][]byte{mem[:page], mem[page+size:]} {
		if err := syscall.Mprotect(p, syscall.PROT_NONE); err != nil {
			t.Skip(err)
		}
	}
	at := page
	if !front {
		at += size - 8*words
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(&mem[at])), words)
}

// The assembly reads words of a block's rows only.
func TestContextsStayInRows(t *testing.T) {
	if !useAVX512 {
		t.Skip("this machine has no AVX-512")
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	r := rand.New(rand.NewPCG(5, 0))
	for _, front := range []bool{true, false} {
		for _, side := range [][2]int{{1, 1}, {16, 4}, {17, 5}, {64, 64}, {3, 1024}, {1024, 3}} {
			w, h := side[0], side[1]
			src := make([]int32, w*h)
			for i := range src {
				src[i] = int32(r.IntN(255)) - 127
			}
			var b sliced
			n := ((w+15)/16+2)*((h+3)/4+2) + wordsBeyond
			for _, rows := range []*[]uint64{&b.sign, &b.refined, &b.before, &b.after, &b.whole, &b.visited, &b.inside} {
				*rows = guarded(t, n, front)
			}
			for p := b.start(src, w, w, h, 0) - 1; p >= 0; p-- {
				b.propagation(uint(p))
				b.refinement(uint(p))
				b.cleanup(uint(p))
				b.ended()
			}
		}
	}
}
