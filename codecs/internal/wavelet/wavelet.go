// Package wavelet has the discrete wavelet transforms that the codecs pcwt and jpeg2000
// share, by lifting, on planes in memory.
//
// # Filters
//
// Three are reversible, on int32: [LeGall53] (5/3; ISO/IEC 15444-1, Annex F.3.8.2.1),
// [Wavelet137T] (13/7-T; Adams and Kossentini, Reversible integer-to-integer wavelet transforms
// for image compression, 2000) and [TwoTap], the prediction of 5/3 without its update, so that a
// low-pass sample is a sample. One is irreversible, on float32: [Daubechies97] (9/7; ISO/IEC
// 15444-1, Annex F.3.8.2.2). Its operations have one order and none is fused, so it gives the same
// bits on every machine.
//
// # One level
//
// A level splits a plane into four bands. A sample at an even coordinate becomes low-pass, at an
// odd one high-pass, in either direction. The coordinate of the first sample may be odd, as for
// tiles of JPEG 2000. The first letter of a band is the horizontal direction:
//
//	+----+----+
//	| LL | HL |   columns low, ceil(x1/2) - ceil(x0/2) of them, then high, floor(x1/2) - floor(x0/2)
//	+----+----+
//	| LH | HH |   rows likewise
//	+----+----+
//
// Several levels in one plane stand as here, with the bands of the next level in the place of LL.
//
// Signals are extended at both ends by whole-sample symmetry (Annex F.3.7): sample -1 is sample 1.
// A single sample stays as it is at an even coordinate and is doubled at an odd one.
//
// # Order
//
// The reversible filters round, so 2-D results depend on which direction is first: see [Order].
//
// # Ranges
//
// Coefficients of 16-bit samples with any number of levels stay below 2^22. The caller
// of a reversible filter keeps inputs below 2^26; beyond that sums wrap around, on every machine alike.
//
// [LeGall53Narrow] and [TwoTapNarrow] are LeGall53 and TwoTap on int16, where the sums of two samples or coefficients fit in 16
// bits: coefficients of 8-bit samples, and of their differences, stay below 2^13 with any number of levels. Where sums wrap around, a
// transform is still the inverse of the other.
package wavelet

// Sample is the type of a filter's samples.
type Sample interface{ int16 | int32 | float32 }

// Order says which direction is transformed first.
type Order uint8

const (
	// ColumnsFirst is ISO/IEC 15444-1: forward vertically, then horizontally (F.4.2), and
	// inverse horizontally, then vertically (F.3.2).
	ColumnsFirst Order = iota
	// RowsFirst is PCWT: forward horizontally, then vertically, and inverse vertically, then
	// horizontally.
	RowsFirst
)

// Plane is a rectangle of samples, row after row. Planes may share an array.
type Plane[T Sample] struct {
	Samples       []T // the sample (x, y) is Samples[y*Stride+x]
	Width, Height int
	Stride        int // from row to row, at least Width
}

// NewPlane allocates a plane.
func NewPlane[T Sample](width, height int) Plane[T] {
	return Plane[T]{Samples: make([]T, width*height), Width: width, Height: height, Stride: width}
}

// Row is row y of the plane. The plane must have it.
func (p Plane[T]) Row(y int) []T {
	if p.Width == 0 {
		return nil
	}
	return p.Samples[y*p.Stride:][:p.Width:p.Width]
}

// Crop is the part of a plane from (x, y), width x height. It shares the samples.
func (p Plane[T]) Crop(x, y, width, height int) Plane[T] {
	c := Plane[T]{Width: width, Height: height, Stride: p.Stride}
	if width > 0 && height > 0 {
		c.Samples = p.Samples[y*p.Stride+x:][:(height-1)*p.Stride+width]
	}
	return c
}

// Bands are the four bands of a level. They may be parts of one plane.
type Bands[T Sample] struct{ LL, HL, LH, HH Plane[T] }

// Low is the number of low-pass samples of n whose first has a coordinate of the given parity.
func Low(n, parity int) int { return (n + 1 - parity) / 2 }

// Quarter divides a plane into the places of its bands. The parities are those of the
// coordinates of the first sample.
func Quarter[T Sample](p Plane[T], px, py int) Bands[T] {
	w, h := Low(p.Width, px), Low(p.Height, py)
	return Bands[T]{
		LL: p.Crop(0, 0, w, h),
		HL: p.Crop(w, 0, p.Width-w, h),
		LH: p.Crop(0, h, w, p.Height-h),
		HH: p.Crop(w, h, p.Width-w, p.Height-h),
	}
}
