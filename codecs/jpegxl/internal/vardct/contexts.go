package vardct

import (
	"math"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/jpegdata"
)

// Contexts of AC coefficients (ISO/IEC 18181-1, I.3 and I.4).
const (
	countContexts = 37  // of the number of coefficients that are not zero, for each block context
	coefContexts  = 458 // of a coefficient
	allContexts   = countContexts + coefContexts
)

// placeContext is the part of a coefficient's context that its place in the order makes:
// twice itself.
var placeContext = func() (table [64]uint16) {
	for k := 1; k < 64; k++ {
		switch {
		case k < 16:
			table[k] = uint16(2 * (k - 1))
		case k < 32:
			table[k] = uint16(2 * (15 + (k-16)/2))
		default:
			table[k] = uint16(2 * (23 + (k-32)/4))
		}
	}
	return table
}()

// leftContext is the part that the number of coefficients left makes: twice itself.
var leftContext = func() (table [64]uint16) {
	for _, from := range [][2]int{{1, 0}, {2, 31}, {3, 62}, {5, 93}, {9, 123}, {13, 152}, {21, 180}, {33, 206}} {
		for n := from[0]; n < 64; n++ {
			table[n] = uint16(2 * from[1])
		}
	}
	return table
}()

// countContext is the part of the context of a block's number of coefficients that the
// prediction of it makes.
func countContext(predicted int) int {
	if predicted < 8 {
		return predicted
	}
	return 4 + predicted/2
}

// predictCount predicts the number of coefficients from those to the left and above in
// the group.
func predictCount(row, above []uint8, x int) int {
	switch {
	case above == nil && x == 0:
		return 32
	case above == nil:
		return int(row[x-1])
	case x == 0:
		return int(above[0])
	}
	return (int(above[x]) + int(row[x-1]) + 1) >> 1
}

// blockContexts chooses the context of a block by its plane and by the DC coefficients of
// all planes there (I.2.2).
type blockContexts struct {
	thresholds [3][]int32 // of the DC of planes 0, 1, 2; rising
	clusters   []uint8    // by plane (as coded: 1, 0, 2), order and DC
	count      int
}

// orders are the kinds of block orders that a map distinguishes; 8 x 8 DCTs are the first.
const orders = 13

// values is the number of combinations of DC buckets.
func (b *blockContexts) values() int {
	n := 1
	for _, t := range b.thresholds {
		n *= len(t) + 1
	}
	return n
}

// of returns the contexts of plane c by the combination of buckets.
func (b *blockContexts) of(c int) []uint8 {
	n := b.values()
	at := c
	if c < 2 {
		at = c ^ 1
	}
	return b.clusters[at*orders*n:][:n]
}

// bucket returns the number of thresholds below v.
func bucket(thresholds []int32, v int32) int {
	n := 0
	for _, t := range thresholds {
		if v > t {
			n++
		}
	}
	return n
}

// buckets fills the combination of buckets for each block of an area of the image. Grey
// images have one plane; the DC of the others is zero. The offsets are those of RGB.
func (m *frame) buckets(b *blockContexts, a area, out []uint8, offsets *[3]int32) {
	clear(out)
	for _, c := range [3]int{0, 2, 1} {
		t, p := b.thresholds[c], &m.planes[c]
		if len(t) == 0 {
			continue
		}
		i := 0
		for y := a.y0; y < a.y1; y++ {
			var row []jpegdata.Block
			if p.Component != nil {
				row = p.Blocks[(y>>p.vshift)*p.Wide:][:p.Wide]
			}
			// Neighbours are alike: the last bucket often holds the next DC too.
			low, high, n := int32(0), int32(-1), 0
			for x := a.x0; x < a.x1; x++ {
				v := int32(0)
				if row != nil {
					v = int32(row[x>>p.hshift].DC) + offsets[c]
				}
				if v < low || v > high {
					n = bucket(t, v)
					low, high = bounds(t, n)
				}
				out[i] = out[i]*uint8(len(t)+1) + uint8(n)
				i++
			}
		}
	}
}

// bounds are the lowest and the highest value in a bucket.
func bounds(thresholds []int32, n int) (low, high int32) {
	low, high = math.MinInt32, math.MaxInt32
	if n > 0 {
		low = thresholds[n-1] + 1
	}
	if n < len(thresholds) {
		high = thresholds[n]
	}
	return low, high
}

// dcOffsets are what is added to the DC coefficients of RGB images, whose samples have no
// offset in the standard.
func (m *frame) dcOffsets() (o [3]int32) {
	if !m.ycbcr {
		for c := range o {
			o[c] = 1024 / int32(m.planes[c].quant[0])
		}
	}
	return o
}
