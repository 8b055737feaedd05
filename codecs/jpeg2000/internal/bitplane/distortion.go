package bitplane

import "math/bits"

// Squared errors are reckoned with magnitudes in units of 1/T of the pass's bit-plane
// and a decoder that reconstructs the middle of an interval.
//
// A sample that becomes significant has T <= t < 2T; its error was t and is t - 3/2 T, so
// that the pass takes t^2 - (t - 3/2 T)^2 = T * 3 (t - 3/4 T) off. A refined sample has
// u = t mod 2T; its error was u - T and is u - 3/2 T or u - 1/2 T, so that the pass takes
// T (u - 5/4 T) or T (3/4 T - u) off. Where the plane is the last of integers, errors
// become 0 instead. The factor T is left to the end.
const (
	unitBits = 22
	unit     = 1 << unitBits // T
)

// whole says whether the pass leaves no error.
func (e *Encoder) whole() bool { return e.plane == 0 }

// measureSignificance adds up for the sample of column x that lies shift bits up.
func (e *Encoder) measureSignificance(s, x int, shift uint) {
	if e.whole() {
		e.sum += unit
		return
	}
	t := int64(uint64(e.data[4*(s*(e.columns-2)+x)+int(shift*11>>5)]) << unitBits >> e.plane)
	e.sum += 3 * (t - unit*3/4)
}

// measureRefinement adds up for the samples that the refinement pass is going to code.
func (e *Encoder) measureRefinement() {
	for s := range e.stripes {
		row := e.stripe(s)
		data := e.data[4*s*len(row):][:4*len(row)]
		for x, f := range row {
			for todo := f >> own &^ (f >> visited) & perSample; todo != 0; todo &= todo - 1 {
				u := int64(uint64(data[4*x+bits.TrailingZeros64(todo)/3])<<unitBits>>e.plane) & (2*unit - 1)
				switch {
				case e.whole():
					e.sum += unit - u
				case u >= unit:
					e.sum += u - unit*5/4
				default:
					e.sum += unit*3/4 - u
				}
			}
		}
	}
}

// distortion is the sum in squared units of coefficients. Sums are below 2^53, so that
// nothing is rounded.
func (e *Encoder) distortion() float64 {
	d := float64(e.sum)
	for range e.plane {
		d *= 4
	}
	return d / unit
}
