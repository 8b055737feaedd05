package comparison

import (
	"testing"

	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// shared is what Go and the kernels share.
var shared = gputest.Header{
	Include: "../../gpu/include/warp.cuh",
	Constants: []gputest.Constant{
		{Name: "window", Value: raster.Window}, {Name: "stride", Value: raster.WindowStride}, {Name: "block_threads", Value: blockThreads},
	},
	Structs: []gputest.Struct{{Name: "Found", Value: deviceFound{}}, {Name: "Slice", Value: deviceSlice{}}},
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
