package wavelet

import (
	"unsafe"

	features "golang.org/x/sys/cpu"
)

// hasAVX2 lets tests run both ways.
var hasAVX2 = features.X86.HasAVX2

// The vector functions take a positive multiple of 8 samples, or of pairs.

//go:noescape
func lift2AVX2(dst, a, b *int32, n int, round, shift, sign int32)

//go:noescape
func lift2OfAVX2(dst, src, a, b *int32, n int, round, shift, sign int32)

// Those for 16 bits take a positive multiple of 16.

//go:noescape
func lift2NarrowAVX2(dst, a, b *int16, n int, round, shift, sign int32)

//go:noescape
func deinterleaveNarrowAVX2(even, odd, src unsafe.Pointer, n int)

//go:noescape
func interleaveNarrowAVX2(dst, even, odd unsafe.Pointer, n int)

//go:noescape
func lift4AVX2(dst, a, b, c, d *int32, n int, sign, round, shift, outer int32)

//go:noescape
func liftFloatAVX2(dst, a, b *float32, n int, k float32)

//go:noescape
func scaleFloatAVX2(dst *float32, n int, k float32)

//go:noescape
func deinterleaveAVX2(even, odd, src unsafe.Pointer, n int)

//go:noescape
func interleaveAVX2(dst, even, odd unsafe.Pointer, n int)

// whole is the part of n samples that vectors take.
func whole(n int) int {
	if !hasAVX2 {
		return 0
	}
	return n &^ 7
}

// lift2 is lift2Go.
func lift2(dst, a, b []int32, round, shift, sign int32) {
	n := whole(len(dst))
	if n > 0 {
		_, _ = a[n-1], b[n-1]
		lift2AVX2(&dst[0], &a[0], &b[0], n, round, shift, sign)
	}
	lift2Go(dst[n:], a[n:], b[n:], round, shift, sign)
}

// lift2Of is lift2OfGo.
func lift2Of(dst, src, a, b []int32, round, shift, sign int32) {
	n := whole(len(dst))
	if n > 0 {
		_, _, _ = src[n-1], a[n-1], b[n-1]
		lift2OfAVX2(&dst[0], &src[0], &a[0], &b[0], n, round, shift, sign)
	}
	lift2OfGo(dst[n:], src[n:], a[n:], b[n:], round, shift, sign)
}

// lift2Narrow is lift2Go.
func lift2Narrow(dst, a, b []int16, round, shift, sign int32) {
	n := whole(len(dst)) &^ 15
	if n > 0 {
		_, _ = a[n-1], b[n-1]
		lift2NarrowAVX2(&dst[0], &a[0], &b[0], n, round, shift, sign)
	}
	lift2Go(dst[n:], a[n:], b[n:], round, shift, sign)
}

// lift4 is lift4Go.
func lift4(dst, a, b, c, d []int32, sign, round, shift, outer int32) {
	n := whole(len(dst))
	if n > 0 {
		_, _, _, _ = a[n-1], b[n-1], c[n-1], d[n-1]
		lift4AVX2(&dst[0], &a[0], &b[0], &c[0], &d[0], n, sign, round, shift, outer)
	}
	lift4Go(dst[n:], a[n:], b[n:], c[n:], d[n:], sign, round, shift, outer)
}

// liftFloat is liftFloatGo.
func liftFloat(dst, a, b []float32, k float32) {
	n := whole(len(dst))
	if n > 0 {
		_, _ = a[n-1], b[n-1]
		liftFloatAVX2(&dst[0], &a[0], &b[0], n, k)
	}
	liftFloatGo(dst[n:], a[n:], b[n:], k)
}

// scale is scaleGo. Only floats are scaled often.
func scale[T Sample](dst []T, k T) {
	if floats, ok := any(dst).([]float32); ok {
		if n := whole(len(dst)); n > 0 {
			scaleFloatAVX2(&floats[0], n, float32(k))
			dst = dst[n:]
		}
	}
	scaleGo(dst, k)
}

// deinterleave is deinterleaveGo.
func deinterleave[T Sample](even, odd, src []T) {
	n := whole(min(len(even), len(odd)))
	if unsafe.Sizeof(src[0]) == 2 {
		if n &^= 15; n > 0 {
			_ = src[2*n-1]
			deinterleaveNarrowAVX2(unsafe.Pointer(&even[0]), unsafe.Pointer(&odd[0]), unsafe.Pointer(&src[0]), n)
		}
	} else if n > 0 {
		_ = src[2*n-1]
		deinterleaveAVX2(unsafe.Pointer(&even[0]), unsafe.Pointer(&odd[0]), unsafe.Pointer(&src[0]), n)
	}
	deinterleaveGo(even[n:], odd[n:], src[2*n:])
}

// interleave is interleaveGo.
func interleave[T Sample](dst, even, odd []T) {
	n := whole(min(len(even), len(odd)))
	if unsafe.Sizeof(dst[0]) == 2 {
		if n &^= 15; n > 0 {
			_ = dst[2*n-1]
			interleaveNarrowAVX2(unsafe.Pointer(&dst[0]), unsafe.Pointer(&even[0]), unsafe.Pointer(&odd[0]), n)
		}
	} else if n > 0 {
		_ = dst[2*n-1]
		interleaveAVX2(unsafe.Pointer(&dst[0]), unsafe.Pointer(&even[0]), unsafe.Pointer(&odd[0]), n)
	}
	interleaveGo(dst[2*n:], even[n:], odd[n:])
}
