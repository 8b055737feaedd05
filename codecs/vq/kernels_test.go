package vq

import (
	"testing"

	"github.com/pelmill/pelmill/gpu/gputest"
)

// shared is what Go and the kernels share.
var shared = gputest.Header{
	Include: "../../gpu/include/base.cuh",
	Constants: []gputest.Constant{
		{Name: "index_bits", Value: indexBits, Note: "of a key"},
		{Name: "most_codewords", Value: maxCodewords},
		{Name: "seed_blocks", Value: seedBlocks, Note: "to draw from, for each codeword"},
		{Name: "seed_rounds", Value: seedRounds, Note: "a round adds one codeword for every so many that there are"},
		{Name: "sample_seed", Value: uint64(sampleSeed)},
		{Name: "block_threads", Value: blockThreads, Note: "where an item has one block of threads"},
		{Name: "search_threads", Value: searchThreads},
		{Name: "search_many", Value: searchMany, Note: "blocks for a block of threads"},
		{Name: "search_many_64", Value: searchMany64, Note: "likewise, of 64 samples"},
		{Name: "search_few", Value: searchFew, Note: "likewise, where there are few"},
		{Name: "activities", Value: activities, Note: "bit lengths of an activity"},
		{Name: "mismatches", Value: mismatches, Note: "and of a mismatch"},
		{Name: "surrounds", Value: surrounds},
		{Name: "mixed", Value: mixed, Note: "contexts of a decision"},
		{Name: "context_start_1", Value: contextStart[1]},
		{Name: "context_start_2", Value: contextStart[2]},
		{Name: "context_start_3", Value: contextStart[3]},
		{Name: "no_rank", Value: noRank, Note: "bit length that stands for the rank of a missing neighbour"},
		{Name: "mix_start", Value: mixStart, Note: "first weight of an estimate"},
		{Name: "mix_shift", Value: mixShift, Note: "rate of the weights"},
		{Name: "prob_min", Value: probMin, Note: "of a probability, in 1/65536"},
		{Name: "adapt_limit", Value: adaptLimit, Note: "of the decisions that an estimate counts"},
		{Name: "chunk_blocks", Value: chunkBlocks, Note: "that the model is ahead of the range coder"},
		{Name: "chunk_decisions", Value: chunkDecisions},
		{Name: "decisions_room", Value: decisionsRoom, Note: "with a word of each lane for what is none"},
		{Name: "expect_one", Value: uint32(expectOne), Note: "of a decision: it is 1"},
		{Name: "expect_left", Value: 1<<17 - 1, Note: "of a decision: what it leaves of the range, in 1/65536"},
	},
	Structs: []gputest.Struct{
		{Name: "Image", Value: deviceImage{}}, {Name: "Sample", Value: deviceSample{}}, {Name: "Search", Value: deviceSearch{}}, {Name: "SearchParams", Value: searchParams{}},
		{Name: "Training", Value: deviceTraining{}}, {Name: "Index", Value: deviceIndex{}},
		{Name: "ResumeParams", Value: resumeParams{}}, {Name: "AddParams", Value: addParams{}},
		{Name: "HalvesParams", Value: halvesParams{}}, {Name: "OrderParams", Value: orderParams{}},
		{Name: "ShiftParams", Value: shiftParams{}},
		{Name: "Expansion", Value: deviceExpansion{}}, {Name: "ExpandGreyParams", Value: expandGreyParams{}},
		{Name: "Segment", Value: deviceSegment{}}, {Name: "Tables", Value: deviceTables{}},
		{Name: "Coder", Value: deviceCoder{}}, {Name: "CodeParams", Value: codeParams{}},
		{Name: "Book", Value: deviceBook{}}, {Name: "Stream", Value: deviceStream{}},
		{Name: "DecodeParams", Value: decodeParams{}}, {Name: "Prepared", Value: devicePrepared{}}, {Name: "Expecting", Value: deviceExpecting{}},
	},
}

func TestKernelsAreCompiled(t *testing.T) {
	gputest.Shared(t, "shared.cuh", shared)
	gputest.Kernels(t, "kernels.cu", 75, 80)
	gputest.Kernels(t, "testdata/peer.cu", 75) // of the benchmarks
}

// The table has all kernels, and each takes its parameters where the Go structs put them.
func TestKernelTable(t *testing.T) {
	if err := kernels.Check(); err != nil {
		t.Error(err)
	}
}
