package wavelet

// Forward transforms src into levels of bands in dst, laid out as the package comment shows. The
// planes have one size and must not overlap. x0 and y0 are the coordinates of the first sample.
func (t *Transform[T]) Forward(dst, src Plane[T], levels, x0, y0 int) {
	for level := range levels {
		bands := Quarter(dst, x0&1, y0&1)
		next := bands.LL
		if level < levels-1 {
			bands.LL = t.between(level, next)
		}
		t.ForwardLevel(bands, src, x0&1, y0&1)
		dst, src = next, bands.LL
		x0, y0 = (x0+1)>>1, (y0+1)>>1
	}
	if levels == 0 {
		copyPlane(dst, src)
	}
}

// Inverse is the inverse of Forward. With fewer levels, on the part of src that has the bands of the
// others, and with coordinates of that resolution, it gives a reduced image.
func (t *Transform[T]) Inverse(dst, src Plane[T], levels, x0, y0 int) {
	if levels == 0 {
		copyPlane(dst, src)
		return
	}
	t.inverse(dst, src, 0, levels, x0, y0)
}

func (t *Transform[T]) inverse(dst, src Plane[T], level, levels, x0, y0 int) {
	bands := Quarter(src, x0&1, y0&1)
	if level < levels-1 {
		low := t.between(level, bands.LL)
		t.inverse(low, bands.LL, level+1, levels, (x0+1)>>1, (y0+1)>>1)
		bands.LL = low
	}
	t.InverseLevel(dst, bands, x0&1, y0&1)
}

// between is a plane for the LL band of a level, until the next but one needs the memory.
func (t *Transform[T]) between(level int, like Plane[T]) Plane[T] {
	n := like.Width * like.Height
	s := &t.scratch[level&1]
	if len(*s) < n {
		*s = make([]T, n)
	}
	return Plane[T]{Samples: (*s)[:n], Width: like.Width, Height: like.Height, Stride: like.Width}
}

func copyPlane[T Sample](dst, src Plane[T]) {
	for y := range src.Height {
		copy(dst.Row(y), src.Row(y))
	}
}
