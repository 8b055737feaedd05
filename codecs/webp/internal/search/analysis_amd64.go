package search

import "golang.org/x/sys/cpu"

// hasAVX512 says whether keys of an analysis are made with AVX-512; tests run both ways.
var hasAVX512 = cpu.X86.HasAVX512F

//go:noescape
func analysisKeysAVX512(keys, row, above *uint32, sixteens int) int

// analysisKeys sets keys to those of the pixels of a row, from the second one on, that equal neither the one before nor the one
// above. It returns how many these are, and of how many pixels. It may write to any of keys, which are as many as the row has
// pixels.
func analysisKeys(keys, row, above []uint32) (n, pixels int) {
	sixteens := (len(row) - 4) / 16
	if !hasAVX512 || sixteens <= 0 {
		return 0, 0
	}
	_, _ = keys[16*sixteens-1], above[16*sixteens]
	return analysisKeysAVX512(&keys[0], &row[1], &above[1], sixteens), 16 * sixteens
}
