// Code generated from Go structs and constants by make kernels. DO NOT EDIT.
#pragma once

#include "../../gpu/include/base.cuh"

constexpr uint32_t block_threads = 256;
constexpr uint32_t block_warps = 4; // of a block of threads that has a code-block for each
constexpr uint32_t quad_threads = 64; // of a block of threads that has a code-block for each thread
constexpr uint32_t tile_width = 64; // samples that a block of threads transforms
constexpr uint32_t tile_height = 32;
constexpr uint32_t max_side = 1024; // of a code-block
constexpr uint32_t max_quads = 1024; // of a code-block
constexpr uint32_t max_suffix = 4079; // bytes of MEL and VLC
constexpr uint32_t extended_u = 28; // the least suffix of u that has an extension

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
