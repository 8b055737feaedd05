package sha256pair

import "golang.org/x/sys/cpu"

// bestKernel is the fastest that this machine and its operating system can run.
var bestKernel = func() kernel {
	const sha = 1 << 29 // which golang.org/x/sys/cpu does not tell
	most, _, _, _ := cpuid(0, 0)
	if most < 7 || !cpu.X86.HasSSSE3 || !cpu.X86.HasSSE41 {
		return kernelGo
	}
	_, b, _, _ := cpuid(7, 0)
	switch {
	case b&sha == 0:
		return kernelGo
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL:
		return kernelAVX512
	}
	return kernelSHANI
}()

// blocks takes n blocks from p into the state s, and as many from q into t.
func (k kernel) blocks(s, t *[8]uint32, p, q []byte, n int) {
	_, _ = p[64*n-1], q[64*n-1]
	if k == kernelAVX512 {
		pairAVX512(s, t, &p[0], &q[0], n)
	} else {
		pairSHANI(s, t, &p[0], &q[0], n)
	}
}

//go:noescape
func pairSHANI(s, t *[8]uint32, p, q *byte, blocks int)

//go:noescape
func pairAVX512(s, t *[8]uint32, p, q *byte, blocks int)

func cpuid(leaf, sub uint32) (a, b, c, d uint32)
