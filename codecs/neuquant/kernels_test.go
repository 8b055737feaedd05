package neuquant

import (
	"regexp"
	"testing"
	"unsafe"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

func TestKernelsAreCompiled(t *testing.T) { gputest.Kernels(t, "kernels.cu", 75, 80) }

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
	// problem.cuh asserts the same size of its struct.
	if n := unsafe.Sizeof(cardProblem{}); n != 13*8+8*4 {
		t.Errorf("a problem takes %d bytes", n)
	}
}
