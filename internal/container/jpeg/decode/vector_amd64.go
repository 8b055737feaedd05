package decode

import "golang.org/x/sys/cpu"

// vector lets tests run both ways.
var vector = cpu.X86.HasAVX2

//go:noescape
func inverseAVX2(coefficients *int16, steps *int16, to *byte, stride int)

//go:noescape
func doubleWidthAVX2(to, from *byte, blocks int)

//go:noescape
func doubleHeightAVX2(to, near, far *byte, blocks, bias int)

//go:noescape
func doubleBothAVX2(to, near, far *byte, blocks int)

//go:noescape
func yCbCrAVX2(to, y, cb, cr *byte, blocks int)

// lane is how many samples the kernels take at a time.
const lane = 16

// inverse is inverseGo.
func inverse(from *[64]int16, q *quantTable, to []byte, stride int) {
	if !vector {
		inverseGo(from, q, to, stride)
		return
	}
	_ = to[7*stride+7]
	inverseAVX2(&from[0], &q.natural[0], &to[0], stride)
}

// doubleWidth is doubleWidthGo. The first and the last sample have one neighbour only; the last block may do
// samples again.
func doubleWidth(to, from []byte) {
	inner := len(from) - 2
	if !vector || inner < lane {
		doubleWidthGo(to, from)
		return
	}
	doubleWidthGo(to, from[:2])
	doubleWidthAVX2(&to[2], &from[1], inner/lane)
	at := 1 + inner - lane
	doubleWidthAVX2(&to[2*at], &from[at], 1)
	n := len(from)
	to[2*n-2] = byte((3*int(from[n-1]) + int(from[n-2]) + 1) >> 2)
	to[2*n-1] = from[n-1]
}

// doubleHeight is doubleHeightGo.
func doubleHeight(to, near, far []byte, lower int) {
	n := len(near)
	if !vector || n < lane {
		doubleHeightGo(to, near, far, lower)
		return
	}
	doubleHeightAVX2(&to[0], &near[0], &far[0], n/lane, 1+lower)
	doubleHeightAVX2(&to[n-lane], &near[n-lane], &far[n-lane], 1, 1+lower)
}

// doubleBoth is doubleBothGo.
func doubleBoth(to, near, far []byte) {
	inner := len(near) - 2
	if !vector || inner < lane {
		doubleBothGo(to, near, far)
		return
	}
	doubleBothGo(to, near[:2], far[:2])
	doubleBothAVX2(&to[2], &near[1], &far[1], inner/lane)
	at := 1 + inner - lane
	doubleBothAVX2(&to[2*at], &near[at], &far[at], 1)
	n := len(near)
	last, this := 3*int(near[n-2])+int(far[n-2]), 3*int(near[n-1])+int(far[n-1])
	to[2*n-2] = byte((3*this + last + 8) >> 4)
	to[2*n-1] = byte((4*this + 7) >> 4)
}

// yCbCr is yCbCrGo.
func yCbCr(to []byte, lines *[4][]byte) {
	n := len(to) / 3
	if !vector || n < lane {
		yCbCrGo(to, lines)
		return
	}
	y, cb, cr := lines[0][:n], lines[1][:n], lines[2][:n]
	yCbCrAVX2(&to[0], &y[0], &cb[0], &cr[0], n/lane)
	if at := n - lane; n%lane != 0 {
		yCbCrAVX2(&to[3*at], &y[at], &cb[at], &cr[at], 1)
	}
}
