//go:build !amd64

package lossless

func setVector(bool) func() { return func() {} }
