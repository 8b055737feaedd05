// Code generated from Go structs and constants by make kernels. DO NOT EDIT.
#pragma once

#include "../../gpu/include/base.cuh"

constexpr uint32_t block_threads = 256;
constexpr uint32_t block_warps = 4; // of a block of threads that has a code-block for each
constexpr uint32_t quad_threads = 128; // of a block of threads that decodes quads
constexpr uint32_t quad_lanes = 16; // of a warp of it those that have a code-block each
constexpr uint32_t quad_blocks = 64; // code-blocks of such a block of threads
constexpr uint32_t plane_threads = 128; // of a block of threads that has a bit-plane for each thread
constexpr uint32_t encode_threads = 64; // of a block of threads that has a code-block of Part 1 for each thread
constexpr uint32_t decode_threads = 64;
constexpr uint32_t state_count = 188; // states of the arithmetic coder, twice
constexpr uint32_t unit_bits = 22; // fractional bits of squared errors
constexpr uint32_t tile_width = 64; // samples that a block of threads transforms
constexpr uint32_t tile_height = 32;
constexpr uint32_t max_side = 1024; // of a code-block
constexpr uint32_t max_quads = 1024; // of a code-block
constexpr uint32_t max_suffix = 4079; // bytes of MEL and VLC
constexpr uint32_t extended_u = 28; // the least suffix of u that has an extension
constexpr uint32_t alpha97 = 3217753715; // bits of a float32
constexpr uint32_t beta97 = 3176726958; // bits of a float32
constexpr uint32_t gamma97 = 1063388790; // bits of a float32
constexpr uint32_t delta97 = 1055069013; // bits of a float32
constexpr uint32_t low97 = 1062214083; // likewise
constexpr uint32_t high97 = 1067284056; // likewise

// Image is an image of a batch.
struct Image {
	int32_t *planes; // components x height x width
	uint8_t *samples; // height x width x channels
	uint32_t width;
	uint32_t height;
	uint32_t channels;
	uint32_t bytes; // of a sample, 1 or 2
	uint32_t is_signed; // 1: samples are signed
	int32_t shift; // taken from samples (G.1)
	int32_t least; // of the samples that there can be
	int32_t most;
	uint32_t coloured; // 1: the first three components are transformed (G.2)
	uint32_t stride; // pixels from row to row of the samples
};
static_assert(sizeof(Image) == 56, "Image");
static_assert(__builtin_offsetof(Image, planes) == 0, "Planes");
static_assert(__builtin_offsetof(Image, samples) == 8, "Samples");
static_assert(__builtin_offsetof(Image, width) == 16, "Width");
static_assert(__builtin_offsetof(Image, height) == 20, "Height");
static_assert(__builtin_offsetof(Image, channels) == 24, "Channels");
static_assert(__builtin_offsetof(Image, bytes) == 28, "Bytes");
static_assert(__builtin_offsetof(Image, is_signed) == 32, "IsSigned");
static_assert(__builtin_offsetof(Image, shift) == 36, "Shift");
static_assert(__builtin_offsetof(Image, least) == 40, "Least");
static_assert(__builtin_offsetof(Image, most) == 44, "Most");
static_assert(__builtin_offsetof(Image, coloured) == 48, "Coloured");
static_assert(__builtin_offsetof(Image, stride) == 52, "Stride");

// Plane is a component of a tile.
struct Plane {
	int32_t *coefficients; // rows of stride
	int32_t *first; // the samples, and the low-pass subbands of even levels
	int32_t *second; // the low-pass subbands of odd levels
	uint32_t x0; // the samples on the grid of the component
	uint32_t y0;
	uint32_t x1;
	uint32_t y1;
	uint32_t stride;
	uint32_t unused;
};
static_assert(sizeof(Plane) == 48, "Plane");
static_assert(__builtin_offsetof(Plane, coefficients) == 0, "Coefficients");
static_assert(__builtin_offsetof(Plane, first) == 8, "First");
static_assert(__builtin_offsetof(Plane, second) == 16, "Second");
static_assert(__builtin_offsetof(Plane, x0) == 24, "X0");
static_assert(__builtin_offsetof(Plane, y0) == 28, "Y0");
static_assert(__builtin_offsetof(Plane, x1) == 32, "X1");
static_assert(__builtin_offsetof(Plane, y1) == 36, "Y1");
static_assert(__builtin_offsetof(Plane, stride) == 40, "Stride");
static_assert(__builtin_offsetof(Plane, unused) == 44, "Unused");

// Block is a code-block to encode.
struct Block {
	const int32_t *coefficients; // the first
	uint8_t *slot; // twice the capacity
	uint32_t stride;
	uint32_t width;
	uint32_t height;
	uint32_t capacity; // bytes, a multiple of 4
};
static_assert(sizeof(Block) == 32, "Block");
static_assert(__builtin_offsetof(Block, coefficients) == 0, "Coefficients");
static_assert(__builtin_offsetof(Block, slot) == 8, "Slot");
static_assert(__builtin_offsetof(Block, stride) == 16, "Stride");
static_assert(__builtin_offsetof(Block, width) == 20, "Width");
static_assert(__builtin_offsetof(Block, height) == 24, "Height");
static_assert(__builtin_offsetof(Block, capacity) == 28, "Capacity");

// CodedBlock is a code-block to decode.
struct CodedBlock {
	const uint8_t *data; // the cleanup segment
	int32_t *coefficients; // the first
	uint32_t *quads; // working memory: a word for each quad
	uint32_t *magsgn; // likewise: the MagSgn stream without gaps
	uint32_t *failed; // of the image: set if a segment is malformed
	uint32_t length; // bytes of the segment; 0: all coefficients are 0
	uint32_t words; // of magsgn
	uint32_t stride;
	uint32_t width;
	uint32_t height;
	uint32_t plane; // the last bit-plane
	uint32_t limit; // U above it is malformed
	uint32_t unused;
};
static_assert(sizeof(CodedBlock) == 72, "CodedBlock");
static_assert(__builtin_offsetof(CodedBlock, data) == 0, "Data");
static_assert(__builtin_offsetof(CodedBlock, coefficients) == 8, "Coefficients");
static_assert(__builtin_offsetof(CodedBlock, quads) == 16, "Quads");
static_assert(__builtin_offsetof(CodedBlock, magsgn) == 24, "Magsgn");
static_assert(__builtin_offsetof(CodedBlock, failed) == 32, "Failed");
static_assert(__builtin_offsetof(CodedBlock, length) == 40, "Length");
static_assert(__builtin_offsetof(CodedBlock, words) == 44, "Words");
static_assert(__builtin_offsetof(CodedBlock, stride) == 48, "Stride");
static_assert(__builtin_offsetof(CodedBlock, width) == 52, "Width");
static_assert(__builtin_offsetof(CodedBlock, height) == 56, "Height");
static_assert(__builtin_offsetof(CodedBlock, plane) == 60, "Plane");
static_assert(__builtin_offsetof(CodedBlock, limit) == 64, "Limit");
static_assert(__builtin_offsetof(CodedBlock, unused) == 68, "Unused");

// Tables are the tables of the block coder of Part 1.
struct Tables {
	uint8_t zero[2048]; // contexts of zero coding, see [bitplane.DeviceContexts]
	uint8_t sign[256]; // contexts of sign coding
	uint32_t following[188]; // states that follow, see [mq.DeviceStates]
	uint32_t first[19]; // states at the start
};
static_assert(sizeof(Tables) == 3132, "Tables");
static_assert(__builtin_offsetof(Tables, zero) == 0, "Zero");
static_assert(__builtin_offsetof(Tables, sign) == 2048, "Sign");
static_assert(__builtin_offsetof(Tables, following) == 2304, "Following");
static_assert(__builtin_offsetof(Tables, first) == 3056, "First");

// Scan is a code-block of Part 1 to encode.
struct Scan {
	int32_t *coefficients; // the first
	uint32_t stride; // coefficients from row to row
	uint32_t slice; // coefficients from slice to slice
	uint32_t width;
	uint32_t height;
	uint32_t depth; // slices
	uint32_t orientation;
	uint32_t factor; // of 9/7: the bits of the float32 that makes indices of coefficients, which are float32; 0: they are indices
	uint32_t unused;
};
static_assert(sizeof(Scan) == 40, "Scan");
static_assert(__builtin_offsetof(Scan, coefficients) == 0, "Coefficients");
static_assert(__builtin_offsetof(Scan, stride) == 8, "Stride");
static_assert(__builtin_offsetof(Scan, slice) == 12, "Slice");
static_assert(__builtin_offsetof(Scan, width) == 16, "Width");
static_assert(__builtin_offsetof(Scan, height) == 20, "Height");
static_assert(__builtin_offsetof(Scan, depth) == 24, "Depth");
static_assert(__builtin_offsetof(Scan, orientation) == 28, "Orientation");
static_assert(__builtin_offsetof(Scan, factor) == 32, "Factor");
static_assert(__builtin_offsetof(Scan, unused) == 36, "Unused");

// BitPlane is a bit-plane of a code-block of Part 1 to encode.
struct BitPlane {
	uint64_t first; // where its slot begins, in words of 16 decisions
	uint32_t block;
	uint32_t plane; // above the last one
	uint32_t skip; // words of the slot before those of decisions
	uint32_t propagation; // decisions of the passes
	uint32_t refinement;
	uint32_t cleanup;
};
static_assert(sizeof(BitPlane) == 32, "BitPlane");
static_assert(__builtin_offsetof(BitPlane, first) == 0, "First");
static_assert(__builtin_offsetof(BitPlane, block) == 8, "Block");
static_assert(__builtin_offsetof(BitPlane, plane) == 12, "Plane");
static_assert(__builtin_offsetof(BitPlane, skip) == 16, "Skip");
static_assert(__builtin_offsetof(BitPlane, propagation) == 20, "Propagation");
static_assert(__builtin_offsetof(BitPlane, refinement) == 24, "Refinement");
static_assert(__builtin_offsetof(BitPlane, cleanup) == 28, "Cleanup");

// Passes is a code-block of Part 1 to decode.
struct Passes {
	const uint8_t *data; // the codeword segments
	const uint32_t *segments; // of each the coding passes and the bytes
	int32_t *coefficients; // the first
	uint32_t *bits; // by bit-planes, zeros, see jpeg2000_decode_passes
	uint32_t *memory; // zeros, four for each word of a bit-plane, a warp's code-blocks side by side
	uint32_t stride; // coefficients from row to row
	uint32_t slice; // coefficients from slice to slice
	uint32_t width;
	uint32_t height;
	uint32_t depth; // slices
	uint32_t planes; // bit-planes
	uint32_t passes; // of all segments
	uint32_t orientation;
	uint32_t style;
	uint32_t step; // half of the quantization step, the bits of a float32; 0: reversible
};
static_assert(sizeof(Passes) == 80, "Passes");
static_assert(__builtin_offsetof(Passes, data) == 0, "Data");
static_assert(__builtin_offsetof(Passes, segments) == 8, "Segments");
static_assert(__builtin_offsetof(Passes, coefficients) == 16, "Coefficients");
static_assert(__builtin_offsetof(Passes, bits) == 24, "Bits");
static_assert(__builtin_offsetof(Passes, memory) == 32, "Memory");
static_assert(__builtin_offsetof(Passes, stride) == 40, "Stride");
static_assert(__builtin_offsetof(Passes, slice) == 44, "Slice");
static_assert(__builtin_offsetof(Passes, width) == 48, "Width");
static_assert(__builtin_offsetof(Passes, height) == 52, "Height");
static_assert(__builtin_offsetof(Passes, depth) == 56, "Depth");
static_assert(__builtin_offsetof(Passes, planes) == 60, "Planes");
static_assert(__builtin_offsetof(Passes, passes) == 64, "Passes");
static_assert(__builtin_offsetof(Passes, orientation) == 68, "Orientation");
static_assert(__builtin_offsetof(Passes, style) == 72, "Style");
static_assert(__builtin_offsetof(Passes, step) == 76, "Step");

// Array is a component of a volume of Part 10.
struct Array {
	int32_t *coefficients; // slices of rows
	int32_t *work; // likewise, between two steps
	uint32_t width;
	uint32_t height;
	uint32_t depth;
	uint32_t levels; // along x and y
	uint32_t levels_z;
	uint32_t unused;
};
static_assert(sizeof(Array) == 40, "Array");
static_assert(__builtin_offsetof(Array, coefficients) == 0, "Coefficients");
static_assert(__builtin_offsetof(Array, work) == 8, "Work");
static_assert(__builtin_offsetof(Array, width) == 16, "Width");
static_assert(__builtin_offsetof(Array, height) == 20, "Height");
static_assert(__builtin_offsetof(Array, depth) == 24, "Depth");
static_assert(__builtin_offsetof(Array, levels) == 28, "Levels");
static_assert(__builtin_offsetof(Array, levels_z) == 32, "LevelsZ");
static_assert(__builtin_offsetof(Array, unused) == 36, "Unused");

// Refined is a High Throughput code-block with refinement passes.
struct Refined {
	const uint8_t *data; // their segment
	int32_t *coefficients; // the first
	uint8_t *states; // working memory of zeros: (width + 2) x (height + 2)
	uint32_t length; // bytes of the segment
	uint32_t stride;
	uint32_t width;
	uint32_t height;
	uint32_t plane; // the last bit-plane of the cleanup pass
	uint32_t passes; // 1 or 2
	uint32_t causal; // 1: vertically causal
	uint32_t step; // half of the quantization step, the bits of a float32; 0: reversible
};
static_assert(sizeof(Refined) == 56, "Refined");
static_assert(__builtin_offsetof(Refined, data) == 0, "Data");
static_assert(__builtin_offsetof(Refined, coefficients) == 8, "Coefficients");
static_assert(__builtin_offsetof(Refined, states) == 16, "States");
static_assert(__builtin_offsetof(Refined, length) == 24, "Length");
static_assert(__builtin_offsetof(Refined, stride) == 28, "Stride");
static_assert(__builtin_offsetof(Refined, width) == 32, "Width");
static_assert(__builtin_offsetof(Refined, height) == 36, "Height");
static_assert(__builtin_offsetof(Refined, plane) == 40, "Plane");
static_assert(__builtin_offsetof(Refined, passes) == 44, "Passes");
static_assert(__builtin_offsetof(Refined, causal) == 48, "Causal");
static_assert(__builtin_offsetof(Refined, step) == 52, "Step");
