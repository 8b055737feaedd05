package jpeg2000

import (
	"math"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/raster"
)

// stepCoder encodes an image of HT code-blocks with any quantization step.
type stepCoder interface {
	// codestream returns the codestream with a step.
	codestream(step float64) ([]byte, error)

	// distortion is about the sum of squared errors of the samples with a step, those of
	// rounding them left out: what coefficients lose, with reconstruction in the middle of
	// intervals. Rows of subbands are added up in their order.
	distortion(step float64) (float64, error)
}

// stepSearch encodes an image of HT code-blocks with loss. Of their one coding pass nothing
// can be cut off, so that the quantization step alone decides on bytes and error.
type stepSearch struct {
	options *Options
	image   *raster.Image
	coder   stepCoder
}

// The steps that are tried: stepsPerOctave between the finest, which options give, and its
// double, and so on for stepOctaves, up to one that leaves nothing of an image.
const (
	stepsPerOctave = 64
	stepOctaves    = 30
	steps          = stepsPerOctave * stepOctaves
)

// withStep returns the codestream with the step that the goal of the options asks for.
func (e *encoder) withStep(c choice) ([]byte, error) {
	main := e.main(c)
	coder := &stepBands{encoder: e, choice: c}
	for i := range main.Size.Tiles().X * main.Size.Tiles().Y {
		if err := e.ctx.Err(); err != nil {
			return nil, err
		}
		coder.tiles = append(coder.tiles, e.irreversibleBands(main, main.Size.NewTile(i, &main.Params)))
	}
	s := &stepSearch{e.options, e.image, coder}
	return s.run(&main.Params)
}

// run returns the codestream; p are the parameters of the image with any step.
func (s *stepSearch) run(p *codestream.Params) ([]byte, error) {
	switch {
	case s.options.bpp > 0:
		return s.withBytes(int(s.options.bpp * float64(s.image.Pixels()) / 8))
	case s.options.psnr > 0:
		step, err := s.withError(s.options.allowed(s.image.Shape))
		if err != nil {
			return nil, err
		}
		return s.coder.codestream(step)
	}
	return s.coder.codestream(max(s.step(0), slopeStep(s.options.slope(s.image.Bits), componentNorm(p, 0))))
}

// step is that of an index, which grows with it.
func (s *stepSearch) step(index int) float64 {
	return math.Ldexp(float64(s.options.step(s.image.Bits)*float64(stepsPerOctave+index%stepsPerOctave)), index/stepsPerOctave-6)
}

// slopeStep is the step at which one byte more takes off as much error as slope says, where
// steps are small: the error of a coefficient is then step^2/12, and halving the
// step takes a bit. weight is what errors of coefficients count.
func slopeStep(slope, weight float64) float64 {
	const bitsPerByte, ln2 = 8, 0.6931471805599453
	return math.Sqrt(slope / (bitsPerByte * ln2 / 6) / weight)
}

// withBytes returns the codestream with the smallest step that takes no more than budget, or
// the shortest.
func (s *stepSearch) withBytes(budget int) (best []byte, err error) {
	const guess = 6 * stepsPerOctave
	fitting(steps, guess, float64(max(1, budget)), func(index int) float64 {
		if err != nil {
			return 0
		}
		var stream []byte
		if stream, err = s.coder.codestream(s.step(index)); len(stream) <= budget {
			best = stream
		}
		return float64(len(stream))
	})
	if best == nil && err == nil {
		return s.coder.codestream(s.step(steps))
	}
	return best, err
}

// withError returns the largest step that leaves no more than a sum of squared errors.
func (s *stepSearch) withError(allowed float64) (float64, error) {
	if allowed <= 0 {
		return s.step(0), nil
	}
	index := func(i int) int { return steps - 1 - i }
	perSample := math.Sqrt(12 * allowed / float64(s.image.Samples()))
	_, octave := math.Frexp(perSample / s.step(0))
	var err error
	found := fitting(steps, index(max(0, octave)*stepsPerOctave), allowed, func(i int) (v float64) {
		if err == nil {
			v, err = s.coder.distortion(s.step(index(i)))
		}
		return v
	})
	return s.step(max(0, index(found))), err
}

// fitting returns the lowest of n indices at which value, which falls, is at most limit; n
// if it is so at none. It looks first at guess, and then where the line through two
// values' logarithms meets that of limit.
func fitting(n, guess int, limit float64, value func(index int) float64) int {
	lo, hi := -1, n // the value of hi fits, that of lo does not
	var above, below float64
	same := 0 // how often the same end has moved: then halves are taken
	for i := guess; hi-lo > 1; {
		i = min(max(i, lo+1), hi-1)
		if v := log2(value(i)) - log2(limit); v > 0 {
			lo, above, same = i, v, max(same, 0)+1
		} else {
			hi, below, same = i, v, min(same, 0)-1
		}
		switch {
		case hi == n:
			i = lo + 1<<same + int(above*stepsPerOctave)
		case lo < 0:
			i = hi - 1<<-same + int(below*stepsPerOctave)
		case same > 2 || same < -2:
			i = (lo + hi) / 2
		default:
			i = lo + int(float64(hi-lo)*above/(above-below)+0.5)
		}
	}
	return hi
}

// log2 is about the logarithm, the same on every machine: between powers of two a line.
func log2(v float64) float64 {
	fraction, exponent := math.Frexp(v)
	return float64(exponent) + 2*fraction
}
