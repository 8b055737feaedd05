package decode

// zigzag gives the place of each coefficient in a block in natural order (T.81,
// A.3.6): zigzag[2] is 8, the first of the second row. The entries behind 63
// take runs of zeroes that lead out of a block, as libjpeg does it.
var zigzag = [128]uint8{
	0, 1, 8, 16, 9, 2, 3, 10,
	17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34,
	27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36,
	29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46,
	53, 60, 61, 54, 47, 55, 62, 63,
	63, 63, 63, 63, 63, 63, 63, 63,
	63, 63, 63, 63, 63, 63, 63, 63,
	63, 63, 63, 63, 63, 63, 63, 63,
	63, 63, 63, 63, 63, 63, 63, 63,
	63, 63, 63, 63, 63, 63, 63, 63,
	63, 63, 63, 63, 63, 63, 63, 63,
	63, 63, 63, 63, 63, 63, 63, 63,
	63, 63, 63, 63, 63, 63, 63, 63,
}

// quantTable holds quantization steps, in zigzag order and in the order of rows.
// Products with them wrap at 16 bits, as those of libjpeg-turbo's vector
// instructions do, so that their lower 16 bits are enough.
type quantTable struct {
	zigzag  [64]uint16
	natural [64]int16
}

func (q *quantTable) set(k int, step uint16) {
	q.zigzag[k] = step
	q.natural[zigzag[k]] = int16(step)
}

// block is one block of dequantized coefficients in natural order.
type block struct {
	coefficients [64]int32
	set          uint64 // bit n: coefficient n was coded
	sum          int32  // at least the sum of all magnitudes
}

// put stores coefficient n.
func (b *block) put(n int, v int16, q *quantTable) {
	x := int32(v * q.natural[n])
	b.coefficients[n] = x
	b.set |= 1 << n
	m := x >> 31
	b.sum += x ^ m - m
}

// load takes a block of coefficients that are not dequantized; b is empty.
func (b *block) load(from *[64]int16, q *quantTable) {
	for n, v := range from {
		if v != 0 {
			b.put(n, v, q)
		}
	}
}
