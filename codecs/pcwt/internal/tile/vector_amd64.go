package tile

import "golang.org/x/sys/cpu"

// hasVectors lets tests run both ways.
var hasVectors = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

//go:noescape
func symbolsAVX2(c *symbolCall)

//go:noescape
func encodeTile(c *encodeCall)

//go:noescape
func decodeHalf(c *decodeCall)

//go:noescape
func split32AVX2(even, odd, row *int32, eights uint64)

//go:noescape
func join32AVX2(row, even, odd *int32, eights uint64)

//go:noescape
func join16AVX2(row, even, odd *int16, sixteens uint64)
