package jp2

import (
	"iter"
	"math"

	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/raster"
)

// Resolution is the capture resolution of the box res, or its display resolution where
// that is the only one, in grid points per metre; the zero value says that there is none.
//
// The box has no other unit. [NewResolution] keeps units in the form of the ratio, and
// [Resolution.Density] knows them again: a denominator of 254 for inches, whose exponent
// brings the ratio to metres, and one of 1 with the exponent 2 for centimetres.
type Resolution struct{ X, Y Ratio }

// Ratio is Numerator / Denominator * 10^Exponent (I.5.3.7).
type Ratio struct {
	Numerator, Denominator uint16
	Exponent               int8
}

// inchDenominator stands for inches: points per metre are points per inch * 10^4 / 254.
const inchDenominator = 254

// unit says in which unit the ratio is a short number.
func (r Ratio) unit() raster.Unit {
	switch {
	case r.Denominator == inchDenominator:
		return raster.Inch
	case r.Denominator == 1 && r.Exponent == 2:
		return raster.Centimetre
	}
	return raster.Metre
}

// in returns the ratio in a unit as a fraction, and false where it is none of 32 bits.
func (r Ratio) in(u raster.Unit) (container.Rational, bool) {
	n, d, e := uint64(r.Numerator), uint64(r.Denominator), int(r.Exponent)
	switch {
	case u == raster.Inch && d == inchDenominator:
		d, e = 1, e-4
	case u == raster.Centimetre:
		e -= 2
	}
	for ; e > 0 && n <= math.MaxUint32; e-- {
		n *= 10
	}
	for ; e < 0 && d <= math.MaxUint32; e++ {
		d *= 10
	}
	return container.Rational{Numerator: uint32(n), Denominator: uint32(d)}, n > 0 && d > 0 && n <= math.MaxUint32 && d <= math.MaxUint32
}

// Density returns the resolution in its unit, and false where it says nothing.
func (r Resolution) Density() (container.Resolution, bool) {
	u := r.X.unit()
	if r.Y.unit() != u {
		u = raster.Metre
	}
	x, okX := r.X.in(u)
	y, okY := r.Y.in(u)
	per := map[raster.Unit]container.Unit{raster.Inch: container.Inch, raster.Centimetre: container.Centimetre, raster.Metre: container.Metre}[u]
	return container.Resolution{X: x, Y: y, Per: per}, okX && okY
}

// NewResolution returns the resolution that says d, and false where none says exactly that.
func NewResolution(d raster.Density) (Resolution, bool) {
	x, okX := newRatio(d.X, d.Unit)
	y, okY := newRatio(d.Y, d.Unit)
	return Resolution{x, y}, okX && okY
}

// newRatio looks for the ratio with the smallest denominator and exponent.
func newRatio(v float64, u raster.Unit) (Ratio, bool) {
	var candidates []Ratio
	switch u {
	case raster.Inch:
		for e := int8(4); e >= 0; e-- {
			candidates = append(candidates, Ratio{1, inchDenominator, e})
		}
		candidates = append(candidates, Ratio{1, inchDenominator, 5}, Ratio{1, inchDenominator, 6})
	case raster.Centimetre:
		candidates = []Ratio{{1, 1, 2}}
	case raster.Metre:
		candidates = []Ratio{{1, 1, 0}, {1, 10, 0}, {1, 100, 0}, {1, 1000, 0}, {1, 1, 1}, {1, 1, 3}, {1, 1, 4}}
	}
	for _, c := range candidates {
		one, _ := c.in(u)
		n := math.Round(v * float64(one.Denominator) / float64(one.Numerator))
		if !(n >= 1 && n <= math.MaxUint16) {
			continue
		}
		c.Numerator = uint16(n)
		if got, ok := c.in(u); ok && c.unit() == u && float64(got.Numerator)/float64(got.Denominator) == v {
			return c, true
		}
	}
	return Ratio{}, false
}

// Attributes are what the file has besides its samples.
func (f *File) Attributes() iter.Seq[container.Attribute] {
	return func(yield func(container.Attribute) bool) {
		if f.Colour.Method == MethodICC && !yield(container.Attribute{Kind: container.ICC, Data: f.Colour.ICC}) {
			return
		}
		if f.EXIF != nil && !yield(container.Attribute{Kind: container.EXIF, Data: f.EXIF}) {
			return
		}
		if f.XMP != nil && !yield(container.Attribute{Kind: container.XMP, Data: f.XMP}) {
			return
		}
		if d, ok := f.Resolution.Density(); ok {
			yield(container.Attribute{Kind: container.Density, Resolution: d})
		}
	}
}
