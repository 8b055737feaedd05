//go:build !amd64

package tiff

func setVector(bool) func() { return func() {} }
