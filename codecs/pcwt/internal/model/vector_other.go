//go:build !amd64

package model

// hasAVX2 is false: the kernels below are never called.
var hasAVX2 = false

func sumsAVX2(out, cells *int16, program *int32, features, shift uint64)                         {}
func halfRowAVX2(c *halfRowCall)                                                                 {}
func texturesAVX2(textures, directions *uint8, cells *int16, program *int32, t, sixteens uint64) {}
func splitAVX2(even, odd, samples *int16, blocks uint64)                                         {}
func magnitudesAVX2(out, e *int16, sixteens uint64)                                              {}
func saturateAVX2(out *int16, v *int32, sixteens uint64)                                         {}
