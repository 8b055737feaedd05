//go:build !amd64

package inflate

func setVector(bool) func() { return func() {} }
