package gpu

import "unsafe"

// Layout hands out parts of a buffer that is taken in one go.
type Layout struct{ Size int } // bytes of all parts

// Take returns where a part of n bytes begins. Words of any size may be read there, and
// no two parts share a line of the cache.
func (l *Layout) Take(n int) int {
	at := l.Size
	l.Size += (n + 255) &^ 255
	return at
}

// View is memory as elements of another type: what b holds of whole elements. b must
// be aligned for them, as [Host].Bytes is.
func View[T int16 | int32 | int64 | uint16 | uint32 | uint64 | float32 | float64](b []byte) []T {
	var t T
	n := len(b) / int(unsafe.Sizeof(t))
	if n == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%unsafe.Alignof(t) != 0 {
		panic("gpu: View of memory that is not aligned")
	}
	return unsafe.Slice((*T)(p), n)
}

// Bytes is a list of numbers, or of structs of them without room between the fields, as
// memory: as a device reads it, which is little-endian as all hosts that have one are.
func Bytes[T any](list []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(t)))
}
