package model

import "golang.org/x/sys/cpu"

// hasAVX2 lets tests run both ways.
var hasAVX2 = cpu.X86.HasAVX2

//go:noescape
func sumsAVX2(out, cells *int16, program *int32, features, shift uint64)

//go:noescape
func halfRowAVX2(c *halfRowCall)

//go:noescape
func texturesAVX2(textures, directions *uint8, cells *int16, program *int32, thresholds, sixteens uint64)

//go:noescape
func splitAVX2(even, odd, samples *int16, blocks uint64)

//go:noescape
func magnitudesAVX2(out, e *int16, sixteens uint64)

//go:noescape
func saturateAVX2(out *int16, v *int32, sixteens uint64)
