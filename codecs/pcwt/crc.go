package pcwt

import (
	"hash/crc32"

	"github.com/pelmill/pelmill/codecs/pool"
)

// crcSpan is how many bytes a goroutine takes at a time.
const crcSpan = 1 << 20

// crc is the CRC-32C of data, computed on all cores that are free.
func crc(c *pool.Pool, data []byte) uint32 { return crcFilled(c, data, nil) }

// crcFilled is the same. Each span of the data is computed as soon as fill, unless that is nil, has written it, while it is in a
// core's cache.
func crcFilled(c *pool.Pool, data []byte, fill func(lo, hi int)) uint32 {
	if len(data) < 2*crcSpan {
		if fill != nil {
			fill(0, len(data))
		}
		return crc32.Checksum(data, castagnoli)
	}
	sums := make([]uint32, (len(data)+crcSpan-1)/crcSpan)
	c.Spans(len(data), crcSpan, func(lo, hi int) {
		if fill != nil {
			fill(lo, hi)
		}
		sums[lo/crcSpan] = crc32.Checksum(data[lo:hi], castagnoli)
	})
	sum, shift := sums[0], shiftOf(crcSpan)
	for i, s := range sums[1:] {
		if n := min(crcSpan, len(data)-(i+1)*crcSpan); n < crcSpan {
			shift = shiftOf(n)
		}
		sum = product(sum, shift) ^ s
	}
	return sum
}

// Polynomials over GF(2) modulo that of CRC-32C, the coefficient of x^0 in the highest bit. The CRC of a and b together is
// that of a times x^(8 n), n being the bytes of b, plus that of b.

// product is a times b.
func product(a, b uint32) (p uint32) {
	for bit := uint32(1) << 31; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			p ^= b
		}
		// b times x
		b = b>>1 ^ crc32.Castagnoli&-(b&1)
	}
	return p
}

// shiftOf is x^(8 n).
func shiftOf(n int) uint32 {
	power, square := uint32(1)<<31, uint32(1)<<30 // x^0, x^1
	for n *= 8; n > 0; n >>= 1 {
		if n&1 != 0 {
			power = product(power, square)
		}
		square = product(square, square)
	}
	return power
}
