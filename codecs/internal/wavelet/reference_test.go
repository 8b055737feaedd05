package wavelet

// A slow transform, sample by sample from the formulas of the standard and the paper.

// signal is a 1-D signal whose first sample has the coordinate start. Outside, it is extended by
// whole-sample symmetry.
type signal[T Sample] struct {
	start   int
	samples []T
}

func (s signal[T]) at(x int) T { return *s.place(x) }

func (s signal[T]) place(x int) *T {
	end := s.start + len(s.samples)
	for x < s.start || x >= end {
		if x < s.start {
			x = 2*s.start - x
		} else {
			x = 2*(end-1) - x
		}
	}
	return &s.samples[x-s.start]
}

// each calls f for the coordinates of a parity.
func (s signal[T]) each(parity int, f func(x int, v *T)) {
	for x := s.start; x < s.start+len(s.samples); x++ {
		if x&1 == parity {
			f(x, s.place(x))
		}
	}
}

func floorDivide(a, b int32) int32 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// referenceFilter transforms a signal of at least two samples in place, interleaved.
type referenceFilter[T Sample] struct{ forward, inverse func(s signal[T]) }

func predict53(s signal[int32]) func(x int) int32 {
	return func(x int) int32 { return floorDivide(s.at(x-1)+s.at(x+1), 2) }
}

func update53(s signal[int32]) func(x int) int32 {
	return func(x int) int32 { return floorDivide(s.at(x-1)+s.at(x+1)+2, 4) }
}

func predict137(s signal[int32]) func(x int) int32 {
	return func(x int) int32 {
		return -floorDivide(s.at(x-3)+s.at(x+3)-9*(s.at(x-1)+s.at(x+1))+8, 16)
	}
}

func update137(s signal[int32]) func(x int) int32 {
	return func(x int) int32 {
		return floorDivide(9*(s.at(x-1)+s.at(x+1))-s.at(x-3)-s.at(x+3)+16, 32)
	}
}

var referenceFilters = map[string]referenceFilter[int32]{
	"5/3": {
		forward: func(s signal[int32]) {
			s.each(1, func(x int, v *int32) { *v -= predict53(s)(x) })
			s.each(0, func(x int, v *int32) { *v += update53(s)(x) })
		},
		inverse: func(s signal[int32]) {
			s.each(0, func(x int, v *int32) { *v -= update53(s)(x) })
			s.each(1, func(x int, v *int32) { *v += predict53(s)(x) })
		},
	},
	"2-tap": {
		forward: func(s signal[int32]) {
			s.each(1, func(x int, v *int32) { *v -= predict53(s)(x) })
		},
		inverse: func(s signal[int32]) {
			s.each(1, func(x int, v *int32) { *v += predict53(s)(x) })
		},
	},
	"13/7-T": {
		forward: func(s signal[int32]) {
			s.each(1, func(x int, v *int32) { *v -= predict137(s)(x) })
			s.each(0, func(x int, v *int32) { *v += update137(s)(x) })
		},
		inverse: func(s signal[int32]) {
			s.each(0, func(x int, v *int32) { *v -= update137(s)(x) })
			s.each(1, func(x int, v *int32) { *v += predict137(s)(x) })
		},
	},
}

// reference97 is the 9/7 filter in the order of operations that Daubechies97 promises.
var reference97 = referenceFilter[float32]{
	forward: func(s signal[float32]) {
		for i, k := range []float32{alpha97, beta97, gamma97, delta97} {
			s.each(1-i%2, func(x int, v *float32) { *v += float32(k * float32(s.at(x-1)+s.at(x+1))) })
		}
		s.each(1, func(_ int, v *float32) { *v *= scale97 })
		s.each(0, func(_ int, v *float32) { *v *= float32(1 / scale97) })
	},
	inverse: func(s signal[float32]) {
		s.each(0, func(_ int, v *float32) { *v *= scale97 })
		s.each(1, func(_ int, v *float32) { *v *= float32(1 / scale97) })
		for i, k := range []float32{delta97, gamma97, beta97, alpha97} {
			s.each(i%2, func(x int, v *float32) { *v -= float32(k * float32(s.at(x-1)+s.at(x+1))) })
		}
	},
}

// line transforms a row or column.
func (f referenceFilter[T]) line(s signal[T], forward bool) {
	switch {
	case len(s.samples) == 1 && s.start&1 == 0:
	case len(s.samples) == 1 && forward:
		s.samples[0] *= 2
	case len(s.samples) == 1:
		s.samples[0] = half(s.samples[0])
	case forward:
		f.forward(s)
	default:
		f.inverse(s)
	}
}

// transform transforms a plane in place, interleaved, in the order that is asked for.
func (f referenceFilter[T]) transform(p Plane[T], x0, y0 int, forward bool, order Order) {
	rows := func() {
		for y := range p.Height {
			f.line(signal[T]{x0, p.Row(y)}, forward)
		}
	}
	columns := func() {
		for x := range p.Width {
			s := signal[T]{y0, make([]T, p.Height)}
			for y := range p.Height {
				s.samples[y] = p.Row(y)[x]
			}
			f.line(s, forward)
			for y := range p.Height {
				p.Row(y)[x] = s.samples[y]
			}
		}
	}
	if (order == RowsFirst) == forward {
		rows()
		columns()
	} else {
		columns()
		rows()
	}
}

// separate moves the samples of an interleaved plane to the places of their bands, and back.
func separate[T Sample](p Plane[T], x0, y0 int, forward bool) Plane[T] {
	q := NewPlane[T](p.Width, p.Height)
	place := func(i, n, start int) int {
		if (i+start)&1 == 1 {
			return Low(n, start&1) + i/2
		}
		return i / 2
	}
	for y := range p.Height {
		for x := range p.Width {
			u, v := place(x, p.Width, x0), place(y, p.Height, y0)
			if forward {
				q.Row(v)[u] = p.Row(y)[x]
			} else {
				q.Row(y)[x] = p.Row(v)[u]
			}
		}
	}
	return q
}

// levels is Forward.
func (f referenceFilter[T]) levels(p Plane[T], levels, x0, y0 int, order Order) Plane[T] {
	q := NewPlane[T](p.Width, p.Height)
	copyPlane(q, p)
	if levels == 0 || p.Width == 0 || p.Height == 0 {
		return q
	}
	f.transform(q, x0, y0, true, order)
	q = separate(q, x0, y0, true)
	low := Quarter(q, x0&1, y0&1).LL
	copyPlane(low, f.levels(low, levels-1, (x0+1)/2, (y0+1)/2, order))
	return q
}
