// Code generated from Go structs and constants by make kernels. DO NOT EDIT.
#pragma once

#include "../../../../gpu/include/warp.cuh"

constexpr uint32_t check_threads = 256; // of a block that proves samples
constexpr uint32_t inflate_threads = 128; // of the block that inflates a stream
constexpr uint32_t span_bits = 512; // of a stream, that one of them decodes at a time
constexpr uint32_t round_bytes = 16384; // that they write at a time, at most
constexpr uint32_t lit_bits = 10; // of a code for literals and lengths, that are looked up at once
constexpr uint32_t dist_bits = 8; // and of one for distances
constexpr uint32_t ahead_pixels = 8; // that a lane reads together

// Image is an image of a batch. Each part begins at a multiple of 256 bytes.
struct Image {
	const uint32_t *data; // the zlib stream, up to a whole word
	uint8_t *raw; // height x (1 + row_bytes): what the stream holds, a filter before each row
	uint8_t *samples; // height x row_bytes
	uint64_t *sums; // 4: see check.cuh
	uint32_t data_bytes;
	uint32_t height;
	uint32_t row_bytes; // width x pixel_bytes
	uint32_t pixel_bytes; // 1 to 4
};
static_assert(sizeof(Image) == 48, "Image");
static_assert(__builtin_offsetof(Image, data) == 0, "Data");
static_assert(__builtin_offsetof(Image, raw) == 8, "Raw");
static_assert(__builtin_offsetof(Image, samples) == 16, "Samples");
static_assert(__builtin_offsetof(Image, sums) == 24, "Sums");
static_assert(__builtin_offsetof(Image, data_bytes) == 32, "DataBytes");
static_assert(__builtin_offsetof(Image, height) == 36, "Height");
static_assert(__builtin_offsetof(Image, row_bytes) == 40, "RowBytes");
static_assert(__builtin_offsetof(Image, pixel_bytes) == 44, "PixelBytes");
