package neuquant

import (
	"testing"

	"github.com/pelmill/pelmill/gpu/gputest"
)

// shared is what Go and the kernels share.
var shared = gputest.Header{
	Include: "../../gpu/include/base.cuh",
	Constants: []gputest.Constant{
		{Name: "most_entries", Value: maxEntries, Note: "of a palette"},
		{Name: "opaque_alpha", Value: uint32(opaqueAlpha)},
		{Name: "bin_bits", Value: binBits, Note: "of the number of a bin"},
		{Name: "bin_parts", Value: binParts, Note: "of the bins, of which a warp counts or lists one"},
		{Name: "thread_colours", Value: threadColours, Note: "that a thread of nq_bins and nq_map takes"},
		{Name: "train_warps", Value: trainWarps, Note: "of a block of nq_train, each with a problem of its own"},
		{Name: "refine_threads", Value: refineThreads, Note: "of a block of nq_refine, which has a problem"},
		{Name: "network_words", Value: networkWords, Note: "of the state of a training between launches"},
	},
	Structs: []gputest.Struct{{Name: "Problem", Value: deviceProblem{}}, {Name: "TrainParams", Value: trainParams{}}},
}

func TestKernelsAreCompiled(t *testing.T) {
	gputest.Shared(t, "shared.cuh", shared)
	gputest.Kernels(t, "kernels.cu", 75, 80)
}

// The table has all kernels, and each takes its parameters where the Go structs put them.
func TestKernelTable(t *testing.T) {
	if err := kernels.Check(); err != nil {
		t.Error(err)
	}
}
