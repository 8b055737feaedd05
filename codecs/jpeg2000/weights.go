package jpeg2000

import (
	"math"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// lowNorms and highNorms are the squared L2 norms of the synthesis functions in one
// dimension: what an error of 1 in one coefficient adds to the squared errors of the
// samples. Entry l is that of a low-pass (after none to 8 levels) or of a high-pass
// coefficient of level l+1. With each level beyond the norm doubles. Made by
// the inverse transform of a single 1.
var (
	lowNorms = map[codestream.Transform][9]float64{
		codestream.Reversible53:   {1, 1.5, 2.75, 5.375, 10.6875, 21.34375, 42.671875, 85.335938, 170.667969},
		codestream.Irreversible97: {1, 1.965907, 4.12241, 8.416744, 16.935572, 33.924927, 67.877165, 135.768047, 271.542961},
	}
	highNorms = map[codestream.Transform][9]float64{
		codestream.Reversible53:   {0.71875, 0.921875, 1.585938, 3.042969, 6.021484, 12.010742, 24.005371, 48.002686, 96.001343},
		codestream.Irreversible97: {0.520218, 0.967216, 2.079256, 4.300482, 8.686724, 17.418849, 34.860786, 69.733172, 139.472152},
	}
)

// bandNorm is the squared norm of a coefficient's synthesis function in a subband.
func bandNorm(t codestream.Transform, o codestream.Orientation, level int) float64 {
	norm := 1.0
	for _, high := range []bool{o&1 != 0, o&2 != 0} {
		list, i := lowNorms[t], level
		if high {
			list, i = highNorms[t], level-1
		}
		norm *= list[min(i, len(list)-1)] * doubled(max(0, i-len(list)+1))
	}
	return norm
}

func doubled(n int) float64 { return math.Ldexp(1, n) }

// Squared norms of the inverse component transforms (G-6 to G-8 without rounding, G-12
// to G-14): what an error of 1 in Y, Cb or Cr adds to those of R, G and B.
var (
	normsRCT = [3]float64{3, 0.6875, 0.6875}
	normsICT = [3]float64{3, 3.258415, 2.475594}
)

// componentNorm is that of component c.
func componentNorm(p *codestream.Params, c int) float64 {
	switch {
	case !p.MCT || c > 2:
		return 1
	case p.Components[c].Transform == codestream.Reversible53:
		return normsRCT[c]
	}
	return normsICT[c]
}

// irreversible are quantization steps for which all coefficients add about as much to
// the error of samples as a step of base would without a transform.
func irreversible(bits, levels int, base float64) codestream.Quantization {
	q := codestream.Quantization{Style: codestream.ScalarExpounded, Guard: 2}
	add := func(o codestream.Orientation, level int) {
		step := base / math.Sqrt(bandNorm(codestream.Irreversible97, o, level))
		q.Steps = append(q.Steps, stepOf(step, bits+o.Gain()))
	}
	add(codestream.LL, levels)
	for level := levels; level > 0; level-- {
		for o := codestream.HL; o <= codestream.HH; o++ {
			add(o, level)
		}
	}
	return q
}

// maxExponent keeps quantizer indices below 2^25, with which they and their fraction have room
// in 32 bits; coefficients, of float32, have no more.
const maxExponent = 24

// stepOf is the quantization step of equation E-3 that is nearest below step, if
// one is, with the range of the subband 2^bits.
func stepOf(step float64, bits int) codestream.Step {
	fraction, exponent := math.Frexp(step) // step = fraction * 2^exponent, 1/2 <= fraction < 1
	s := codestream.Step{Exponent: bits - exponent + 1, Mantissa: int(fraction*4096) - 2048}
	if s.Exponent > maxExponent {
		return codestream.Step{Exponent: maxExponent}
	}
	if s.Exponent < 0 {
		return codestream.Step{Mantissa: 2047}
	}
	return s
}

// quantum is the size of a quantization step (equation E-3).
func quantum(s codestream.Step, bits int) float64 {
	return math.Ldexp(float64(2048+s.Mantissa), bits-s.Exponent-11)
}
