package jpeg2000

import "golang.org/x/sys/cpu"

// useVectors lets tests run both ways.
var useVectors = cpu.X86.HasAVX2

// inverseRGB8AVX2 is inverseRGB8Go for n pixels, a multiple of 16. Sums stay within 32 bits
// where they do there.
//
//go:noescape
func inverseRGB8AVX2(dst *byte, c0, c1, c2 *int32, n int)

// forwardRGB8AVX2 is forwardRGB8Go for n pixels, a multiple of 8, and reads 8 bytes beyond.
//
//go:noescape
func forwardRGB8AVX2(c0, c1, c2 *int32, src *byte, n int)

func inverseRGB8(dst []byte, c0, c1, c2 []int32) {
	n := 0
	if useVectors && len(c0) >= 16 {
		n = len(c0) &^ 15
		_, _, _ = dst[3*n-1], c1[n-1], c2[n-1]
		inverseRGB8AVX2(&dst[0], &c0[0], &c1[0], &c2[0], n)
	}
	inverseRGB8Go(dst[3*n:], c0[n:], c1[n:], c2[n:])
}

func forwardRGB8(c0, c1, c2 []int32, src []byte) {
	n := 0
	if useVectors && len(c0) >= 16 {
		n = (len(c0) - 8) &^ 7
		_, _, _ = src[3*n+7], c1[n-1], c2[n-1]
		forwardRGB8AVX2(&c0[0], &c1[0], &c2[0], &src[0], n)
	}
	forwardRGB8Go(c0[n:], c1[n:], c2[n:], src[3*n:])
}
