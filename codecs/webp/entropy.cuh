// Groups of prefix codes (RFC 9649, 3.7.2.2), and what their symbols come to.
#pragma once

#include "slot.cuh"

// The cost of a tile of coded by a table. The threads of the warp call, and all hold the result.
DEVICE uint32_t literals_cost(const Slot &image, const Tile &t, const uint16_t *table)
{
	uint32_t sum = 0;
	for (uint32_t s = lane(); s < t.w * t.h; s += warp_size)
		sum += literal_cost(table, image.coded[(uint64_t)(t.y + s / t.w) * image.width + t.x + s % t.w], image.opaque);
	return warp_total(sum);
}

// The cost of every tile of group_bits by the first table, in result. A warp takes a tile of image blockIdx.y.
KERNEL webp_tile_costs(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t tile = thread() / warp_size;
	if (tile >= (uint64_t)tiles(image.width, image.group_bits) * tiles(image.height, image.group_bits))
		return;
	uint32_t sum = literals_cost(image, Tile(image, image.group_bits, tile), image.costs);
	if (lane() == 0)
		image.result[tile] = sum;
}

// Costs by symbol instead of by group lie in words of two groups, the even one in the low half; a row of a symbol has as
// many words as fill whole lines of the cache.
DEVICE uint32_t cost_words(uint32_t n) { return (n + 63) / 64 * 32; }

// Sets scratch to costs by symbol, for webp_assign_groups. One thread per word of image blockIdx.y.
KERNEL webp_costs_by_symbol(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint32_t words = cost_words(image.group_count);
	uint64_t i = thread();
	if (i >= (uint64_t)words * image.symbols)
		return;
	uint32_t k = (uint32_t)(i % words) * 2, s = (uint32_t)(i / words);
	uint32_t low = k < image.group_count ? image.costs[(uint64_t)k * image.symbols + s] : 0;
	uint32_t high = k + 1 < image.group_count ? image.costs[(uint64_t)(k + 1) * image.symbols + s] : 0;
	((uint32_t *)image.scratch)[i] = low | high << 16;
}

constexpr uint32_t held = 2; // words of a row that a lane of webp_assign_groups adds up at a time

// Adds to sums, two for each word, the cost of literal v in the groups of the words that the lane has from word w on, as
// far as they come before end. The halves of a word do not meet: four costs are less than 2^16.
DEVICE void add_costs(uint32_t *sums, const Slot &image, uint32_t v, uint32_t words, uint32_t w, uint32_t end)
{
	const uint32_t *rows = (const uint32_t *)image.scratch;
	const uint32_t *red = rows + (red_at + (v >> 16 & 255)) * words, *green = rows + (green_at + (v >> 8 & 255)) * words;
	const uint32_t *blue = rows + (blue_at + (v & 255)) * words, *alpha = rows + (alpha_at + (v >> 24)) * words;
#pragma unroll
	for (uint32_t i = 0; i < held; i++, w += warp_size) {
		if (w >= end)
			break;
		uint32_t both = red[w] + green[w] + blue[w];
		if (image.opaque == 0)
			both += alpha[w];
		sums[2 * i] += both & 0xffff;
		sums[2 * i + 1] += both >> 16;
	}
}

DEVICE uint32_t warp_least_of_all(uint32_t v)
{
	for (uint32_t d = warp_size / 2; d > 0; d /= 2)
		v = least(v, exchange(v, d));
	return v;
}

// Moves every tile to the group where it costs least with the group's own cost, of equal ones the first. Adds to result
// how many tiles are in each, and behind the counts, as 64 bits, the sum of their regrets: what they would cost more in the
// next best of the groups looked at, at most no_group. Tiles of closed groups stay, without regret. A warp takes a
// tile of image blockIdx.y: its lanes have groups of their own and go over the pixels together, so that what they read of
// webp_costs_by_symbol lies side by side.
KERNEL webp_assign_groups(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t tile = thread() / warp_size;
	if (tile >= (uint64_t)tiles(image.width, image.group_bits) * tiles(image.height, image.group_bits))
		return;
	Tile t(image, image.group_bits, tile);
	uint32_t lo = 0, hi = image.group_count, group = image.groups[tile];
	if (image.near > 0) {
		lo = group > image.near ? group - image.near : 0;
		hi = least(image.group_count, group + image.near + 1);
	}
	if (image.group_costs[group] == closed) {
		if (lane() == 0)
			add_to(&image.result[group], 1);
		return;
	}
	// Each lane looks for the best of its groups, then the warp for the best of those, and for the best but that one.
	uint32_t best = ~0u, second = ~0u;
	uint32_t words = cost_words(image.group_count), count = t.w * t.h, end = (hi + 1) / 2;
	for (uint32_t first = lo / 2; first < end; first += held * warp_size) {
		uint32_t sums[2 * held] = {}, w = first + lane();
		for (uint32_t from = 0; from < count; from += warp_size) {
			uint32_t s = from + lane();
			uint32_t own = s < count ? image.coded[(uint64_t)(t.y + s / t.w) * image.width + t.x + s % t.w] : 0;
			for (uint32_t i = 0; i < warp_size && from + i < count; i++)
				add_costs(sums, image, broadcast(own, i), words, w, end);
		}
#pragma unroll
		for (uint32_t i = 0; i < 2 * held; i++) {
			uint32_t j = 2 * (w + i / 2 * warp_size) + i % 2;
			if (j < lo || j >= hi)
				continue;
			uint32_t sum = sums[i] + image.group_costs[j];
			if (sum < best) {
				second = best;
				best = sum;
				group = j;
			} else if (sum < second) {
				second = sum;
			}
		}
	}
	uint32_t lowest = warp_least_of_all(best);
	uint32_t to = warp_least_of_all(best == lowest ? group : ~0u);
	second = warp_least_of_all(group == to ? second : best);
	if (lane() == 0) {
		image.groups[tile] = (uint16_t)to;
		add_to(&image.result[to], 1);
		add_to((uint64_t *)&image.result[(image.group_count + 1) / 2 * 2 + 2 * to], least(second - lowest, no_group));
	}
}

// Counts the literals of coded in result, n tables, which were zero before; alpha only where it is not opaque. The
// blocks share the pixels of image blockIdx.y. The counts of a single group are made in shared memory first, where its
// frequent symbols do not wait for the whole device.
KERNEL webp_histograms(const Slot *__restrict__ slots)
{
	__shared__ uint32_t s_counts[cache_at];
	const Slot &image = slots[blockIdx.y];
	bool single = image.group_count <= 1;
	if (single) {
		for (uint32_t i = threadIdx.x; i < cache_at; i += blockDim.x)
			s_counts[i] = 0;
		sync_block(); // all are zero
	}
	uint64_t all = (uint64_t)image.width * image.height;
	for (uint64_t i = thread(); i < all; i += (uint64_t)gridDim.x * blockDim.x) {
		uint32_t v = image.coded[i];
		uint32_t *to = s_counts;
		if (!single)
			to = image.result + (uint64_t)group_at(image, (uint32_t)(i % image.width), (uint32_t)(i / image.width)) * image.symbols;
		add_to(&to[red_at + (v >> 16 & 255)], 1);
		add_to(&to[green_at + (v >> 8 & 255)], 1);
		add_to(&to[blue_at + (v & 255)], 1);
		if (image.opaque == 0)
			add_to(&to[alpha_at + (v >> 24)], 1);
	}
	if (single) {
		sync_block(); // all are counted
		for (uint32_t i = threadIdx.x; i < cache_at; i += blockDim.x)
			if (s_counts[i] != 0)
				add_to(&image.result[i], s_counts[i]);
	}
}
