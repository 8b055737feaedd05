package bitplane

import "github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"

// DeviceContexts are the tables of contexts as kernels read them: that of zero coding by
// orientation and by significance around a sample, and that of sign coding by the
// significance and the signs of four neighbours, as context<<1 | bit.
func DeviceContexts() (zero [4 * 512]uint8, sign [256]uint8) {
	for o := range zeroTable {
		copy(zero[512*o:], zeroTable[o][:])
	}
	return zero, signTable
}

// UnitBits is log2 of the unit of [DistortionOf].
const UnitBits = unitBits

// Check refuses what no packet header may say of a code-block, as [Decode] does.
func Check(b *codestream.Block) error { return CheckSlices(b, 1) }

// CheckSlices is Check for a code-block of n slices, as [DecodeSlices] has it.
func CheckSlices(b *codestream.Block, n int) error { return check(b, n, b.Planes-b.ZeroPlanes) }

// Raw says whether the bypass leaves pass i without arithmetic coding (D.6).
func Raw(i int, style codestream.BlockStyle) bool { return rawPass(i, style) }

// DistortionOf is what a pass at bit-plane plane of the coefficients takes off the sum of
// squared errors, in squared units of coefficients, given the sum over its samples in the
// units of this package.
func DistortionOf(sum int64, plane int) float64 {
	e := Encoder{sum: sum, plane: uint(plane)}
	return e.distortion()
}
