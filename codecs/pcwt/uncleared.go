package pcwt

import (
	"strings"
	"unsafe"
)

// uncleared returns n bytes of new memory, all of which the caller writes: they may hold anything. Memory of make is cleared by
// the goroutine that asks for it, which takes longer for a large image than to code it on a device; this is touched first by
// the goroutines that share the work of filling it.
func uncleared(n int) []byte {
	const small = 1 << 10
	if n < small {
		return make([]byte, n)
	}
	var b strings.Builder // whose memory nobody else has
	b.Grow(n)
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}
