package pcwt

import "golang.org/x/sys/cpu"

// hasVectors lets tests run both ways.
var hasVectors = cpu.X86.HasAVX2

//go:noescape
func widenAVX2(out *int16, pix *byte, shift, sixteens uint64)

//go:noescape
func narrowAVX2(out *byte, in *int16, mid, thirtytwos uint64) (outside uint64)

// widen does as many samples as it can of what loadBytes does, and returns how many.
func widen(out []int16, pix []byte, shift int32) int {
	n := len(pix) &^ 15
	if !hasVectors || n == 0 {
		return 0
	}
	_ = out[n-1]
	widenAVX2(&out[0], &pix[0], uint64(uint16(shift)), uint64(n/16))
	return n
}

// narrow does as many samples as it can of what storeBytes does, and returns how many and whether they are bytes.
func narrow(out []byte, in []int16, mid int32) (n int, bytes bool) {
	n = len(in) &^ 31
	if !hasVectors || n == 0 {
		return 0, true
	}
	_ = out[n-1]
	return n, narrowAVX2(&out[0], &in[0], uint64(uint16(mid)), uint64(n/32)) == 0
}
