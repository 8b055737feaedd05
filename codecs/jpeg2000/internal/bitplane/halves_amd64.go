package bitplane

import "golang.org/x/sys/cpu"

// useAVX2 says whether the machine has what halvesAVX2 takes.
var useAVX2 = cpu.X86.HasAVX2

// halves is the loop of halvesTo over four rows, for the columns that it returns the number of.
func halves(dst []int32, stride, w int, data []int32) int {
	n := w &^ 7
	if !useAVX2 || n == 0 {
		return 0
	}
	_, _ = dst[3*stride+n-1], data[4*n-1]
	halvesAVX2(&dst[0], 4*stride, &data[0], n)
	return n
}

// halvesAVX2 puts columns of four coefficients, divided by two towards zero, into four rows that begin stride bytes
// apart. The number of columns is a multiple of 8.
//
//go:noescape
func halvesAVX2(dst *int32, stride int, data *int32, columns int)
