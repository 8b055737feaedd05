package jpeg2000

// The assembly takes a positive multiple of 16 samples.

// loadWordsAVX2 gives (v ^ flip) - shift.
//
//go:noescape
func loadWordsAVX2(row *int32, samples *uint16, n int, flip, shift int32)

//go:noescape
func clampIntsAVX2(row *int32, n int, shift, lo, hi int32)

//go:noescape
func putWordsAVX2(dst *uint16, samples *int32, n int)

// loadWords is loadWordsGo. A signed sample is one without a sign, less 2^15, if its sign is turned around.
func loadWords(row []int32, samples []uint16, signed bool, shift int32) {
	n := 0
	if useVectors && len(row) >= 16 {
		n = len(row) &^ 15
		flip, level := int32(0), shift
		if signed {
			flip, level = 1<<15, 1<<15+shift
		}
		_ = samples[n-1]
		loadWordsAVX2(&row[0], &samples[0], n, flip, level)
	}
	loadWordsGo(row[n:], samples[n:], signed, shift)
}

// clampInts is clampIntsGo.
func clampInts(row []int32, shift, lo, hi int32) {
	n := 0
	if useVectors && len(row) >= 16 {
		n = len(row) &^ 15
		clampIntsAVX2(&row[0], n, shift, lo, hi)
	}
	clampIntsGo(row[n:], shift, lo, hi)
}

// putWords is putWordsGo.
func putWords(dst []uint16, samples []int32) {
	n := 0
	if useVectors && len(samples) >= 16 {
		n = len(samples) &^ 15
		_ = dst[n-1]
		putWordsAVX2(&dst[0], &samples[0], n)
	}
	putWordsGo(dst[n:], samples[n:])
}
