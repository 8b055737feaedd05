//go:build !amd64

package png

func setVector(bool) func() { return func() {} }
