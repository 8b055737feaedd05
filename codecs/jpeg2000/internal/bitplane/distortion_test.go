package bitplane_test

import (
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// What a pass says that it takes off the squared error is what decoding it does.
func TestDistortion(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, fraction := range []int{0, 5} {
		e := bitplane.Encoder{Fraction: fraction, Measure: true}
		const w, h = 33, 21
		v := coefficients(r, w*h, 14)
		c := e.Encode(v, w, w, h, codestream.LH, 0)
		got := make([]int32, w*h)
		before := squaredError(v, got, fraction)
		for i, p := range c.Passes {
			if err := bitplane.Decode(got, w, block(c, i+1, w, h, codestream.LH, 0)); err != nil {
				t.Fatal(err)
			}
			after := squaredError(v, got, fraction)
			// Errors are reckoned in parts of a bit-plane, so that small ones are lost.
			if off := p.Distortion - (before - after); max(off, -off) > 1e-6*before+1 {
				t.Errorf("fraction %d, pass %d takes %g off, and says %g", fraction, i, before-after, p.Distortion)
			}
			before = after
		}
	}
}

// squaredError compares coefficients with what was decoded of them.
func squaredError(v, got []int32, fraction int) float64 {
	sum := 0.0
	for i := range v {
		d := float64(v[i]) - float64(got[i])/2*float64(int(1)<<fraction)
		if fraction == 0 && got[i]&1 != 0 { // all bit-planes of an integer
			d = float64(v[i] - (got[i]-got[i]>>31)>>1)
		}
		sum += d * d
	}
	return sum
}
