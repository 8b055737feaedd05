//go:build !amd64

package vq

func mergeRow(rgb, luma, co, cg []byte, shift int) { mergeRowGo(rgb, luma, co, cg, shift) }
