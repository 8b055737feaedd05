package lossless

import (
	"math/rand/v2"
	"runtime/debug"
	"syscall"
	"testing"
)

// The kernels read no byte behind the data.
func TestLiteralsStayInData(t *testing.T) {
	if !vector {
		t.Skip("this machine has no kernels")
	}
	defer setLeastPixels(0)()
	const page = 4096
	mem, err := syscall.Mmap(-1, 0, 2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skip(err)
	}
	defer syscall.Munmap(mem)
	if err := syscall.Mprotect(mem[page:], syscall.PROT_NONE); err != nil {
		t.Skip(err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	rng := rand.New(rand.NewPCG(13, 14))
	for range 3000 {
		noise := mem[page-rng.IntN(600) : page]
		for i := range noise {
			noise[i] = byte(rng.Uint32())
		}
		s, numbers, size, cache := literalScan(rng, noise)
		s.decoder.pixels(s.scratch.pixels(s.width, len(s.pix)/4/s.width), s.width, len(s.pix)/4/s.width, s.all, numbers, size, cache)
		s.decoder.pos, s.decoder.bits, s.decoder.count = 0, 0, 0
		s.decoder.pixels(s.scratch.pixels(s.width, len(s.pix)/4/s.width), s.width, len(s.pix)/4/s.width, s.all[:1], nil, 0, cache)
	}
}
