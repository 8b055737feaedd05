package deflate

import (
	"math"
	"math/bits"
)

// Alphabets (RFC 1951, 3.2.5 to 3.2.7).
const (
	symbols   = 286 // literals, the end of a block, lengths
	distances = 30
	alphabet  = symbols + distances
	lengthOps = 19 // of the code of lengths of codes

	endOfBlock = 256

	maxBits   = 15 // of a code
	maxOpBits = 7  // of the code of lengths of codes
)

// lengthBase is the least length of each symbol from 257 on, and lengthExtra and
// distanceExtra the extra bits behind a symbol (RFC 1951, 3.2.5).
var (
	lengthBase = [29]uint16{
		3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
	}
	lengthExtra = [29]uint8{
		0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
	}
	distanceExtra = [distances]uint8{
		0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
	}
)

// opOrder is the order in which lengths of the code of lengths are written (RFC 1951, 3.2.7).
var opOrder = [lengthOps]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// lengthSymbol is the symbol of each length from 3 on, less 257.
var lengthSymbol = func() (of [maxMatch - minMatch + 1]uint8) {
	for s, base := range lengthBase {
		for l := int(base); l <= maxMatch; l++ {
			of[l-minMatch] = uint8(s)
		}
	}
	return of
}()

// distanceSymbols is the symbol of each distance less 1 up to 255, and behind them of each
// distance less 1 in units of 128.
var distanceSymbols = func() (of [512]uint8) {
	for i := range 256 {
		of[i] = slotOf(uint(i))
		of[256+i] = slotOf(uint(i) << 7)
	}
	return of
}()

// slotOf is the symbol of a distance less 1: twice the place of its highest bit, and the
// bit below.
func slotOf(d uint) uint8 {
	if d < 4 {
		return uint8(d)
	}
	n := bits.Len(d) - 1
	return uint8(2*n + int(d>>(n-1)&1))
}

func distanceSymbol(distance int) int {
	d := uint(distance - 1)
	if d < 256 {
		return int(distanceSymbols[d])
	}
	return int(distanceSymbols[256+d>>7&255])
}

// log2 is the logarithm of n > 0 in 1/256 bit. A floating point number has the whole part as its
// exponent and below it what the fraction is looked up by.
func log2(n uint32) uint32 {
	v := uint32(math.Float64bits(float64(n)) >> 44)
	return v - 1023<<8 + uint32(beyond[v&255])
}

// beyond is by how much the logarithms of 1 + i/256 in 1/256 are over i. They are found by squaring: the
// square of a number of at least the root of 2 is at least 2, and the bit of its logarithm is set.
var beyond = func() (of [256]uint8) {
	for i := range of {
		x := uint64(256+i) << 22 // 1 to 2 in 2^-30
		for range 8 {
			x = x * x >> 30
			of[i] <<= 1
			if x >= 2<<30 {
				x >>= 1
				of[i] |= 1
			}
		}
		of[i] -= uint8(i)
	}
	return of
}()
