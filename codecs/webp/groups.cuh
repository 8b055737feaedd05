// Groups of prefix codes (RFC 9649, 6.2.2), and what their symbols come to.
#pragma once

#include "frame.cuh"

// The price of a tile of coded by a table. The threads of the warp call, and all hold the result.
DEVICE uint32_t price_literals(const Frame &f, const Tile &t, const uint16_t *table)
{
	uint32_t sum = 0;
	for (uint32_t s = lane(); s < t.w * t.h; s += warp_size)
		sum += literal_price(table, f.coded[(uint64_t)(t.y + s / t.w) * f.width + t.x + s % t.w], f.opaque);
	return warp_total(sum);
}

// The price of every tile of group_bits by the first table, in result. A warp takes a tile of picture blockIdx.y.
KERNEL webp_tile_prices(const Frame *__restrict__ list)
{
	const Frame &f = list[blockIdx.y];
	uint64_t tile = thread() / warp_size;
	if (tile >= (uint64_t)tiles(f.width, f.group_bits) * tiles(f.height, f.group_bits))
		return;
	uint32_t sum = price_literals(f, Tile(f, f.group_bits, tile), f.prices);
	if (lane() == 0)
		f.result[tile] = sum;
}

constexpr uint32_t no_group = 0xffffffffu / 2; // noGroup of passes.go

// Moves every tile to the group where it costs least with the group's own price, of equal ones the first. Adds to result
// how many tiles are in each, and behind the counts, as 64 bits, the sum of their regrets: what they would cost more in the
// next best of the groups looked at, at most no_group. A warp takes a tile of picture blockIdx.y.
KERNEL webp_assign(const Frame *__restrict__ list)
{
	const Frame &f = list[blockIdx.y];
	uint64_t tile = thread() / warp_size;
	if (tile >= (uint64_t)tiles(f.width, f.group_bits) * tiles(f.height, f.group_bits))
		return;
	Tile t(f, f.group_bits, tile);
	uint32_t lo = 0, hi = f.n, group = f.groups[tile];
	if (f.near > 0) {
		lo = group > f.near ? group - f.near : 0;
		hi = least(f.n, group + f.near + 1);
	}
	uint32_t best = ~0u, second = ~0u;
	for (uint32_t j = lo; j < hi; j++) {
		uint32_t sum = price_literals(f, t, f.prices + (uint64_t)j * f.symbols) + f.group_prices[j];
		if (sum < best) {
			second = best;
			best = sum;
			group = j;
		} else if (sum < second) {
			second = sum;
		}
	}
	if (lane() == 0) {
		f.groups[tile] = (uint16_t)group;
		add_to(&f.result[group], 1);
		add_to((uint64_t *)&f.result[(f.n + 1) / 2 * 2 + 2 * group], least(second - best, no_group));
	}
}

// Counts the literals of coded in result, n tables, which the host set to zero; alpha only where it is not opaque. The
// blocks share the pixels of picture blockIdx.y. The counts of a single group are made in shared memory first, where its
// frequent symbols do not wait for the whole card.
KERNEL webp_histograms(const Frame *__restrict__ list)
{
	__shared__ uint32_t s_counts[literals];
	const Frame &f = list[blockIdx.y];
	bool single = f.n <= 1;
	if (single) {
		for (uint32_t i = threadIdx.x; i < literals; i += blockDim.x)
			s_counts[i] = 0;
		sync_block(); // all are zero
	}
	uint64_t all = (uint64_t)f.width * f.height;
	for (uint64_t i = thread(); i < all; i += (uint64_t)gridDim.x * blockDim.x) {
		uint32_t v = f.coded[i];
		uint32_t *to = s_counts;
		if (!single)
			to = f.result + (uint64_t)group_at(f, (uint32_t)(i % f.width), (uint32_t)(i / f.width)) * f.symbols;
		add_to(&to[red_at + (v >> 16 & 255)], 1);
		add_to(&to[green_at + (v >> 8 & 255)], 1);
		add_to(&to[blue_at + (v & 255)], 1);
		if (f.opaque == 0)
			add_to(&to[alpha_at + (v >> 24)], 1);
	}
	if (single) {
		sync_block(); // all are counted
		for (uint32_t i = threadIdx.x; i < literals; i += blockDim.x)
			if (s_counts[i] != 0)
				add_to(&f.result[i], s_counts[i]);
	}
}
