//go:build !amd64

package jpeg2000

func loadWords(row []int32, samples []uint16, signed bool, shift int32) {
	loadWordsGo(row, samples, signed, shift)
}

func clampInts(row []int32, shift, lo, hi int32) { clampIntsGo(row, shift, lo, hi) }

func putWords(dst []uint16, samples []int32) { putWordsGo(dst, samples) }
