package decode

// zigzag gives the place of each coefficient in a block in natural order (T.81,
// A.3.6): zigzag[2] is 8, the first of the second row. The 16 entries at its end
// take runs of zeroes that lead out of a block, as libjpeg does it.
var zigzag = [80]uint8{
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
}

// quantTable holds quantization steps in zigzag order, followed by 16 times the
// last one as zigzag is.
type quantTable [80]int32

func (q *quantTable) fill() {
	for k := 64; k < len(q); k++ {
		q[k] = q[63]
	}
}

// block is one block of dequantized coefficients in natural order.
type block struct {
	coefficients [64]int32
	set          uint64 // bit n: coefficient n was coded
	sum          int32  // at least the sum of all magnitudes
}

// put stores one coefficient. Products wrap at 16 bits, as those of
// libjpeg-turbo's vector instructions do.
func (b *block) put(k int, v int32, q *quantTable) {
	n := zigzag[k]
	x := int32(int16(v * q[k]))
	b.coefficients[n] = x
	b.set |= 1 << n
	m := x >> 31
	b.sum += x ^ m - m
}

// load takes a block of coefficients that are not dequantized.
func (b *block) load(from *[64]int16, q *quantTable) {
	b.clear()
	for k := range 64 {
		if v := from[zigzag[k]]; v != 0 {
			b.put(k, int32(v), q)
		}
	}
}

func (b *block) clear() {
	if b.set&^1 != 0 {
		b.coefficients = [64]int32{}
	} else {
		b.coefficients[0] = 0
	}
	b.set, b.sum = 0, 0
}
