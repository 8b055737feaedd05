package format

import "math/bits"

// The symbols of a group lie in one slice: alpha, red, blue, distance, then green with
// 256 literals, 24 lengths and the indices of the colour cache.
const (
	AlphaAt    = 0
	RedAt      = 256
	BlueAt     = 512
	DistanceAt = 768
	GreenAt    = 808
	LengthAt   = GreenAt + 256
	CacheAt    = LengthAt + 24
)

// WrittenAlphabets are the limits of the five codes of a group of n symbols in the order in
// which they are written.
func WrittenAlphabets(n int) [5][2]int {
	return [5][2]int{{GreenAt, n}, {RedAt, BlueAt}, {BlueAt, DistanceAt}, {AlphaAt, RedAt}, {DistanceAt, GreenAt}}
}

// Alphabets are the limits of the five codes in a slice of n symbols: see stream.go.
func Alphabets(n int) [5][2]int {
	return [5][2]int{{AlphaAt, RedAt}, {RedAt, BlueAt}, {BlueAt, DistanceAt}, {DistanceAt, GreenAt}, {GreenAt, n}}
}

// Prefix splits a length or distance code into a symbol and extra bits (RFC 9649, 3.6.2.2).
func Prefix(v uint32) (symbol, extra uint32, n uint) {
	v--
	if v < 4 {
		return v, 0, 0
	}
	h := uint32(bits.Len32(v)) - 1
	n = uint(h - 1)
	return 2*h + v>>n&1, v & (1<<n - 1), n
}

// ExtraBitsOf are the bits of lengths and distances that follow their symbols.
func ExtraBitsOf(h []uint32) (n uint64) {
	for s := 4; s < 40; s++ {
		n += uint64(h[DistanceAt+s]) * uint64(s/2-1)
		if s < 24 {
			n += uint64(h[LengthAt+s]) * uint64(s/2-1)
		}
	}
	return n
}
