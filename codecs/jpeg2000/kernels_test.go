package jpeg2000

import (
	"math"
	"testing"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// shared is what Go and the kernels share.
var shared = gputest.Header{
	Include: "../../gpu/include/base.cuh",
	Constants: append([]gputest.Constant{
		{Name: "block_threads", Value: gpu.BlockThreads},
		{Name: "block_warps", Value: blockWarps, Note: "of a block of threads that has a code-block for each"},
		{Name: "quad_threads", Value: quadThreads, Note: "of a block of threads that decodes quads"},
		{Name: "quad_lanes", Value: quadLanes, Note: "of a warp of it those that have a code-block each"},
		{Name: "quad_blocks", Value: quadThreads / warp * quadLanes, Note: "code-blocks of such a block of threads"},
		{Name: "plane_threads", Value: planeThreads, Note: "of a block of threads that has a bit-plane for each thread"},
		{Name: "encode_threads", Value: encodeThreads, Note: "of a block of threads that has a code-block of Part 1 for each thread"},
		{Name: "decode_threads", Value: decodeThreads},
		{Name: "state_count", Value: len(deviceTables{}.Following), Note: "states of the arithmetic coder, twice"},
		{Name: "unit_bits", Value: bitplane.UnitBits, Note: "fractional bits of squared errors"},
		{Name: "tile_width", Value: tileWidth, Note: "samples that a block of threads transforms"},
		{Name: "tile_height", Value: tileHeight},
		{Name: "max_side", Value: 1024, Note: "of a code-block"},
		{Name: "max_quads", Value: 1024, Note: "of a code-block"},
		{Name: "max_suffix", Value: 4079, Note: "bytes of MEL and VLC"},
		{Name: "extended_u", Value: 28, Note: "the least suffix of u that has an extension"},
	}, constants97()...),
	Structs: []gputest.Struct{
		{Name: "Image", Value: deviceImage{}}, {Name: "Plane", Value: devicePlane{}},
		{Name: "Block", Value: deviceBlock{}}, {Name: "CodedBlock", Value: deviceCodedBlock{}},
		{Name: "Tables", Value: deviceTables{}}, {Name: "Scan", Value: deviceScan{}}, {Name: "BitPlane", Value: deviceBitPlane{}},
		{Name: "Passes", Value: devicePasses{}}, {Name: "Array", Value: deviceArray{}}, {Name: "Refined", Value: deviceRefined{}},
	},
}

// constants97 are the parameters of 9/7, the bits of float32.
func constants97() (list []gputest.Constant) {
	steps, low, high := wavelet.Steps97()
	for i, name := range []string{"alpha97", "beta97", "gamma97", "delta97"} {
		list = append(list, gputest.Constant{Name: name, Value: math.Float32bits(steps[i]), Note: "bits of a float32"})
	}
	return append(list, gputest.Constant{Name: "low97", Value: math.Float32bits(low), Note: "likewise"}, gputest.Constant{Name: "high97", Value: math.Float32bits(high), Note: "likewise"})
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
