//go:build !amd64

package raster

func setVector(bool) func() { return func() {} }

func setVector512(bool) (restore func(), has bool) { return func() {}, false }
