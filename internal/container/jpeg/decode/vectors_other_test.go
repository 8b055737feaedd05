//go:build !amd64

package decode

func setVector(bool) func() { return func() {} }
