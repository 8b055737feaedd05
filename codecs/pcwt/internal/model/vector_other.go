//go:build !amd64

package model

// hasAVX2 is false: the kernels below are never called.
var hasAVX2 = false

func sumsAVX2(out, cells *int16, program *int32, features, shift uint64)                         {}
func dotsAVX2(out *int32, sums, weights *int16, keys *uint8, eights uint64)                      {}
func roundAVX2(predictions, fractions *int32, eights, qmin uint64)                               {}
func contextsAVX2(contexts *int32, any *int16, directions *uint8, bias *int32, eights uint64)    {}
func texturesAVX2(textures, directions *uint8, cells *int16, program *int32, t, sixteens uint64) {}
func uniformAVX2(out *int32, sums, weights *int16, pairs uint64)                                 {}
func splitAVX2(even, odd, samples *int16, blocks uint64)                                         {}
func magnitudesAVX2(out, e *int16, sixteens uint64)                                              {}
func saturateAVX2(out *int16, v *int32, sixteens uint64)                                         {}
