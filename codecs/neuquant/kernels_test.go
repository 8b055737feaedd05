package neuquant

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/neuquant/internal/deflate"
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
		{Name: "thread_colours", Value: threadColours, Note: "that a thread of nq_map takes"},
		{Name: "bin_threads", Value: binThreads, Note: "of a block of nq_bins"},
		{Name: "bin_colours", Value: binColours, Note: "that each of them takes"},
		{Name: "census_indices", Value: censusIndices, Note: "that a thread of nq_census counts"},
		{Name: "train_warps", Value: trainWarps, Note: "of a block of nq_train, each with a problem of its own"},
		{Name: "refine_threads", Value: refineThreads, Note: "of a block of nq_refine, which has a problem"},
		{Name: "network_words", Value: networkWords, Note: "of the state of a training between launches"},
		{Name: "look_threads", Value: warp, Note: "of a block of nq_look and nq_divide, which has a stream"},
		{Name: "look_bits", Value: lookBits, Note: "of the hashes whose table a warp of nq_look has in shared memory"},
		{Name: "parse_threads", Value: parseThreads, Note: "of a block of nq_parse, which has a stream"},
		{Name: "pack_threads", Value: packThreads, Note: "of a block of nq_pack, which has a block of a stream"},
		{Name: "planned_chunks", Value: plannedChunks, Note: "that nq_parse plans at the same time"},
		{Name: "chunk_bytes", Value: deflate.ChunkBytes, Note: "that are searched and planned at once"},
		{Name: "most_tokens", Value: deflate.MaxTokens, Note: "between two ends of segments that are written"},
		{Name: "segment_tokens", Value: deflate.SegmentTokens, Note: "of the shortest segment but the last"},
		{Name: "most_segments", Value: deflate.MaxSegments, Note: "that are joined"},
		{Name: "least_hash_bits", Value: deflate.MinHashBits},
		{Name: "long_hash_bits", Value: deflate.MaxHashBits, Note: "of the tables of four and of six bytes"},
		{Name: "short_hash_bits", Value: deflate.MaxShortBits, Note: "of the table of three bytes"},
		{Name: "most_short", Value: deflate.MaxShort, Note: "distance of a match of three bytes"},
		{Name: "search_depth", Value: deflate.Depth},
		{Name: "search_depth_behind", Value: deflate.DepthBehind},
		{Name: "good_match", Value: deflate.GoodMatch, Note: "that is taken at once"},
		{Name: "symbol_count", Value: deflate.Symbols, Note: "of literals, the end of a block and lengths"},
		{Name: "distance_symbols", Value: deflate.Distances},
	},
	Structs: []gputest.Struct{{Name: "Problem", Value: deviceProblem{}}, {Name: "TrainParams", Value: trainParams{}}, {Name: "Segment", Value: deflate.Segment{}}, {Name: "Stream", Value: deviceStream{}}, {Name: "Block", Value: deflate.Block{}}, {Name: "Pack", Value: devicePack{}}},
}

func TestKernelsAreCompiled(t *testing.T) {
	gputest.Shared(t, "shared.cuh", shared)
	gputest.Kernels(t, "kernels.cu", 75, 80)
	gputest.Kernels(t, "parse.cu", 75)
	gputest.Kernels(t, "pack.cu", 75)
}

// The table has all kernels, and each takes its parameters where the Go structs put them.
func TestKernelTable(t *testing.T) {
	if err := kernels.Check(); err != nil {
		t.Error(err)
	}
	if err := streamKernels.Check(); err != nil {
		t.Error(err)
	}
	if err := packKernels.Check(); err != nil {
		t.Error(err)
	}
}
