// Code generated from Go structs and constants by make kernels. DO NOT EDIT.
#pragma once

#include "../../gpu/include/base.cuh"

constexpr uint32_t predictor = 0; // kinds of transforms
constexpr uint32_t cross_colour = 1;
constexpr uint32_t subtract_green = 2;
constexpr uint32_t literals = 256; // symbols of green below this are literals
constexpr uint32_t lengths = 24; // and so many from there on lengths
constexpr uint32_t near_codes = 120; // distance codes that stand for neighbours
constexpr uint32_t max_cache_bits = 11;
constexpr uint32_t first_bits = 8; // that a first table is looked up with, at most
constexpr uint32_t shared_words = 12288;
constexpr uint32_t predictor_rows = 512;

// ImageState is what kernels find out about an image.
struct ImageState {
	uint32_t broken; // 1: the bitstream breaks a rule
	uint32_t coloured; // 1: a pixel is not grey; also before, where a mark of the file says that grey pixels are colour
};
static_assert(sizeof(ImageState) == 8, "ImageState");
static_assert(__builtin_offsetof(ImageState, broken) == 0, "Broken");
static_assert(__builtin_offsetof(ImageState, coloured) == 4, "Coloured");

// Group is the prefix codes of a group: for each where its first table begins, and which of the next bits it is
// looked up with.
struct Group {
	uint32_t green; // and lengths, and places of the cache
	uint32_t green_mask;
	uint32_t red;
	uint32_t red_mask;
	uint32_t blue;
	uint32_t blue_mask;
	uint32_t alpha;
	uint32_t alpha_mask;
	uint32_t distance;
	uint32_t distance_mask;
	uint32_t only_alpha; // alpha << 24 where its code has one symbol
	uint32_t end; // of the tables
};
static_assert(sizeof(Group) == 48, "Group");
static_assert(__builtin_offsetof(Group, green) == 0, "Green");
static_assert(__builtin_offsetof(Group, green_mask) == 4, "GreenMask");
static_assert(__builtin_offsetof(Group, red) == 8, "Red");
static_assert(__builtin_offsetof(Group, red_mask) == 12, "RedMask");
static_assert(__builtin_offsetof(Group, blue) == 16, "Blue");
static_assert(__builtin_offsetof(Group, blue_mask) == 20, "BlueMask");
static_assert(__builtin_offsetof(Group, alpha) == 24, "Alpha");
static_assert(__builtin_offsetof(Group, alpha_mask) == 28, "AlphaMask");
static_assert(__builtin_offsetof(Group, distance) == 32, "Distance");
static_assert(__builtin_offsetof(Group, distance_mask) == 36, "DistanceMask");
static_assert(__builtin_offsetof(Group, only_alpha) == 40, "OnlyAlpha");
static_assert(__builtin_offsetof(Group, end) == 44, "End");

// Transform is a transform that the device undoes.
struct Transform {
	const uint32_t *pix; // pixels of the tiles, or 256 colours
	uint32_t kind;
	uint32_t width; // of the image that it was applied to
	uint32_t bits; // log2 of the side of a tile, or of how many pixels of a palette share one
	uint32_t rest;
};
static_assert(sizeof(Transform) == 24, "Transform");
static_assert(__builtin_offsetof(Transform, pix) == 0, "Pix");
static_assert(__builtin_offsetof(Transform, kind) == 8, "Kind");
static_assert(__builtin_offsetof(Transform, width) == 12, "Width");
static_assert(__builtin_offsetof(Transform, bits) == 16, "Bits");
static_assert(__builtin_offsetof(Transform, rest) == 20, "Rest");

// CodedImage is an image of a batch that a device decodes. See package lossless for what tables hold.
struct CodedImage {
	const uint32_t *words; // of the bitstream, from the one on in which the pixels begin
	const uint16_t *tables; // of all prefix codes, see codedEntries
	const Group *groups; // of prefix codes
	const uint32_t *numbers; // by tile: its group, as a pixel whose red and green are the high and the low byte; null: there is one group
	const uint32_t *near_distances; // by distance code less 1, of those that stand for neighbours
	const Transform *transforms; // in the order of the bitstream
	uint32_t *pixels; // height x coded width, then of the transforms up to the one that widens
	uint32_t *wide_pixels; // height x width, from there on; null: none widens
	uint32_t *samples; // height x width x channels bytes, and up to the next group of four pixels
	ImageState *state;
	uint64_t bits; // from the first of words to the end of the bitstream
	uint32_t word_count;
	uint32_t first_bit; // of the first word, where the pixels begin
	uint32_t width; // pixels
	uint32_t height; // pixels
	uint32_t coded_width; // pixels, less than width where pixels of a palette share one
	uint32_t group_count; // prefix code groups
	uint32_t tile_bits; // log2 of the side of a tile of numbers
	uint32_t cache_bits; // of the colour cache; 0: there is none
	uint32_t transform_count;
	uint32_t widened; // 1 + which transform makes several pixels of one; 0: none
	uint32_t alpha; // 1: the samples have alpha
	uint32_t entry_count; // of tables
};
static_assert(sizeof(CodedImage) == 136, "CodedImage");
static_assert(__builtin_offsetof(CodedImage, words) == 0, "Words");
static_assert(__builtin_offsetof(CodedImage, tables) == 8, "Tables");
static_assert(__builtin_offsetof(CodedImage, groups) == 16, "Groups");
static_assert(__builtin_offsetof(CodedImage, numbers) == 24, "Numbers");
static_assert(__builtin_offsetof(CodedImage, near_distances) == 32, "NearDistances");
static_assert(__builtin_offsetof(CodedImage, transforms) == 40, "Transforms");
static_assert(__builtin_offsetof(CodedImage, pixels) == 48, "Pixels");
static_assert(__builtin_offsetof(CodedImage, wide_pixels) == 56, "WidePixels");
static_assert(__builtin_offsetof(CodedImage, samples) == 64, "Samples");
static_assert(__builtin_offsetof(CodedImage, state) == 72, "State");
static_assert(__builtin_offsetof(CodedImage, bits) == 80, "Bits");
static_assert(__builtin_offsetof(CodedImage, word_count) == 88, "WordCount");
static_assert(__builtin_offsetof(CodedImage, first_bit) == 92, "FirstBit");
static_assert(__builtin_offsetof(CodedImage, width) == 96, "Width");
static_assert(__builtin_offsetof(CodedImage, height) == 100, "Height");
static_assert(__builtin_offsetof(CodedImage, coded_width) == 104, "CodedWidth");
static_assert(__builtin_offsetof(CodedImage, group_count) == 108, "GroupCount");
static_assert(__builtin_offsetof(CodedImage, tile_bits) == 112, "TileBits");
static_assert(__builtin_offsetof(CodedImage, cache_bits) == 116, "CacheBits");
static_assert(__builtin_offsetof(CodedImage, transform_count) == 120, "TransformCount");
static_assert(__builtin_offsetof(CodedImage, widened) == 124, "Widened");
static_assert(__builtin_offsetof(CodedImage, alpha) == 128, "Alpha");
static_assert(__builtin_offsetof(CodedImage, entry_count) == 132, "EntryCount");
