package raster

import (
	"strings"
	"unsafe"
)

// Unfilled is [Make] for callers that write every sample before anybody reads one: the memory is not cleared.
func Unfilled(s Shape) *Image {
	if err := s.Check(); err != nil {
		panic(err)
	}
	n := s.Size()
	// A builder is what the standard library has for memory that is not cleared. Its first byte makes it one with an
	// address; its text is never read.
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0)
	return &Image{Shape: s, Pix: unsafe.Slice(unsafe.StringData(b.String()), n)}
}
