package vq

import (
	"regexp"
	"testing"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

func TestKernelsAreCompiled(t *testing.T) {
	gputest.Kernels(t, "kernels.cu", 75, 80)
	gputest.Kernels(t, "testdata/peer.cu", 75) // of the benchmarks
}

// Every kernel takes its parameters where the Go structs put them.
func TestKernelParameters(t *testing.T) {
	for _, text := range cardModule.Variants {
		for _, m := range regexp.MustCompile(`\.entry\s+(\w+)`).FindAllStringSubmatch(text, -1) {
			if kernelParams[m[1]] == nil {
				t.Errorf("kernel %s has no parameters in kernelParams", m[1])
			}
		}
	}
	for kernel, params := range kernelParams {
		if err := gpu.CheckParams(&cardModule, kernel, params); err != nil {
			t.Error(err)
		}
	}
}
