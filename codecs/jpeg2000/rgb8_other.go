//go:build !amd64

package jpeg2000

// This machine has no assembly.

func inverseRGB8(dst []byte, c0, c1, c2 []int32) { inverseRGB8Go(dst, c0, c1, c2) }

func forwardRGB8(c0, c1, c2 []int32, src []byte) { forwardRGB8Go(c0, c1, c2, src) }
