package jpeg2000

import (
	"testing"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// shared is what Go and the kernels share.
var shared = gputest.Header{
	Include: "../../gpu/include/base.cuh",
	Constants: []gputest.Constant{
		{Name: "block_threads", Value: gpu.BlockThreads},
		{Name: "block_warps", Value: blockWarps, Note: "of a block of threads that has a code-block for each"},
		{Name: "quad_threads", Value: quadThreads, Note: "of a block of threads that has a code-block for each thread"},
		{Name: "tile_width", Value: tileWidth, Note: "samples that a block of threads transforms"},
		{Name: "tile_height", Value: tileHeight},
		{Name: "max_side", Value: 1024, Note: "of a code-block"},
		{Name: "max_quads", Value: 1024, Note: "of a code-block"},
		{Name: "max_suffix", Value: 4079, Note: "bytes of MEL and VLC"},
		{Name: "extended_u", Value: 28, Note: "the least suffix of u that has an extension"},
	},
	Structs: []gputest.Struct{
		{Name: "Image", Value: deviceImage{}}, {Name: "Plane", Value: devicePlane{}},
		{Name: "Block", Value: deviceBlock{}}, {Name: "CodedBlock", Value: deviceCodedBlock{}},
	},
}

func TestKernelsAreCompiled(t *testing.T) {
	gputest.Shared(t, "shared.cuh", shared)
	gputest.Kernels(t, "kernels.cu", 75)
}

// The table has all kernels, and each takes its parameters where the Go structs put them.
func TestKernelTable(t *testing.T) {
	if err := kernels.Check(); err != nil {
		t.Error(err)
	}
}
