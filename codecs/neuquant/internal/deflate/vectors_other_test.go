//go:build !amd64

package deflate

func setVector(bool) func() { return func() {} }
