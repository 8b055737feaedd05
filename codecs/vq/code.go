package vq

import "math/bits"

// coderTables are the tables of the index coder as a device takes them.
var coderTables = func() (t deviceTables) {
	t.Logistic, t.Stretch, t.Rates = logistic, stretch, adaptRate
	return t
}()

// codeContexts is how many contexts ranks of n codewords have.
func codeContexts(n int) int { return contextStart[3] + (n-1)>>bestShift(n) + 1 }

// decodeWords is codeWords for the index decoder of a device, which has no contexts for mismatches that blocks of the
// shape cannot have.
func decodeWords(n int, s shape) int {
	lengths := bits.Len(uint((s.p+s.q)*255*255)) + 1
	contexts := (activities+surrounds)*lengths + activities*surrounds + (n-1)>>bestShift(n) + 1
	most := bits.Len(uint(n - 1))
	return contexts * (most + 3*max(0, most-1))
}

// codeWords is how many estimates the mixed decisions of ranks of n codewords have in all
// contexts.
func codeWords(n int) int {
	most := bits.Len(uint(n - 1))
	return codeContexts(n) * (most + 3*max(0, most-1))
}
