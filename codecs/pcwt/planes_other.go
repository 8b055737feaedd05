//go:build !amd64

package pcwt

// hasVectors lets tests run both ways.
var hasVectors = false

func widen(out []int16, pix []byte, shift int32) int               { return 0 }
func narrow(out []byte, in []int16, mid int32) (n int, bytes bool) { return 0, true }
