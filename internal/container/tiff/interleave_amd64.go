package tiff

import "golang.org/x/sys/cpu"

// vector lets tests run both ways.
var vector = cpu.X86.HasAVX2

//go:noescape
func interleave3AVX2(dst, a, b, c *byte, places *[most][most][lane]byte, blocks int)

//go:noescape
func interleave4AVX2(dst, a, b, c, d *byte, places *[most][most][lane]byte, blocks int)

// vectors interleaves what the kernels do, and returns how many bytes of each plane that is.
func (p *Planes) vectors(dst []byte, planes [][]byte) int {
	n := len(dst) / p.count
	if !vector || n < lane || p.count != 3 && p.count != 4 {
		return 0
	}
	block := func(at, blocks int) {
		to := &dst[at*p.count]
		if p.count == 3 {
			interleave3AVX2(to, &planes[0][at], &planes[1][at], &planes[2][at], &p.places, blocks)
		} else {
			interleave4AVX2(to, &planes[0][at], &planes[1][at], &planes[2][at], &planes[3][at], &p.places, blocks)
		}
	}
	block(0, n/lane)
	if n%lane != 0 {
		block(n-lane, 1)
	}
	return n
}
