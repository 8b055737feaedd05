// Code generated from Go structs and constants by make kernels. DO NOT EDIT.
#pragma once

#include "../../gpu/include/base.cuh"

constexpr uint32_t alpha_at = 0; // where the symbols of each kind begin in a prefix code group
constexpr uint32_t red_at = 256;
constexpr uint32_t blue_at = 512;
constexpr uint32_t distance_at = 768;
constexpr uint32_t green_at = 808;
constexpr uint32_t length_at = 1064;
constexpr uint32_t cache_at = 1088;
constexpr uint32_t covered = 65535; // as a length: the pixel lies inside a backward reference
constexpr uint32_t cached = 65534; // as a length: the pixel is coded by its index in the colour cache
constexpr uint32_t max_length = 4095; // of a backward reference, in pixels
constexpr uint32_t max_distance = 1048456; // of a backward reference, in pixels
constexpr uint32_t max_cache_bits = 11;
constexpr uint32_t opaque_black = 4278190080;
constexpr uint32_t mode_count = 14; // modes of the predictor
constexpr uint32_t log2_bits = 16; // fraction bits of a logarithm
constexpr uint32_t cost_bits = 8; // fraction bits of a cost
constexpr uint32_t max_cost = 5120; // of a symbol
constexpr uint32_t no_group = 2147483647; // cost of a group that no tile may move to
constexpr uint32_t closed = 2147483648; // cost of a group that no tile may move to or leave
constexpr uint32_t lone_symbol_size = 393216; // estimates for the description of a code, 1/65536 bit: cluster.go of package entropy
constexpr uint32_t description_size = 2621440;
constexpr uint32_t same_length_size = 98304;
constexpr uint32_t next_length_size = 163840;
constexpr uint32_t other_length_size = 262144;
constexpr uint32_t unused_size = 131072;
constexpr uint32_t unused_run_size = 393216;
constexpr uint32_t unused_run = 100;
constexpr uint32_t first_digits = 4;
constexpr uint32_t group_weight = 32; // of a group's symbols in its costs: cluster.go
constexpr uint32_t image_weight = 64; // of the image's symbols in the costs of a group
constexpr uint32_t seed_weight = 4; // of the symbols around the seed of a group
constexpr uint32_t max_start_groups = 32; // that a clustering starts with
constexpr uint32_t block_threads = 256;
constexpr uint32_t image_block = 1024; // threads of a block that has a whole image
constexpr uint32_t strip_pixels = 4; // of a row that a thread of webp_choose_modes takes at a time: tiles are never narrower
constexpr uint32_t histogram_tiles = 128; // that a block of webp_histograms counts
constexpr uint32_t pack_pixels = 4; // of a thread of the packing kernels, one after the other
constexpr uint32_t offset_pixels = 8; // of a thread of webp_offsets
constexpr uint32_t link_pixels = 65536; // of a chunk of the hash chains
constexpr uint32_t link_entries = 65536; // of a chunk's table: one for each key
constexpr uint32_t cache_pixels = 16384; // of a chunk of the colour caches

// Slot is an image of a batch on the device. Each kernel reads what its comment names; the rest may be null or 0. Tiles
// are in raster order and 1 << bits on a side.
struct Slot {
	const uint8_t *source; // height x width x channels samples, or 0xAARRGGBB where channels is 0
	uint32_t *argb; // height x width: what the predictor predicts from
	uint32_t *residual; // height x width: after the predictor transform
	uint32_t *coded; // height x width: after all transforms
	uint8_t *modes; // by tile of mode_bits
	const uint32_t *mode_costs; // 14, 1/256 bit
	uint32_t *multipliers; // by tile of colour_bits; null: no colour transform
	const uint16_t *multiplier_costs; // 3 x 256, 1/256 bit: red-to-blue, green-to-blue, green-to-red
	uint16_t *groups; // by tile of group_bits: its prefix code group; null: there is one
	uint32_t *order; // the tiles of groups, those of a group side by side; null: there is one group
	const uint16_t *costs; // by group and symbol, 1/256 bit
	const uint32_t *group_costs; // by group, 1/256 bit: of naming it in the entropy image
	uint32_t *result; // what the kernel's comment says, zero before
	const uint32_t *codes; // by group and symbol: bits << 4 | length, the first bit lowest
	uint64_t *scratch; // zero before: state of a running sum, costs by symbol, or Clusters
	uint16_t *length; // height x width, of the parse: format.Parse
	uint32_t *value; // height x width, of the parse
	uint8_t *hits; // height x width: bits of the smallest cache that has the pixel, or 0xff
	uint32_t *counts; // what the kernel's comment says, zero before
	uint32_t *tables; // by chunk, of the hash chains and of the caches, zero before
	const uint32_t *distances; // rows, see match.cuh
	const uint8_t *distance_codes; // by distance, 7 x width + 9: its least code up to 120, or 0
	const uint32_t *ends; // of the bands of a parse: the position after the last, rising
	uint32_t *equal; // by word and row, see match.cuh
	uint16_t *reach; // by word and row, see match.cuh
	uint32_t *prev; // height x width: 1 + the latest earlier position with the same key, or 0
	uint32_t *offsets; // height x width + 1: where the candidates of a position begin
	const uint32_t *references; // of a new parse: where each begins, and code - 1 << 12 | length; null: no new one
	uint64_t words; // that result has, of the packing kernels
	uint64_t first; // bit in result where packing begins
	uint32_t width; // pixels
	uint32_t height; // pixels
	uint32_t channels; // of source
	uint32_t exact; // 0: pixels of alpha 0 are loaded as 0
	uint32_t opaque; // 1: alpha is the same everywhere, and nothing looks at it
	uint32_t mode_bits; // log2 of the side of a tile of the predictor
	uint32_t colour_bits; // of the colour transform
	uint32_t group_bits; // of the entropy image
	uint32_t group_count; // prefix code groups
	uint32_t symbols; // of a group
	uint32_t near; // how far the number of a tile's group may move; 0: anywhere
	uint32_t skip; // of that many rows of a tile one counts for modes and multipliers
	uint32_t count; // steps, or groups that a clustering starts with
	uint32_t steps[8]; // of the search for multipliers, in turn
	uint32_t cache_bits; // of the colour cache
	uint32_t rows; // of distances
	uint32_t bands; // of a parse
	uint32_t depth; // earlier positions of the same key that are tried
	uint32_t stop_length; // a candidate as long as this ends the search
	uint32_t reference_count; // backward references
	uint32_t unused;
};
static_assert(sizeof(Slot) == 352, "Slot");
static_assert(__builtin_offsetof(Slot, source) == 0, "Source");
static_assert(__builtin_offsetof(Slot, argb) == 8, "Argb");
static_assert(__builtin_offsetof(Slot, residual) == 16, "Residual");
static_assert(__builtin_offsetof(Slot, coded) == 24, "Coded");
static_assert(__builtin_offsetof(Slot, modes) == 32, "Modes");
static_assert(__builtin_offsetof(Slot, mode_costs) == 40, "ModeCosts");
static_assert(__builtin_offsetof(Slot, multipliers) == 48, "Multipliers");
static_assert(__builtin_offsetof(Slot, multiplier_costs) == 56, "MultiplierCosts");
static_assert(__builtin_offsetof(Slot, groups) == 64, "Groups");
static_assert(__builtin_offsetof(Slot, order) == 72, "Order");
static_assert(__builtin_offsetof(Slot, costs) == 80, "Costs");
static_assert(__builtin_offsetof(Slot, group_costs) == 88, "GroupCosts");
static_assert(__builtin_offsetof(Slot, result) == 96, "Result");
static_assert(__builtin_offsetof(Slot, codes) == 104, "Codes");
static_assert(__builtin_offsetof(Slot, scratch) == 112, "Scratch");
static_assert(__builtin_offsetof(Slot, length) == 120, "Length");
static_assert(__builtin_offsetof(Slot, value) == 128, "Value");
static_assert(__builtin_offsetof(Slot, hits) == 136, "Hits");
static_assert(__builtin_offsetof(Slot, counts) == 144, "Counts");
static_assert(__builtin_offsetof(Slot, tables) == 152, "Tables");
static_assert(__builtin_offsetof(Slot, distances) == 160, "Distances");
static_assert(__builtin_offsetof(Slot, distance_codes) == 168, "DistanceCodes");
static_assert(__builtin_offsetof(Slot, ends) == 176, "Ends");
static_assert(__builtin_offsetof(Slot, equal) == 184, "Equal");
static_assert(__builtin_offsetof(Slot, reach) == 192, "Reach");
static_assert(__builtin_offsetof(Slot, prev) == 200, "Prev");
static_assert(__builtin_offsetof(Slot, offsets) == 208, "Offsets");
static_assert(__builtin_offsetof(Slot, references) == 216, "References");
static_assert(__builtin_offsetof(Slot, words) == 224, "Words");
static_assert(__builtin_offsetof(Slot, first) == 232, "First");
static_assert(__builtin_offsetof(Slot, width) == 240, "Width");
static_assert(__builtin_offsetof(Slot, height) == 244, "Height");
static_assert(__builtin_offsetof(Slot, channels) == 248, "Channels");
static_assert(__builtin_offsetof(Slot, exact) == 252, "Exact");
static_assert(__builtin_offsetof(Slot, opaque) == 256, "Opaque");
static_assert(__builtin_offsetof(Slot, mode_bits) == 260, "ModeBits");
static_assert(__builtin_offsetof(Slot, colour_bits) == 264, "ColourBits");
static_assert(__builtin_offsetof(Slot, group_bits) == 268, "GroupBits");
static_assert(__builtin_offsetof(Slot, group_count) == 272, "GroupCount");
static_assert(__builtin_offsetof(Slot, symbols) == 276, "Symbols");
static_assert(__builtin_offsetof(Slot, near) == 280, "Near");
static_assert(__builtin_offsetof(Slot, skip) == 284, "Skip");
static_assert(__builtin_offsetof(Slot, count) == 288, "Count");
static_assert(__builtin_offsetof(Slot, steps) == 292, "Steps");
static_assert(__builtin_offsetof(Slot, cache_bits) == 324, "CacheBits");
static_assert(__builtin_offsetof(Slot, rows) == 328, "Rows");
static_assert(__builtin_offsetof(Slot, bands) == 332, "Bands");
static_assert(__builtin_offsetof(Slot, depth) == 336, "Depth");
static_assert(__builtin_offsetof(Slot, stop_length) == 340, "StopLength");
static_assert(__builtin_offsetof(Slot, reference_count) == 344, "ReferenceCount");
static_assert(__builtin_offsetof(Slot, unused) == 348, "Unused");
