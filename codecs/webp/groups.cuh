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

// Prices of groups in passes.go.
constexpr uint32_t no_group = 0xffffffffu / 2;
constexpr uint32_t closed = no_group + 1;

constexpr uint32_t at_once = 8; // groups that a warp prices together
constexpr uint32_t held = 8;    // pixels of a tile that a thread keeps in registers

// Adds to sums the price of literal v in groups first to first+7, as far as they come before end.
DEVICE void add_prices(uint32_t *sums, const Frame &f, uint32_t v, uint32_t first, uint32_t end)
{
#pragma unroll
	for (uint32_t j = 0; j < at_once; j++) {
		if (first + j < end)
			sums[j] += literal_price(f.prices + (uint64_t)(first + j) * f.symbols, v, f.opaque);
	}
}

// Lanes that differ in bit 4 * half hand each other half of 2 * half sums, and add; then those that differ in the next bit.
template <uint32_t half> DEVICE void share_out(uint32_t *sums)
{
	bool upper = (lane() & (4 * half)) != 0;
#pragma unroll
	for (uint32_t j = 0; j < half; j++) {
		// Both are read before one is chosen, so that sums stays in registers.
		uint32_t low = sums[j], high = sums[j + half];
		sums[j] = (upper ? high : low) + exchange(upper ? low : high, 4 * half);
	}
	if constexpr (half > 1)
		share_out<half / 2>(sums);
}

// The prices of a tile by the tables of groups first to first+7, of which those from end on are nothing: lane i holds that
// of group first + i/4. The threads of the warp call; count is the tile's pixels, and v those of them that the thread has.
//
// A thread adds up its own pixels by all eight tables, and then hands half of its sums to a lane that hands it the other
// half, three times over, so that 9 exchanges do for eight sums.
DEVICE uint32_t price_groups(const Frame &f, const Tile &t, const uint32_t *v, uint32_t count, uint32_t first, uint32_t end)
{
	uint32_t sums[at_once] = {};
#pragma unroll
	for (uint32_t p = 0; p < held; p++) {
		if (p * warp_size + lane() < count)
			add_prices(sums, f, v[p], first, end);
	}
	for (uint32_t s = held * warp_size + lane(); s < count; s += warp_size)
		add_prices(sums, f, f.coded[(uint64_t)(t.y + s / t.w) * f.width + t.x + s % t.w], first, end);
	share_out<at_once / 2>(sums);
	sums[0] += exchange(sums[0], 2);
	return sums[0] + exchange(sums[0], 1);
}

DEVICE uint32_t warp_least_of_all(uint32_t v)
{
	for (uint32_t d = warp_size / 2; d > 0; d /= 2)
		v = least(v, exchange(v, d));
	return v;
}

// Moves every tile to the group where it costs least with the group's own price, of equal ones the first. Adds to result
// how many tiles are in each, and behind the counts, as 64 bits, the sum of their regrets: what they would cost more in the
// next best of the groups looked at, at most no_group. Tiles of closed groups stay, without regret. A warp takes a tile of
// picture blockIdx.y.
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
	if (f.group_prices[group] == closed) {
		if (lane() == 0)
			add_to(&f.result[group], 1);
		return;
	}
	uint32_t count = t.w * t.h, v[held];
#pragma unroll
	for (uint32_t p = 0; p < held; p++) {
		uint32_t s = p * warp_size + lane();
		v[p] = s < count ? f.coded[(uint64_t)(t.y + s / t.w) * f.width + t.x + s % t.w] : 0;
	}
	// Each lane looks for the best of its groups, then the warp for the best of those, and for the best but that one.
	uint32_t best = ~0u, second = ~0u;
	for (uint32_t first = lo; first < hi; first += at_once) {
		uint32_t sum = price_groups(f, t, v, count, first, hi), j = first + lane() / 4;
		if (j >= hi)
			continue;
		sum += f.group_prices[j];
		if (sum < best) {
			second = best;
			best = sum;
			group = j;
		} else if (sum < second) {
			second = sum;
		}
	}
	uint32_t lowest = warp_least_of_all(best);
	uint32_t to = warp_least_of_all(best == lowest ? group : ~0u);
	second = warp_least_of_all(group == to ? second : best);
	if (lane() == 0) {
		f.groups[tile] = (uint16_t)to;
		add_to(&f.result[to], 1);
		add_to((uint64_t *)&f.result[(f.n + 1) / 2 * 2 + 2 * to], least(second - lowest, no_group));
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
