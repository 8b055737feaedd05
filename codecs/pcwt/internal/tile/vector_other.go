//go:build !amd64

package tile

// hasVectors is false: the kernels below are never called.
var hasVectors = false

func symbolsAVX2(c *symbolCall)                                                       {}
func encodeAVX2(c *encodeCall)                                                        {}
func decodeAVX2(c *decodeCall)                                                        {}
func valuesAVX2(values, residuals, predictions *int32, c, e, m *int16, eights uint64) {}
func split32AVX2(even, odd, row *int32, eights uint64)                                {}
func join32AVX2(row, even, odd *int32, eights uint64)                                 {}
func join16AVX2(row, even, odd *int16, sixteens uint64)                               {}
