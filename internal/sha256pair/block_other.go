//go:build !amd64

package sha256pair

const bestKernel = kernelGo

func (kernel) blocks(s, t *[8]uint32, p, q []byte, n int) { panic("sha256pair: no kernel") }
