package format

import "math/bits"

// The symbols of a prefix code group lie in one slice: alpha, red, blue and distance, then
// green with 256 literals, 24 length codes and the indices of the colour cache (RFC 9649,
// 3.7.1).
const (
	AlphaAt    = 0
	RedAt      = 256
	BlueAt     = 512
	DistanceAt = 768
	GreenAt    = 808
	LengthAt   = GreenAt + 256
	CacheAt    = LengthAt + 24
)

// WrittenAlphabets are the limits of the five alphabets of a group of n symbols, in the
// order in which their codes are written (RFC 9649, 3.7.1).
func WrittenAlphabets(n int) [5][2]int {
	return [5][2]int{{GreenAt, n}, {RedAt, BlueAt}, {BlueAt, DistanceAt}, {AlphaAt, RedAt}, {DistanceAt, GreenAt}}
}

// Alphabets are the limits of the five alphabets of a group of n symbols, in the order of
// the slice.
func Alphabets(n int) [5][2]int {
	return [5][2]int{{AlphaAt, RedAt}, {RedAt, BlueAt}, {BlueAt, DistanceAt}, {DistanceAt, GreenAt}, {GreenAt, n}}
}

// Prefix splits a length or a distance code, at least 1, into a symbol and n extra bits
// (RFC 9649, 3.6.2.2).
func Prefix(v uint32) (symbol, extra uint32, n uint) {
	v--
	if v < 4 {
		return v, 0, 0
	}
	h := uint32(bits.Len32(v)) - 1
	n = uint(h - 1)
	return 2*h + v>>n&1, v & (1<<n - 1), n
}

// ExtraBitsOf is how many extra bits the lengths and distances of a histogram have.
func ExtraBitsOf(h []uint32) (n uint64) {
	for s := 4; s < 40; s++ {
		n += uint64(h[DistanceAt+s]) * uint64(s/2-1)
		if s < 24 {
			n += uint64(h[LengthAt+s]) * uint64(s/2-1)
		}
	}
	return n
}
