// Code generated from Go structs and constants by make kernels. DO NOT EDIT.
#pragma once

#include "../../gpu/include/warp.cuh"

constexpr uint32_t state_words = 8;
constexpr uint32_t head_bytes = 32;
constexpr uint32_t crc_threads = 256;
constexpr uint32_t crc_chunk = 128;
constexpr uint32_t crc_powers = 15;

// Message is a message of a batch.
struct Message {
	const uint8_t *data; // its blocks, from any address
	uint64_t blocks; // of 64 bytes
};
static_assert(sizeof(Message) == 16, "Message");
static_assert(__builtin_offsetof(Message, data) == 0, "Data");
static_assert(__builtin_offsetof(Message, blocks) == 8, "Blocks");

// Picture is a picture of a batch, which is a message in device memory.
struct Picture {
	uint8_t *message; // head_bytes, the samples, and the rest of the frame
	const uint8_t *frame; // what is not samples
	uint64_t bytes; // of samples
	uint64_t blocks; // of 64 bytes
};
static_assert(sizeof(Picture) == 32, "Picture");
static_assert(__builtin_offsetof(Picture, message) == 0, "Message");
static_assert(__builtin_offsetof(Picture, frame) == 8, "Frame");
static_assert(__builtin_offsetof(Picture, bytes) == 16, "Bytes");
static_assert(__builtin_offsetof(Picture, blocks) == 24, "Blocks");
