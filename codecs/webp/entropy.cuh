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
// many words as fill whole sectors of the cache.
DEVICE uint32_t cost_words(uint32_t n) { return (n + 15) / 16 * 8; }

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

constexpr uint32_t held = 2;      // words of a row that a lane of webp_assign_groups adds up at a time
constexpr uint32_t few_words = 8; // that as many lanes add up, for several pixels at a time
constexpr uint32_t together = warp_size / few_words;
static_assert(together * 3 * max_cost < 65536, "the halves of a word do not meet");

// Where the costs of the symbols of a literal begin, by symbol, from some word of each row on.
struct CostRows {
	const uint32_t *red, *green, *blue, *alpha;
	uint32_t words; // of a row

	__device__ CostRows(const Slot &image, uint32_t row_words, uint32_t from)
	{
		const uint32_t *rows = (const uint32_t *)image.scratch + from;
		words = row_words;
		red = rows + red_at * words, green = rows + green_at * words;
		blue = rows + blue_at * words, alpha = rows + alpha_at * words;
	}
	// Of word i of the row of each symbol but alpha.
	__device__ uint32_t colour(uint32_t v, uint32_t i) const
	{
		return red[(v >> 16 & 255) * words + i] + green[(v >> 8 & 255) * words + i] + blue[(v & 255) * words + i];
	}
	__device__ uint32_t alpha_of(uint32_t v, uint32_t i) const { return alpha[(v >> 24) * words + i]; }
};

// Adds to sums, two for each word, the cost of literal v in the groups of the words that the lane has from word w on, as
// far as they come before end. The halves of a word do not meet: four costs are less than 2^16.
DEVICE void add_costs(uint32_t *sums, const Slot &image, const CostRows &rows, uint32_t v, uint32_t w, uint32_t end)
{
#pragma unroll
	for (uint32_t i = 0; i < held; i++, w += warp_size) {
		if (w >= end)
			break;
		uint32_t both = rows.colour(v, w);
		if (image.opaque == 0)
			both += rows.alpha_of(v, w);
		sums[2 * i] += both & 0xffff;
		sums[2 * i + 1] += both >> 16;
	}
}

// Pixel s of a tile, row by row; 0 behind the last.
DEVICE uint32_t pixel_of(const Slot &image, const Tile &t, uint32_t s)
{
	return s < t.w * t.h ? image.coded[(uint64_t)(t.y + s / t.w) * image.width + t.x + s % t.w] : 0;
}

// Sets sums to the costs of a tile in the two groups of the word that rows begin with. few_words lanes that lie side by
// side have a pixel and a word each, and the others those of other pixels; all lanes with the same word hold its sums.
template <bool opaque> DEVICE void few_costs(uint32_t (&sums)[2], const Slot &image, const Tile &t, const CostRows &rows)
{
	uint32_t bits = image.group_bits, own = lane() / few_words; // pixel of those that are added up together
	sums[0] = sums[1] = 0;
	for (uint32_t from = 0; from < t.h << bits; from += warp_size) {
		uint32_t s = from + lane(), x = s & ((1u << bits) - 1), y = s >> bits;
		bool there = x < t.w && y < t.h;
		uint32_t pixel = there ? image.coded[(uint64_t)(t.y + y) * image.width + t.x + x] : 0, some = ballot(there);
#pragma unroll
		for (uint32_t i = 0; i < warp_size; i += together * together) {
			uint32_t both = 0; // of as many literals without alpha as together
#pragma unroll
			for (uint32_t k = 0; k < together; k++) {
				uint32_t from_pixel = i + k * together + own, v = from_lane(pixel, from_pixel);
				uint32_t keep = 0 - (some >> from_pixel & 1);
				both += rows.colour(v, 0) & keep;
				if (!opaque) {
					uint32_t more = rows.alpha_of(v, 0) & keep;
					sums[0] += more & 0xffff;
					sums[1] += more >> 16;
				}
			}
			sums[0] += both & 0xffff;
			sums[1] += both >> 16;
		}
	}
#pragma unroll
	for (uint32_t d = few_words; d < warp_size; d *= 2) {
		sums[0] += exchange(sums[0], d);
		sums[1] += exchange(sums[1], d);
	}
}

// The best of the groups that a lane has looked at, of equal ones the first, and the next best.
struct Best {
	uint32_t cost, next, group;

	__device__ void look(uint32_t sum, uint32_t j)
	{
		if (sum < cost) {
			next = cost;
			cost = sum;
			group = j;
		} else if (sum < next) {
			next = sum;
		}
	}
};

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
	uint32_t tile = (uint32_t)(thread() / warp_size);
	if (tile >= tiles(image.width, image.group_bits) * tiles(image.height, image.group_bits))
		return;
	Tile t(image, image.group_bits, tile);
	uint32_t lo = 0, hi = image.group_count, was = image.groups[tile];
	if (image.near > 0) {
		lo = was > image.near ? was - image.near : 0;
		hi = least(image.group_count, was + image.near + 1);
	}
	if (image.group_costs[was] == closed) {
		if (lane() == 0)
			add_to(&image.result[was], 1);
		return;
	}
	// Each lane looks for the best of its groups, then the warp for the best of those, and for the best but that one.
	Best best = {~0u, ~0u, was};
	uint32_t words = cost_words(image.group_count), end = (hi + 1) / 2;
	if (end - lo / 2 <= few_words) {
		uint32_t w = lo / 2 + lane() % few_words, sums[2];
		CostRows rows(image, words, least(w, words - 1));
		if (image.opaque != 0)
			few_costs<true>(sums, image, t, rows);
		else
			few_costs<false>(sums, image, t, rows);
#pragma unroll
		for (uint32_t i = 0; i < 2; i++)
			if (2 * w + i >= lo && 2 * w + i < hi)
				best.look(sums[i] + image.group_costs[2 * w + i], 2 * w + i);
	} else {
		CostRows rows(image, words, 0);
		for (uint32_t first = lo / 2; first < end; first += held * warp_size) {
			uint32_t sums[2 * held] = {}, w = first + lane();
			for (uint32_t from = 0; from < t.w * t.h; from += warp_size) {
				uint32_t own = pixel_of(image, t, from + lane());
				for (uint32_t i = 0; i < warp_size && from + i < t.w * t.h; i++)
					add_costs(sums, image, rows, broadcast(own, i), w, end);
			}
#pragma unroll
			for (uint32_t i = 0; i < 2 * held; i++) {
				uint32_t j = 2 * (w + i / 2 * warp_size) + i % 2;
				if (j >= lo && j < hi)
					best.look(sums[i] + image.group_costs[j], j);
			}
		}
	}
	uint32_t lowest = warp_least_of_all(best.cost);
	uint32_t to = warp_least_of_all(best.cost == lowest ? best.group : ~0u);
	uint32_t next = warp_least_of_all(best.group == to ? best.next : best.cost);
	if (lane() == 0) {
		image.groups[tile] = (uint16_t)to;
		add_to(&image.result[to], 1);
		add_to((uint64_t *)&image.result[(image.group_count + 1) / 2 * 2 + 2 * to], least(next - lowest, no_group));
	}
}

// Adds to counts how many tiles are in each group. One thread per tile of image blockIdx.y.
KERNEL webp_count_tiles(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t tile = thread();
	bool some = tile < (uint64_t)tiles(image.width, image.group_bits) * tiles(image.height, image.group_bits);
	uint32_t group = some ? image.groups[tile] : ~0u, same = same_lanes(group);
	if (some && before_own(same) == 0)
		add_global(&image.counts[group], (uint32_t)__builtin_popcount(same));
}

// Makes of counts, how many tiles are in each group, where the tiles of each begin in order. A warp for image blockIdx.y.
KERNEL webp_place_groups(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	if (blockIdx.x > 0 || threadIdx.x >= warp_size)
		return;
	uint32_t before = 0;
	for (uint32_t first = 0; first < image.group_count; first += warp_size) {
		uint32_t k = first + lane(), n = k < image.group_count ? image.counts[k] : 0;
		uint32_t sum = warp_running_sum(n);
		if (k < image.group_count)
			image.counts[k] = before + sum - n;
		before += broadcast(sum, warp_size - 1);
	}
}

// Sets order to the tiles, group by group. Which tile of a group comes first depends on the order in which threads run, and
// no result on that. One thread per tile of image blockIdx.y; counts is what webp_place_groups has made, and changes.
KERNEL webp_order_tiles(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t tile = thread();
	bool some = tile < (uint64_t)tiles(image.width, image.group_bits) * tiles(image.height, image.group_bits);
	uint32_t group = some ? image.groups[tile] : ~0u, same = same_lanes(group), before = before_own(same), at = 0;
	if (some && before == 0)
		at = add_to(&image.counts[group], (uint32_t)__builtin_popcount(same));
	at = from_lane(at, (uint32_t)__builtin_ctz(same));
	if (some)
		image.order[at + (uint32_t)__builtin_popcount(before)] = (uint32_t)tile;
}

// Counts literal v in a table in shared memory; alpha only where it is not opaque.
DEVICE void count_literal(uint32_t *s_counts, uint32_t v, uint32_t opaque)
{
	add_to(&s_counts[red_at + (v >> 16 & 255)], 1);
	add_to(&s_counts[green_at + (v >> 8 & 255)], 1);
	add_to(&s_counts[blue_at + (v & 255)], 1);
	if (opaque == 0)
		add_to(&s_counts[alpha_at + (v >> 24)], 1);
}

// Adds what a block has counted to a table, and begins with zeros again. All threads of the block call.
DEVICE void move_counts(uint32_t *s_counts, uint32_t *to)
{
	sync_block(); // all are counted
	for (uint32_t i = threadIdx.x; i < cache_at; i += block_threads) {
		uint32_t n = s_counts[i];
		if (n != 0) {
			add_global(&to[i], n);
			s_counts[i] = 0;
		}
	}
	sync_block(); // all are zero
}

// Counts the literals of coded in result, a table for each group, which were zero before; alpha only where it is not opaque.
// They are counted in shared memory first, where frequent symbols do not wait for the whole device. Without order there is
// one group, and the blocks share the pixels of image blockIdx.y. With order a block has histogram_tiles of it, among which
// those of a group lie side by side.
KERNEL __launch_bounds__(block_threads) webp_histograms(const Slot *__restrict__ slots)
{
	__shared__ uint32_t s_counts[cache_at];
	__shared__ uint32_t s_places[histogram_tiles]; // of the first pixels: x | y << 16
	__shared__ uint16_t s_groups[histogram_tiles];
	const Slot &image = slots[blockIdx.y];
	uint32_t width = image.width, height = image.height, opaque = image.opaque, bits = image.group_bits;
	const uint32_t *coded = image.coded;
	for (uint32_t i = threadIdx.x; i < cache_at; i += block_threads)
		s_counts[i] = 0;
	if (image.order == nullptr) {
		uint32_t all = width * height;
		sync_block(); // all are zero
		for (uint32_t i = (uint32_t)thread(); i < all; i += gridDim.x * block_threads)
			count_literal(s_counts, coded[i], opaque);
		move_counts(s_counts, image.result);
		return;
	}
	uint32_t columns = tiles(width, bits), all = columns * tiles(height, bits), begin = blockIdx.x * histogram_tiles;
	if (begin >= all)
		return;
	uint32_t count = least(histogram_tiles, all - begin);
	for (uint32_t i = threadIdx.x; i < count; i += block_threads) {
		uint32_t tile = image.order[begin + i];
		s_places[i] = tile % columns << bits | tile / columns << bits << 16;
		s_groups[i] = image.groups[tile];
	}
	sync_block(); // all are zero, and the tiles are there
	uint32_t side = (1u << bits) - 1;
	for (uint32_t first = 0; first < count;) {
		uint32_t group = s_groups[first], end = first;
		while (end < count) { // each warp finds the end of the group for itself
			uint32_t i = end + lane(), others = ballot(i >= count || s_groups[i] != group);
			if (others != 0) {
				end += (uint32_t)__builtin_ctz(others);
				break;
			}
			end += warp_size;
		}
#pragma unroll 4
		for (uint32_t p = threadIdx.x; p < (end - first) << 2 * bits; p += block_threads) {
			uint32_t place = s_places[first + (p >> 2 * bits)];
			uint32_t x = (place & 0xffff) + (p & side), y = (place >> 16) + (p >> bits & side);
			if (x < width && y < height)
				count_literal(s_counts, coded[y * width + x], opaque);
		}
		move_counts(s_counts, image.result + (uint64_t)group * image.symbols);
		first = end;
	}
}
