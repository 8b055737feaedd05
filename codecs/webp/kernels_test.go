package webp

import (
	"errors"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/internal/container/webp/lossless"
)

// shared is what Go and the kernels share.
var shared = gputest.Header{
	Include: "../../gpu/include/base.cuh",
	Constants: []gputest.Constant{
		{Name: "alpha_at", Value: format.AlphaAt, Note: "where the symbols of each kind begin in a prefix code group"},
		{Name: "red_at", Value: format.RedAt},
		{Name: "blue_at", Value: format.BlueAt},
		{Name: "distance_at", Value: format.DistanceAt},
		{Name: "green_at", Value: format.GreenAt},
		{Name: "length_at", Value: format.LengthAt},
		{Name: "cache_at", Value: format.CacheAt},
		{Name: "covered", Value: format.Covered, Note: "as a length: the pixel lies inside a backward reference"},
		{Name: "cached", Value: format.Cached, Note: "as a length: the pixel is coded by its index in the colour cache"},
		{Name: "max_length", Value: format.MaxLength, Note: "of a backward reference, in pixels"},
		{Name: "max_distance", Value: format.MaxDistance, Note: "of a backward reference, in pixels"},
		{Name: "max_cache_bits", Value: format.MaxCacheBits},
		{Name: "opaque_black", Value: uint32(format.OpaqueBlack)},
		{Name: "mode_count", Value: transform.ModeCount, Note: "modes of the predictor"},
		{Name: "log2_bits", Value: entropy.Log2Bits, Note: "fraction bits of a logarithm"},
		{Name: "cost_bits", Value: entropy.CostBits, Note: "fraction bits of a cost"},
		{Name: "max_cost", Value: entropy.MaxCost, Note: "of a symbol"},
		{Name: "no_group", Value: uint32(entropy.NoGroup), Note: "cost of a group that no tile may move to"},
		{Name: "closed", Value: uint32(entropy.Closed), Note: "cost of a group that no tile may move to or leave"},
		{Name: "lone_symbol_size", Value: entropy.LoneSymbolSize, Note: "estimates for the description of a code, 1/65536 bit: cluster.go of package entropy"},
		{Name: "description_size", Value: entropy.DescriptionSize},
		{Name: "same_length_size", Value: entropy.SameLengthSize},
		{Name: "next_length_size", Value: entropy.NextLengthSize},
		{Name: "other_length_size", Value: entropy.OtherLengthSize},
		{Name: "unused_size", Value: entropy.UnusedSize},
		{Name: "unused_run_size", Value: entropy.UnusedRunSize},
		{Name: "unused_run", Value: entropy.UnusedRun},
		{Name: "first_digits", Value: entropy.FirstDigits},
		{Name: "group_weight", Value: entropy.GroupWeight, Note: "of a group's symbols in its costs: cluster.go"},
		{Name: "image_weight", Value: entropy.ImageWeight, Note: "of the image's symbols in the costs of a group"},
		{Name: "seed_weight", Value: entropy.SeedWeight, Note: "of the symbols around the seed of a group"},
		{Name: "max_start_groups", Value: entropy.MaxStartGroups, Note: "that a clustering starts with"},
		{Name: "block_threads", Value: gpu.BlockThreads},
		{Name: "image_block", Value: imageBlock, Note: "threads of a block that has a whole image"},
		{Name: "strip_pixels", Value: stripPixels, Note: "of a row that a thread of webp_choose_modes takes at a time: tiles are never narrower"},
		{Name: "histogram_tiles", Value: histogramTiles, Note: "that a block of webp_histograms counts"},
		{Name: "pack_pixels", Value: packPixels, Note: "of a thread of the packing kernels, one after the other"},
		{Name: "offset_pixels", Value: offsetPixels, Note: "of a thread of webp_offsets"},
		{Name: "link_pixels", Value: linkPixels, Note: "of a chunk of the hash chains"},
		{Name: "link_entries", Value: 1 << backref.KeyBits, Note: "of a chunk's table: one for each key"},
		{Name: "cache_pixels", Value: cachePixels, Note: "of a chunk of the colour caches"},
	},
	Structs: []gputest.Struct{{Name: "Slot", Value: slot{}}},
}

// coded is what Go and the kernels of the decoder share.
var coded = gputest.Header{
	Include: "../../gpu/include/base.cuh",
	Constants: []gputest.Constant{
		{Name: "predictor", Value: lossless.Predictor, Note: "kinds of transforms"},
		{Name: "cross_colour", Value: lossless.CrossColour},
		{Name: "subtract_green", Value: lossless.SubtractGreen},
		{Name: "literals", Value: lossless.Literals, Note: "symbols of green below this are literals"},
		{Name: "lengths", Value: lossless.Lengths, Note: "and so many from there on lengths"},
		{Name: "near_codes", Value: lossless.Near, Note: "distance codes that stand for neighbours"},
		{Name: "max_cache_bits", Value: format.MaxCacheBits},
		{Name: "first_bits", Value: lossless.FirstBits, Note: "that a first table is looked up with, at most"},
		{Name: "shared_words", Value: sharedWords},
		{Name: "predictor_rows", Value: predictorRows},
	},
	Structs: []gputest.Struct{
		{Name: "ImageState", Value: imageState{}}, {Name: "Group", Value: codedGroup{}},
		{Name: "Transform", Value: codedTransform{}}, {Name: "CodedImage", Value: codedImage{}},
	},
}

func TestKernelsAreCompiled(t *testing.T) {
	gputest.Shared(t, "shared.cuh", shared)
	gputest.Kernels(t, "kernels.cu", 75)
	gputest.Shared(t, "coded.cuh", coded)
	gputest.Kernels(t, "decode.cu", 75)
}

// The table has all kernels, and each takes its parameters where the Go structs put them.
func TestKernelTable(t *testing.T) {
	if err := errors.Join(kernels.Check(), decoderKernels.Check()); err != nil {
		t.Error(err)
	}
}
