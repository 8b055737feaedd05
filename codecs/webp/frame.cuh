// An image of a batch on the card.
#pragma once

#include "pixels.cuh"

// Symbols of a group lie in one table: alpha, red, blue, distance, green and the rest (steps.go).
constexpr uint32_t alpha_at = 0, red_at = 256, blue_at = 512, green_at = 808, literals = 1088;

// Each kernel reads what its header names; the rest may be null or 0. Tiles are in raster order and 1 << bits on a side.
struct Frame {
	const uint8_t *source;               // height x width x channels, or pixels where channels is 0
	uint32_t *argb;                      // height x width: what the predictor predicts from
	uint32_t *residual;                  // height x width: after the predictor transform
	uint32_t *coded;                     // height x width: after all transforms
	uint8_t *modes;                      // by tile of mode_bits
	const uint32_t *mode_prices;         // 14
	uint32_t *multipliers;               // by tile of colour_bits; null: no colour transform
	const uint16_t *multiplier_prices;   // 3 x 256: red-to-blue, green-to-blue, green-to-red
	uint16_t *groups;                    // by tile of group_bits; null: one group
	const uint16_t *prices;              // by group and symbol, 1/256 bit
	const uint32_t *group_prices;        // by group
	uint32_t *result;                    // what the kernel's header says, zero before
	const uint32_t *codes;               // by group and symbol: bits << 4 | length, the first bit lowest
	uint64_t *state;                     // of the running sum over the image, or prices by symbol, or Clusters
	uint16_t *length;                    // height x width: of a parse (steps.go)
	uint32_t *value;                     // height x width: of a parse
	uint8_t *hits;                       // height x width: bits of the smallest cache that has the pixel, or 0xff
	uint32_t *counts;                    // what the kernel's header says, zero before
	uint32_t *tables;                    // by chunk, of webp_link and webp_hits and those before them, zero before
	const uint32_t *distances;           // rows, see match.cuh
	const uint8_t *distance_codes;       // by distance, 7 x width + 9: its least code up to 120, or 0
	const uint32_t *ends;                // of the bands of a parse: the position after the last, rising
	uint32_t *equal;                     // by word and row, see match.cuh
	uint16_t *reach;                     // by word and row, see match.cuh
	uint32_t *prev;                      // height x width: 1 + the latest earlier position with the same key, or 0
	uint32_t *offsets;                   // height x width + 1: where the candidates of a position begin
	const uint32_t *copies;              // of a new parse: where each begins, and code - 1 << 12 | length; null: no new one
	uint64_t words;                      // that result has, of webp_pack
	uint64_t first;                      // bit in result where webp_pack begins
	uint32_t width, height, channels;
	uint32_t opaque;                     // 1: alpha is the same everywhere, and nothing looks at it
	uint32_t mode_bits, colour_bits, group_bits;
	uint32_t n;                          // groups
	uint32_t symbols;                    // of a table
	uint32_t near;                       // how far a tile's group may move, 0: anywhere
	uint32_t skip;                       // one of how many rows of a tile counts, of webp_predict and webp_colours
	uint32_t count;                      // steps, or groups that webp_cluster_table lets the search start with
	uint32_t steps[8];                   // of the search for multipliers, in turn
	uint32_t cache_bits;                 // of the colour cache
	uint32_t rows, bands;                // of distances, of ends
	uint32_t depth;                      // how many earlier positions are tried
	uint32_t stop;                       // a candidate as long as this ends the search
	uint32_t copied;                     // copies
};
static_assert(sizeof(Frame) == 29 * 8 + 26 * 4, "cardFrame");

DEVICE uint32_t tiles(uint32_t n, uint32_t bits) { return (n + (1u << bits) - 1) >> bits; }

// The group of pixel (x, y).
DEVICE uint32_t group_at(const Frame &f, uint32_t x, uint32_t y)
{
	return f.groups == nullptr ? 0 : f.groups[(uint64_t)(y >> f.group_bits) * tiles(f.width, f.group_bits) + (x >> f.group_bits)];
}

// The table of prices for pixel (x, y).
DEVICE const uint16_t *table_at(const Frame &f, uint32_t x, uint32_t y)
{
	return f.prices + (uint64_t)group_at(f, x, y) * f.symbols;
}

DEVICE uint32_t multipliers_at(const Frame &f, uint32_t x, uint32_t y)
{
	return f.multipliers[(uint64_t)(y >> f.colour_bits) * tiles(f.width, f.colour_bits) + (x >> f.colour_bits)];
}

// The price of literal v.
DEVICE uint32_t literal_price(const uint16_t *table, uint32_t v, uint32_t opaque)
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

	__device__ Tile(const Frame &f, uint32_t bits, uint64_t tile)
	{
		uint32_t columns = tiles(f.width, bits);
		x = (uint32_t)(tile % columns) << bits;
		y = (uint32_t)(tile / columns) << bits;
		w = least(f.width - x, 1u << bits);
		h = least(f.height - y, 1u << bits);
	}
};
