//go:build !amd64

package wavelet

var hasAVX2 = false

func lift2(dst, a, b []int32, round, shift, sign int32) { lift2Go(dst, a, b, round, shift, sign) }

func lift2Narrow(dst, a, b []int16, round, shift, sign int32) { lift2Go(dst, a, b, round, shift, sign) }

func lift4(dst, a, b, c, d []int32, sign, round, shift, outer int32) {
	lift4Go(dst, a, b, c, d, sign, round, shift, outer)
}

func liftFloat(dst, a, b []float32, k float32) { liftFloatGo(dst, a, b, k) }

func scale[T Sample](dst []T, k T) { scaleGo(dst, k) }

func deinterleave[T Sample](even, odd, src []T) { deinterleaveGo(even, odd, src) }
func interleave[T Sample](dst, even, odd []T)   { interleaveGo(dst, even, odd) }

func lift2Of(dst, src, a, b []int32, round, shift, sign int32) {
	lift2OfGo(dst, src, a, b, round, shift, sign)
}
