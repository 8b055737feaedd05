package webp

import "math/bits"

// The symbols of a group lie in one slice: alpha, red, blue, distance, then green with
// 256 literals, 24 lengths and the indices of the colour cache.
const (
	alphaAt    = 0
	redAt      = 256
	blueAt     = 512
	distanceAt = 768
	greenAt    = 808
	lengthAt   = greenAt + 256
	cacheAt    = lengthAt + 24
)

// writtenAlphabets are the limits of the five codes of a group of n symbols in the order in
// which they are written.
func writtenAlphabets(n int) [5][2]int {
	return [5][2]int{{greenAt, n}, {redAt, blueAt}, {blueAt, distanceAt}, {alphaAt, redAt}, {distanceAt, greenAt}}
}

// alphabets are the limits of the five codes in a slice of n symbols: see stream.go.
func alphabets(n int) [5][2]int {
	return [5][2]int{{alphaAt, redAt}, {redAt, blueAt}, {blueAt, distanceAt}, {distanceAt, greenAt}, {greenAt, n}}
}

// prefix splits a length or distance code into a symbol and extra bits (RFC 9649, 3.6.2.2).
func prefix(v uint32) (symbol, extra uint32, n uint) {
	v--
	if v < 4 {
		return v, 0, 0
	}
	h := uint32(bits.Len32(v)) - 1
	n = uint(h - 1)
	return 2*h + v>>n&1, v & (1<<n - 1), n
}

// extraBitsOf are the bits of lengths and distances that follow their symbols.
func extraBitsOf(h []uint32) (n uint64) {
	for s := 4; s < 40; s++ {
		n += uint64(h[distanceAt+s]) * uint64(s/2-1)
		if s < 24 {
			n += uint64(h[lengthAt+s]) * uint64(s/2-1)
		}
	}
	return n
}
