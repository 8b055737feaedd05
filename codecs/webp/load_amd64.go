package webp

import "golang.org/x/sys/cpu"

// vectors says whether samples are loaded and stored with AVX2; tests run both ways.
var vectors = cpu.X86.HasAVX2

//go:noescape
func loadRGBAVX2(out *uint32, src *byte, eights int)

//go:noescape
func storeRGBAVX2(out, rgba *byte, eights int)

// loadRGB loads pixels of bytes R, G, B, and returns how many, which may be less than all.
func loadRGB(out []uint32, src []byte) int {
	// The kernel reads four bytes more than it loads.
	n := min(len(out), (len(src)-4)/3) &^ 7
	if !vectors || n <= 0 {
		return 0
	}
	loadRGBAVX2(&out[0], &src[0], n/8)
	return n
}

// storeRGB takes alpha out of pixels of bytes R, G, B, A in place, and returns of how many, which may be less than all.
func storeRGB(rgba []byte) int {
	n := len(rgba) / 4 &^ 7
	if !vectors || n == 0 {
		return 0
	}
	storeRGBAVX2(&rgba[0], &rgba[0], n/8)
	return n
}
