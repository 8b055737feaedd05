package webp

import (
	"regexp"
	"testing"
	"unsafe"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

func TestKernelsAreCompiled(t *testing.T) { gputest.Kernels(t, "kernels.cu", 75) }

// Every kernel takes its parameters where the Go structs put them.
func TestKernelParameters(t *testing.T) {
	for _, text := range module.Variants {
		for _, m := range regexp.MustCompile(`\.entry\s+(\w+)`).FindAllStringSubmatch(text, -1) {
			if kernelParams[m[1]] == nil {
				t.Errorf("kernel %s has no parameters in kernelParams", m[1])
			}
		}
	}
	for kernel, params := range kernelParams {
		if err := gpu.CheckParams(&module, kernel, params); err != nil {
			t.Error(err)
		}
	}
	// frame.cuh asserts the same size of its struct.
	if n := unsafe.Sizeof(deviceSlot{}); n != 29*8+26*4 {
		t.Errorf("a frame takes %d bytes", n)
	}
}
