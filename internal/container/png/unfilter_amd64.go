package png

import "golang.org/x/sys/cpu"

// vector lets tests run both ways.
var vector = cpu.X86.HasAVX2

//go:noescape
func subAVX2(dst, src *byte, steps, back int)

//go:noescape
func aboveAVX2(dst, src, up *byte, blocks int)

//go:noescape
func averageAVX2(dst, src, up *byte, pixels, back int)

//go:noescape
func paethAVX2(dst, src, up *byte, pixels, back int)

//go:noescape
func fourRowsAVX2(dst, src, up *byte, dstStride, srcStride, steps, back int, masks *rowMasks)

// sub is subGo.
func sub(dst, src []byte, back int) {
	done := 0
	if vector && (back == 3 || back == 4) && len(src) >= 32 {
		// Four pixels at a time, of which 16 bytes are read and written.
		steps := (len(src) - 16) / (4 * back)
		subAVX2(&dst[0], &src[0], steps, back)
		done = 4 * back * steps
	}
	if done == 0 {
		subGo(dst, src, back)
		return
	}
	bytesGo(dst, src, nil, filterSub, back, done, len(src))
}

// above is aboveGo.
func above(dst, src, up []byte) {
	done := 0
	if vector && len(src) >= 32 {
		aboveAVX2(&dst[0], &src[0], &up[0], len(src)/32)
		done = len(src) &^ 31
	}
	aboveGo(dst[done:], src[done:], up[done:])
}

// average is averageGo.
func average(dst, src, up []byte, back int) {
	done := 0
	if n := len(src)/back - 1; vector && (back == 3 || back == 4) && n > 0 {
		averageAVX2(&dst[0], &src[0], &up[0], n, back)
		done = n * back
	}
	if done == 0 {
		averageGo(dst, src, up, back)
		return
	}
	bytesGo(dst, src, up, filterAverage, back, done, len(src))
}

// paeth is paethGo.
func paeth(dst, src, up []byte, back int) {
	done := 0
	if n := len(src)/back - 1; vector && (back == 3 || back == 4) && n > 0 {
		paethAVX2(&dst[0], &src[0], &up[0], n, back)
		done = n * back
	}
	if done == 0 {
		paethGo(dst, src, up, back)
		return
	}
	bytesGo(dst, src, up, filterPaeth, back, done, len(src))
}

// rowMasks have all bits of a row's four bytes set in the mask of its filter.
type rowMasks struct{ sub, up, average, paeth [4][4]byte }

// unfilterRows unfilters up to four rows of n bytes at once, where that is faster than one after the other, and
// returns how many it did. A row of src has the byte of its filter before its residuals; rows of dst follow one
// another.
//
// Of four rows, the kernel is in each one pixel behind the row above it, so that four pixels are computed
// in one vector, as every one needs only pixels of steps before:
//
//	row 0   . . . . x       x: computed in one step
//	row 1   . . . x
//	row 2   . . x
//	row 3   . x
func unfilterRows(dst, src, up []byte, n, back int) int {
	const most = 4
	pixels := n / back
	if !vector || back != 3 && back != 4 || pixels < 2*most || len(src) < most*(1+n) {
		return 0
	}
	var masks rowMasks
	slow := 0
	all := [4]byte{255, 255, 255, 255}
	for r := range most {
		switch src[r*(1+n)] {
		case filterNone:
		case filterSub:
			masks.sub[r] = all
		case filterUp:
			masks.up[r] = all
		case filterAverage:
			masks.average[r] = all
		case filterPaeth:
			masks.paeth[r] = all
			slow++
		default:
			return 0
		}
	}
	if slow < 2 {
		return 0
	}
	// The first pixels of the rows, which lead to the slope, and the last behind it. The kernel writes four bytes
	// for a pixel of three, and so leaves the last pixel of the first row out.
	edge := func(from, to func(r int) int) {
		above := up
		for r := range most {
			row := src[r*(1+n):][:1+n]
			bytesGo(dst[r*n:][:n], row[1:], above, row[0], back, from(r)*back, to(r)*back)
			above = dst[r*n:][:n]
		}
	}
	steps := pixels - 1 - most
	edge(func(int) int { return 0 }, func(r int) int { return most - r })
	fourRowsAVX2(&dst[0], &src[1], &up[0], n, 1+n, steps, back, &masks)
	edge(func(r int) int { return most - r + steps }, func(int) int { return pixels })
	return most
}
