// Code generated from Go structs and constants by make kernels. DO NOT EDIT.
#pragma once

#include "../../gpu/include/warp.cuh"

constexpr uint32_t window = 8;
constexpr uint32_t stride = 4;
constexpr uint32_t block_threads = 256;

// Found is what the kernels find of a slice. It begins with zeros.
struct Found {
	uint64_t different; // samples
	uint64_t squares; // sum of their squared differences
	uint64_t totals[4]; // sum of the indices of each colour, the bits of a double
};
static_assert(sizeof(Found) == 48, "Found");
static_assert(__builtin_offsetof(Found, different) == 0, "Different");
static_assert(__builtin_offsetof(Found, squares) == 8, "Squares");
static_assert(__builtin_offsetof(Found, totals) == 16, "Totals");

// Slice is a slice of an image of a batch.
struct Slice {
	const uint8_t *original; // height x width x channels
	const uint8_t *decoded; // likewise
	double *indices; // colours x windows
	Found *found;
	uint64_t windows;
	uint32_t across; // windows of a row
	uint32_t width;
	uint32_t height;
	uint32_t channels; // 1 to 4
};
static_assert(sizeof(Slice) == 56, "Slice");
static_assert(__builtin_offsetof(Slice, original) == 0, "Original");
static_assert(__builtin_offsetof(Slice, decoded) == 8, "Decoded");
static_assert(__builtin_offsetof(Slice, indices) == 16, "Indices");
static_assert(__builtin_offsetof(Slice, found) == 24, "Found");
static_assert(__builtin_offsetof(Slice, windows) == 32, "Windows");
static_assert(__builtin_offsetof(Slice, across) == 40, "Across");
static_assert(__builtin_offsetof(Slice, width) == 44, "Width");
static_assert(__builtin_offsetof(Slice, height) == 48, "Height");
static_assert(__builtin_offsetof(Slice, channels) == 52, "Channels");
