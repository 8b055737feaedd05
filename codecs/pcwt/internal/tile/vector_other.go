//go:build !amd64

package tile

// hasVectors is false: the kernels below are never called.
var hasVectors = false

func symbolsAVX2(c *symbolCall)                         {}
func encodeTile(c *encodeCall)                          {}
func decodeHalf(c *decodeCall)                          {}
func split32AVX2(even, odd, row *int32, eights uint64)  {}
func join32AVX2(row, even, odd *int32, eights uint64)   {}
func join16AVX2(row, even, odd *int16, sixteens uint64) {}
