//go:build !amd64

package raster

func setVector(bool) func() { return func() {} }
