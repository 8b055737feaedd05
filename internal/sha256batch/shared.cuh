// Code generated from Go structs and constants by make kernels. DO NOT EDIT.
#pragma once

#include "../../gpu/include/warp.cuh"

constexpr uint32_t state_words = 8;

// Message is a message of a batch.
struct Message {
	const uint8_t *data; // its blocks, from any address
	uint64_t blocks; // of 64 bytes
};
static_assert(sizeof(Message) == 16, "Message");
static_assert(__builtin_offsetof(Message, data) == 0, "Data");
static_assert(__builtin_offsetof(Message, blocks) == 8, "Blocks");
