// What kernels read of an image of the batch: struct Slot is made of the one in kernels.go.
#pragma once

#include "pixels.cuh"

DEVICE uint32_t tiles(uint32_t n, uint32_t bits) { return (n + (1u << bits) - 1) >> bits; }

// The group of pixel (x, y).
DEVICE uint32_t group_at(const Slot &image, uint32_t x, uint32_t y)
{
	return image.groups == nullptr ? 0 : image.groups[(uint64_t)(y >> image.group_bits) * tiles(image.width, image.group_bits) + (x >> image.group_bits)];
}

// The table of costs for pixel (x, y).
DEVICE const uint16_t *table_at(const Slot &image, uint32_t x, uint32_t y)
{
	return image.costs + (uint64_t)group_at(image, x, y) * image.symbols;
}

DEVICE uint32_t multipliers_at(const Slot &image, uint32_t x, uint32_t y)
{
	return image.multipliers[(uint64_t)(y >> image.colour_bits) * tiles(image.width, image.colour_bits) + (x >> image.colour_bits)];
}

// The cost of literal v.
DEVICE uint32_t literal_cost(const uint16_t *table, uint32_t v, uint32_t opaque)
{
	uint32_t sum = table[red_at + (v >> 16 & 255)] + table[green_at + (v >> 8 & 255)] + table[blue_at + (v & 255)];
	return opaque != 0 ? sum : sum + table[alpha_at + (v >> 24)];
}

// Sum of v over the warp, in all of its lanes.
DEVICE uint32_t warp_total(uint32_t v)
{
	for (uint32_t d = warp_size / 2; d > 0; d /= 2)
		v += exchange(v, d);
	return v;
}

DEVICE uint64_t warp_total(uint64_t v) { return broadcast(warp_sum(v), 0); }

// The lanes that hold the same v as the own. All lanes of the warp call.
DEVICE uint32_t same_lanes(uint32_t v) { return (uint32_t)__nvvm_match_any_sync_i32(whole_warp, v); }

// Those of lanes that come before the own.
DEVICE uint32_t before_own(uint32_t lanes) { return lanes & ((1u << lane()) - 1); }

// The last of lanes, which are some.
DEVICE uint32_t last_lane(uint32_t lanes) { return 31 - (uint32_t)__builtin_clz(lanes); }

// What the chunks of an image before each have last put into an entry of their tables, where the tables held what they
// themselves did: 0 where none has. One thread per entry, 0 to entries-1, over the tables one after the other. Several
// are read at a time, because the memory is far.
DEVICE void carry(uint32_t *tables, uint32_t entries, uint32_t chunks, uint32_t entry)
{
	constexpr uint32_t together = 8;
	uint32_t held = 0;
	for (uint32_t c = 0; c < chunks; c += together) {
		uint32_t own[together];
#pragma unroll
		for (uint32_t k = 0; k < together; k++)
			own[k] = c + k < chunks ? tables[(uint64_t)(c + k) * entries + entry] : 0;
#pragma unroll
		for (uint32_t k = 0; k < together; k++) {
			if (c + k < chunks)
				tables[(uint64_t)(c + k) * entries + entry] = held;
			if (own[k] != 0)
				held = own[k];
		}
	}
}

// The pixels of a tile, shared out to the lanes of the calling warp row by row: lane i has those that come i-th, i+32nd
// and so on.
struct Tile {
	uint32_t x, y, w, h; // what lies in the image

	__device__ Tile(const Slot &image, uint32_t bits, uint64_t number)
	{
		uint32_t columns = tiles(image.width, bits), tile = (uint32_t)number;
		x = tile % columns << bits;
		y = tile / columns << bits;
		w = least(image.width - x, 1u << bits);
		h = least(image.height - y, 1u << bits);
	}
};
