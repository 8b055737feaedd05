// Code generated from Go structs and constants by make kernels. DO NOT EDIT.
#pragma once

#include "../../gpu/include/base.cuh"

constexpr uint32_t tile_width = 64; // samples that a block of threads transforms
constexpr uint32_t tile_height = 32;
constexpr uint32_t tile_threads = 256;
constexpr uint32_t group_threads = 256;
constexpr uint32_t reader_threads = 64;
constexpr uint32_t filter_53 = 0;
constexpr uint32_t filter_137 = 1;
constexpr uint32_t filter_2 = 2; // two taps, no update
constexpr uint32_t error_group = 1; // a group does not end where its elements do
constexpr uint32_t error_tile = 2; // a tile's stream does not end as it must
constexpr uint32_t error_range = 3; // a sample is not in its range
constexpr uint32_t coder_threads = 64;
constexpr uint32_t region_width = 64; // positions of a level that a block of threads takes
constexpr uint32_t region_height = 16;
constexpr uint32_t region_threads = 256;
constexpr int32_t most_magnitude = 8191; // of a residual, in features
constexpr int32_t most_small = 2047; // of values whose sums are not limited
constexpr uint32_t textures = 45;
constexpr uint32_t directions = 5;
constexpr uint32_t contexts = 44; // tables of a fraction
constexpr uint32_t escape = 87;
constexpr uint32_t tokens = 88;
constexpr uint32_t table_count = 176;
constexpr uint32_t shared_tables = 58800; // bytes
constexpr uint32_t fast_tables = 14368;
constexpr uint32_t start_stride = 92; // of the starts of a table's tokens
constexpr uint32_t decoder_threads = 256;
constexpr uint32_t most_lanes = 32;
constexpr uint32_t record_words = 33; // of a tile between its bands
constexpr uint32_t log_bucket_slots = 7;
constexpr uint32_t bucket_count = 22528;
constexpr uint32_t scale_zero = 255; // the step where all features are 0

// Picture is a picture's samples and its planes.
struct Picture {
	uint8_t *samples; // pixel after pixel, of one or two bytes
	int32_t *planes; // channels x height x width
	uint32_t width;
	uint32_t height;
	uint32_t channels;
	uint32_t bits;
	uint32_t is_signed;
	uint32_t colour; // 1: the first three channels go through the colour transform
	uint32_t near; // the bound of near-lossless coding
	int32_t middle; // of indices
	uint32_t *error; // told of samples out of their range; null where they are limited without an error
};
static_assert(sizeof(Picture) == 56, "Picture");
static_assert(__builtin_offsetof(Picture, samples) == 0, "Samples");
static_assert(__builtin_offsetof(Picture, planes) == 8, "Planes");
static_assert(__builtin_offsetof(Picture, width) == 16, "Width");
static_assert(__builtin_offsetof(Picture, height) == 20, "Height");
static_assert(__builtin_offsetof(Picture, channels) == 24, "Channels");
static_assert(__builtin_offsetof(Picture, bits) == 28, "Bits");
static_assert(__builtin_offsetof(Picture, is_signed) == 32, "IsSigned");
static_assert(__builtin_offsetof(Picture, colour) == 36, "Colour");
static_assert(__builtin_offsetof(Picture, near) == 40, "Near");
static_assert(__builtin_offsetof(Picture, middle) == 44, "Middle");
static_assert(__builtin_offsetof(Picture, error) == 48, "Error");

// Copy is numbers to copy.
struct Copy {
	int32_t *to;
	const int32_t *from;
	uint64_t count;
};
static_assert(sizeof(Copy) == 24, "Copy");
static_assert(__builtin_offsetof(Copy, to) == 0, "To");
static_assert(__builtin_offsetof(Copy, from) == 8, "From");
static_assert(__builtin_offsetof(Copy, count) == 16, "Count");

// Lift is a step of lifting along the slices.
struct Lift {
	int32_t *to;
	const int32_t *before; // the slices beside it
	const int32_t *after;
	uint64_t count;
	uint32_t of_low; // 1: an even slice, 0: an odd one
	int32_t sign; // 1: forward, -1: inverse
};
static_assert(sizeof(Lift) == 40, "Lift");
static_assert(__builtin_offsetof(Lift, to) == 0, "To");
static_assert(__builtin_offsetof(Lift, before) == 8, "Before");
static_assert(__builtin_offsetof(Lift, after) == 16, "After");
static_assert(__builtin_offsetof(Lift, count) == 24, "Count");
static_assert(__builtin_offsetof(Lift, of_low) == 32, "OfLow");
static_assert(__builtin_offsetof(Lift, sign) == 36, "Sign");

// Level is a level of the transform of a plane.
struct Level {
	int32_t *samples; // height rows of width
	int32_t *ll;
	int32_t *hl;
	int32_t *lh;
	int32_t *hh;
	uint32_t width;
	uint32_t height;
	uint32_t extended_width; // with a repetition of the last column, or width
	uint32_t extended_height;
	uint32_t low_stride; // of ll
	uint32_t stride; // of lh
	uint32_t high_stride; // of hl and hh
	uint32_t filter;
	uint32_t *wide; // set to 1 where a value is so large that sums of profile 1 have to be limited; may be null
};
static_assert(sizeof(Level) == 80, "Level");
static_assert(__builtin_offsetof(Level, samples) == 0, "Samples");
static_assert(__builtin_offsetof(Level, ll) == 8, "Ll");
static_assert(__builtin_offsetof(Level, hl) == 16, "Hl");
static_assert(__builtin_offsetof(Level, lh) == 24, "Lh");
static_assert(__builtin_offsetof(Level, hh) == 32, "Hh");
static_assert(__builtin_offsetof(Level, width) == 40, "Width");
static_assert(__builtin_offsetof(Level, height) == 44, "Height");
static_assert(__builtin_offsetof(Level, extended_width) == 48, "ExtendedWidth");
static_assert(__builtin_offsetof(Level, extended_height) == 52, "ExtendedHeight");
static_assert(__builtin_offsetof(Level, low_stride) == 56, "LowStride");
static_assert(__builtin_offsetof(Level, stride) == 60, "Stride");
static_assert(__builtin_offsetof(Level, high_stride) == 64, "HighStride");
static_assert(__builtin_offsetof(Level, filter) == 68, "Filter");
static_assert(__builtin_offsetof(Level, wide) == 72, "Wide");

// Band is a band of a wavelet tree.
struct Band {
	int32_t *coefficients; // 2 x rows of 2 x columns
	int8_t *mqd; // rows of columns
	int8_t *parent; // MQDs one level up; null at the top
	int8_t *child; // MQDs one level down; null where there is none
	int32_t *qmax;
	uint32_t width; // coefficients that the transform gives; those beyond are zero
	uint32_t height;
	uint32_t stride;
	uint32_t columns; // elements
	uint32_t rows;
	uint32_t child_columns;
	uint32_t child_rows;
	uint32_t group_columns; // elements
	uint32_t group_rows;
	uint32_t across; // groups in a row
	uint32_t zero_signs;
	uint32_t unused;
};
static_assert(sizeof(Band) == 88, "Band");
static_assert(__builtin_offsetof(Band, coefficients) == 0, "Coefficients");
static_assert(__builtin_offsetof(Band, mqd) == 8, "Mqd");
static_assert(__builtin_offsetof(Band, parent) == 16, "Parent");
static_assert(__builtin_offsetof(Band, child) == 24, "Child");
static_assert(__builtin_offsetof(Band, qmax) == 32, "Qmax");
static_assert(__builtin_offsetof(Band, width) == 40, "Width");
static_assert(__builtin_offsetof(Band, height) == 44, "Height");
static_assert(__builtin_offsetof(Band, stride) == 48, "Stride");
static_assert(__builtin_offsetof(Band, columns) == 52, "Columns");
static_assert(__builtin_offsetof(Band, rows) == 56, "Rows");
static_assert(__builtin_offsetof(Band, child_columns) == 60, "ChildColumns");
static_assert(__builtin_offsetof(Band, child_rows) == 64, "ChildRows");
static_assert(__builtin_offsetof(Band, group_columns) == 68, "GroupColumns");
static_assert(__builtin_offsetof(Band, group_rows) == 72, "GroupRows");
static_assert(__builtin_offsetof(Band, across) == 76, "Across");
static_assert(__builtin_offsetof(Band, zero_signs) == 80, "ZeroSigns");
static_assert(__builtin_offsetof(Band, unused) == 84, "Unused");

// Group is a group of a batch.
struct Group {
	uint32_t band;
	uint32_t number; // in the band
	uint32_t picture;
	uint32_t unused;
};
static_assert(sizeof(Group) == 16, "Group");
static_assert(__builtin_offsetof(Group, band) == 0, "Band");
static_assert(__builtin_offsetof(Group, number) == 4, "Number");
static_assert(__builtin_offsetof(Group, picture) == 8, "Picture");
static_assert(__builtin_offsetof(Group, unused) == 12, "Unused");

// CodedGroup is a group of a batch of files.
struct CodedGroup {
	uint64_t at; // its first byte
	uint32_t bits;
	uint32_t band;
	uint32_t number; // in the band
	uint32_t picture;
};
static_assert(sizeof(CodedGroup) == 24, "CodedGroup");
static_assert(__builtin_offsetof(CodedGroup, at) == 0, "At");
static_assert(__builtin_offsetof(CodedGroup, bits) == 8, "Bits");
static_assert(__builtin_offsetof(CodedGroup, band) == 12, "Band");
static_assert(__builtin_offsetof(CodedGroup, number) == 16, "Number");
static_assert(__builtin_offsetof(CodedGroup, picture) == 20, "Picture");

// Tree is the groups of a picture.
struct Tree {
	uint64_t *size; // bytes of all groups
	uint64_t *places; // of each group, bytes from the first on
	const uint32_t *bits; // of each group
	uint64_t groups;
};
static_assert(sizeof(Tree) == 32, "Tree");
static_assert(__builtin_offsetof(Tree, size) == 0, "Size");
static_assert(__builtin_offsetof(Tree, places) == 8, "Places");
static_assert(__builtin_offsetof(Tree, bits) == 16, "Bits");
static_assert(__builtin_offsetof(Tree, groups) == 24, "Groups");

// Set is a set of constants.
struct Set {
	int16_t predict[38880];
	int16_t scale[2880];
	uint16_t starts[16192]; // of a table, where each token begins, and 1 << 14 behind the last
	uint8_t firsts[22528]; // of a table, the token of the first slot of each bucket
	int32_t bias[180];
	int16_t thresholds[2];
	uint32_t unused;
	uint32_t ranges[15488]; // of a table, where each token begins, and its frequency << 16
};
static_assert(sizeof(Set) == 201112, "Set");
static_assert(__builtin_offsetof(Set, predict) == 0, "Predict");
static_assert(__builtin_offsetof(Set, scale) == 77760, "Scale");
static_assert(__builtin_offsetof(Set, starts) == 83520, "Starts");
static_assert(__builtin_offsetof(Set, firsts) == 115904, "Firsts");
static_assert(__builtin_offsetof(Set, bias) == 138432, "Bias");
static_assert(__builtin_offsetof(Set, thresholds) == 139152, "Thresholds");
static_assert(__builtin_offsetof(Set, unused) == 139156, "Unused");
static_assert(__builtin_offsetof(Set, ranges) == 139160, "Ranges");

// ModelBand is a band of a level of profile 1, and what its coefficients are coded from. Arrays have height rows of
// width; those of parents likewise.
struct ModelBand {
	int32_t *c;
	int16_t *e; // residuals, saturated
	int32_t *residuals; // encoding: with the sign that they are coded with; decoding: sums of predictions
	int32_t *scales; // decoding: sums of scales
	uint8_t *kinds; // encoding: direction + 8 * fraction; decoding: texture + 128 * whether a feature is not 0
	uint8_t *steps; // encoding: steps of the scale
	const int32_t *parent_c;
	const int16_t *parent_e;
	const int32_t *before_c;
	const int16_t *before_e;
	const int32_t *second_c;
	const int16_t *second_e;
	uint32_t width;
	uint32_t height;
	uint32_t parent_width;
	uint32_t parent_height;
};
static_assert(sizeof(ModelBand) == 112, "ModelBand");
static_assert(__builtin_offsetof(ModelBand, c) == 0, "C");
static_assert(__builtin_offsetof(ModelBand, e) == 8, "E");
static_assert(__builtin_offsetof(ModelBand, residuals) == 16, "Residuals");
static_assert(__builtin_offsetof(ModelBand, scales) == 24, "Scales");
static_assert(__builtin_offsetof(ModelBand, kinds) == 32, "Kinds");
static_assert(__builtin_offsetof(ModelBand, steps) == 40, "Steps");
static_assert(__builtin_offsetof(ModelBand, parent_c) == 48, "ParentC");
static_assert(__builtin_offsetof(ModelBand, parent_e) == 56, "ParentE");
static_assert(__builtin_offsetof(ModelBand, before_c) == 64, "BeforeC");
static_assert(__builtin_offsetof(ModelBand, before_e) == 72, "BeforeE");
static_assert(__builtin_offsetof(ModelBand, second_c) == 80, "SecondC");
static_assert(__builtin_offsetof(ModelBand, second_e) == 88, "SecondE");
static_assert(__builtin_offsetof(ModelBand, width) == 96, "Width");
static_assert(__builtin_offsetof(ModelBand, height) == 100, "Height");
static_assert(__builtin_offsetof(ModelBand, parent_width) == 104, "ParentWidth");
static_assert(__builtin_offsetof(ModelBand, parent_height) == 108, "ParentHeight");

// Model is a level of a plane of profile 1.
struct Model {
	const int32_t *low;
	const Set *set;
	ModelBand hl;
	ModelBand lh;
	ModelBand hh;
	uint16_t *words; // room words of each tile
	uint32_t *lengths; // of each tile, as in the file
	uint8_t *raw_bits; // of each tile, what an index takes
	uint64_t *places; // of each tile, where its body is
	uint32_t *states; // decoding: a record of each tile, states and then the place in the stream
	uint32_t *error; // of the picture
	uint32_t *wide; // of the picture: 1 where sums have to be limited
	uint32_t width; // of the low band
	uint32_t height;
	uint32_t side; // of a tile
	uint32_t log_side;
	uint32_t log_lanes;
	uint32_t level_class;
	uint32_t variant; // number of earlier planes that are looked at
	uint32_t fast;
	uint32_t qmin;
	uint32_t across; // tiles in a row
	uint32_t tiles;
	uint32_t room;
	int8_t offsets[4]; // of HL, LH and HH
	uint32_t log_group; // threads that work on a tile
};
static_assert(sizeof(Model) == 464, "Model");
static_assert(__builtin_offsetof(Model, low) == 0, "Low");
static_assert(__builtin_offsetof(Model, set) == 8, "Set");
static_assert(__builtin_offsetof(Model, hl) == 16, "Hl");
static_assert(__builtin_offsetof(Model, lh) == 128, "Lh");
static_assert(__builtin_offsetof(Model, hh) == 240, "Hh");
static_assert(__builtin_offsetof(Model, words) == 352, "Words");
static_assert(__builtin_offsetof(Model, lengths) == 360, "Lengths");
static_assert(__builtin_offsetof(Model, raw_bits) == 368, "RawBits");
static_assert(__builtin_offsetof(Model, places) == 376, "Places");
static_assert(__builtin_offsetof(Model, states) == 384, "States");
static_assert(__builtin_offsetof(Model, error) == 392, "Error");
static_assert(__builtin_offsetof(Model, wide) == 400, "Wide");
static_assert(__builtin_offsetof(Model, width) == 408, "Width");
static_assert(__builtin_offsetof(Model, height) == 412, "Height");
static_assert(__builtin_offsetof(Model, side) == 416, "Side");
static_assert(__builtin_offsetof(Model, log_side) == 420, "LogSide");
static_assert(__builtin_offsetof(Model, log_lanes) == 424, "LogLanes");
static_assert(__builtin_offsetof(Model, level_class) == 428, "LevelClass");
static_assert(__builtin_offsetof(Model, variant) == 432, "Variant");
static_assert(__builtin_offsetof(Model, fast) == 436, "Fast");
static_assert(__builtin_offsetof(Model, qmin) == 440, "Qmin");
static_assert(__builtin_offsetof(Model, across) == 444, "Across");
static_assert(__builtin_offsetof(Model, tiles) == 448, "Tiles");
static_assert(__builtin_offsetof(Model, room) == 452, "Room");
static_assert(__builtin_offsetof(Model, offsets) == 456, "Offsets");
static_assert(__builtin_offsetof(Model, log_group) == 460, "LogGroup");
