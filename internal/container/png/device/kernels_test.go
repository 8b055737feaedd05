package device

import (
	"testing"

	"github.com/pelmill/pelmill/gpu/gputest"
)

// shared is what Go and the kernels share.
var shared = gputest.Header{
	Include: "../../../../gpu/include/warp.cuh",
	Constants: []gputest.Constant{
		{Name: "check_threads", Value: checkThreads, Note: "of a block that proves samples"},
		{Name: "inflate_threads", Value: inflateThreads, Note: "of the block that inflates a stream"},
		{Name: "span_bits", Value: spanBits, Note: "of a stream, that one of them decodes at a time"},
		{Name: "round_bytes", Value: roundBytes, Note: "that they write at a time, at most"},
		{Name: "lit_bits", Value: litBits, Note: "of a code for literals and lengths, that are looked up at once"},
		{Name: "dist_bits", Value: distBits, Note: "and of one for distances"},
		{Name: "ahead_pixels", Value: aheadPixels, Note: "that a lane reads together"},
	},
	Structs: []gputest.Struct{{Name: "Image", Value: deviceImage{}}},
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
