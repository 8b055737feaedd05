// A picture of a gang on the card.
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
	uint64_t *state;                     // of the running sum over the picture, or prices by symbol
	uint64_t words;                      // that result has, of webp_pack
	uint64_t first;                      // bit in result where webp_pack begins
	uint32_t width, height, channels;
	uint32_t opaque;                     // 1: alpha is the same everywhere, and nothing looks at it
	uint32_t mode_bits, colour_bits, group_bits;
	uint32_t n;                          // groups
	uint32_t symbols;                    // of a table
	uint32_t near;                       // how far a tile's group may move, 0: anywhere
	uint32_t skip;                       // one of how many rows of a tile counts, of webp_predict and webp_colours
	uint32_t count;                      // steps
	uint32_t steps[8];                   // of the search for multipliers, in turn
};
static_assert(sizeof(Frame) == 16 * 8 + 20 * 4, "cardFrame");

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

// The pixels of a tile, shared out to the lanes of the calling warp row by row: lane i has those that come i-th, i+32nd
// and so on.
struct Tile {
	uint32_t x, y, w, h; // what lies in the picture

	__device__ Tile(const Frame &f, uint32_t bits, uint64_t tile)
	{
		uint32_t columns = tiles(f.width, bits);
		x = (uint32_t)(tile % columns) << bits;
		y = (uint32_t)(tile / columns) << bits;
		w = least(f.width - x, 1u << bits);
		h = least(f.height - y, 1u << bits);
	}
};
