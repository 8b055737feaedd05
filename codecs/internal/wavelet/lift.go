package wavelet

// The operations on rows, in Go. The vector ones are compared with them.

// lift2Go adds sign * ((a + b + round) >> shift) to dst. The sign is 1 or -1.
func lift2Go[T int16 | int32](dst, a, b []T, round, shift, sign int32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] += T(sign) * ((a[i] + b[i] + T(round)) >> (shift & 31))
	}
}

// lift2OfGo is lift2Go for what is added to src and not to dst, which must not overlap the others.
func lift2OfGo(dst, src, a, b []int32, round, shift, sign int32) {
	src, a, b = src[:len(dst)], a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = src[i] + sign*((a[i]+b[i]+round)>>(shift&31))
	}
}

// lift4Go adds outer * ((sign * (9 (a + b) - (c + d)) + round) >> shift) to dst. The signs are
// 1 or -1.
func lift4Go(dst, a, b, c, d []int32, sign, round, shift, outer int32) {
	a, b, c, d = a[:len(dst)], b[:len(dst)], c[:len(dst)], d[:len(dst)]
	for i := range dst {
		sum := 9*(a[i]+b[i]) - (c[i] + d[i])
		dst[i] += outer * ((sign*sum + round) >> (shift & 31))
	}
}

// liftFloatGo adds k * (a + b) to dst. The conversions forbid fused operations.
func liftFloatGo(dst, a, b []float32, k float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = float32(dst[i] + float32(k*float32(a[i]+b[i])))
	}
}

// scaleGo multiplies dst by k.
func scaleGo[T Sample](dst []T, k T) {
	for i := range dst {
		dst[i] = T(dst[i] * k)
	}
}

// double and halve are for single samples at odd coordinates.
func double[T Sample](dst []T) { scaleGo(dst, 2) }

func halve[T Sample](dst []T) {
	for i, v := range dst {
		dst[i] = half(v)
	}
}

// half rounds down.
func half[T Sample](v T) T {
	switch v := any(v).(type) {
	case int16:
		return T(v >> 1)
	case int32:
		return T(v >> 1)
	default:
		return T(v.(float32) * 0.5)
	}
}

// deinterleaveGo puts every other sample of src into even, from the first on, and the others
// into odd.
func deinterleaveGo[T Sample](even, odd, src []T) {
	for i := range even {
		even[i] = src[2*i]
	}
	for i := range odd {
		odd[i] = src[2*i+1]
	}
}

// interleaveGo is the inverse of deinterleaveGo.
func interleaveGo[T Sample](dst, even, odd []T) {
	for i, v := range even {
		dst[2*i] = v
	}
	for i, v := range odd {
		dst[2*i+1] = v
	}
}
