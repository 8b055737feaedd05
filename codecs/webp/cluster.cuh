// Prefix code groups of graphics, as in cluster.go. The kernels are launched one after the other for the images that need a
// choice of groups, and what they hand on lies in Clusters. The symbols of a tile are read from its pixels each time; sums do
// not depend on their order.
#pragma once

#include "references.cuh"
#include "entropy.cuh"
#include "costs.cuh"

constexpr uint32_t max_symbols = cache_at + (1 << max_cache_bits);
static_assert(max_start_groups == warp_size, "a lane of a warp has a group");

DEVICE void least_at(uint32_t *p, uint32_t v) { __nvvm_atom_min_gen_ui(p, v); }

// The memory of an image in scratch; clusterScratch in references_cuda.go is its size.
struct Clusters {
	uint32_t symbols, tiles, padded; // padded: the power of two that is not less than tiles
	uint64_t *keys;                  // padded: by which tiles are ordered
	uint64_t *sizes;                 // by two groups: of their sum; of a group with itself: its own
	uint32_t *head;                  // 64 words: groups; symbols of all tiles; 1: no tile is left to start a group; then,
	                                 // from 8 on, the symbols of each code
	uint32_t *own;                   // by group: its cost
	uint32_t *members;               // by group: tiles with symbols
	uint32_t *all;                   // by symbol
	uint32_t *hist;                  // by group and symbol
	uint32_t *lowest;                // by tile: its cost
	uint32_t *size;                  // by tile: how many symbols it has
	uint32_t *used;                  // by tile: 1 if it has started a group
	uint16_t *rows;                  // by symbol and group: costs
	uint16_t *table;                 // by symbol: costs

	__device__ Clusters(const Slot &image)
	{
		symbols = image.symbols;
		tiles = ::tiles(image.width, image.group_bits) * ::tiles(image.height, image.group_bits);
		padded = 1u << bit_length(tiles - 1);
		keys = image.scratch;
		sizes = keys + padded;
		head = (uint32_t *)(sizes + max_start_groups * max_start_groups);
		own = head + 64;
		members = own + max_start_groups;
		all = members + max_start_groups;
		hist = all + symbols;
		lowest = hist + (uint64_t)max_start_groups * symbols;
		size = lowest + tiles;
		used = size + tiles;
		rows = (uint16_t *)(used + tiles);
		table = rows + (uint64_t)symbols * max_start_groups;
	}
};

// The limits of the five codes in a group of n symbols.
DEVICE uint32_t code_at(uint32_t k, uint32_t n)
{
	return k == 0 ? alpha_at : k == 1 ? red_at : k == 2 ? blue_at : k == 3 ? distance_at : k == 4 ? green_at : n;
}

// Calls each for the pixels of tile t that have symbols, one after the other, with the symbols. The threads of the warp
// call, and are all called.
template <typename F> DEVICE void each_symbols(const Slot &image, const Tile &t, F each)
{
	uint32_t count = t.w * t.h;
	for (uint32_t from = 0; from < count; from += warp_size) {
		uint32_t s = from + lane();
		Symbols own = symbols_of(image, (uint64_t)(t.y + s / t.w) * image.width + t.x + s % t.w, s < count, image.opaque == 0);
		for (uint32_t left = ballot((own.low & 0xffff) != no_symbol); left != 0; left &= left - 1) {
			uint32_t k = (uint32_t)__builtin_ctz(left);
			each(Symbols{broadcast(own.low, k), broadcast(own.high, k)});
		}
	}
}

// Counts the symbols of tile t in to and returns how many there are. The threads of the warp call, and all hold it.
DEVICE uint32_t count_tile(const Slot &image, const Tile &t, uint32_t *to)
{
	uint32_t count = t.w * t.h, sum = 0;
	for (uint32_t from = 0; from < count; from += warp_size) {
		uint32_t s = from + lane();
		Symbols own = symbols_of(image, (uint64_t)(t.y + s / t.w) * image.width + t.x + s % t.w, s < count, image.opaque == 0);
		count_symbols(to, own, 0);
		sum += ((own.low & 0xffff) != no_symbol) + (own.low >> 16 != no_symbol) + ((own.high & 0xffff) != no_symbol) +
		       (own.high >> 16 != no_symbol);
	}
	return warp_total(sum);
}

// The cost of tile t by a table whose entries lie stride apart. The threads of the warp call, and all hold it.
DEVICE uint32_t symbols_cost(const Slot &image, const Tile &t, const uint16_t *table, uint32_t stride)
{
	uint32_t count = t.w * t.h, sum = 0;
	for (uint32_t s = lane(); s < count; s += warp_size) {
		Symbols own = symbols_of(image, (uint64_t)(t.y + s / t.w) * image.width + t.x + s % t.w, true, image.opaque == 0);
		uint32_t list[4] = {own.low & 0xffff, own.low >> 16, own.high & 0xffff, own.high >> 16};
#pragma unroll
		for (uint32_t k = 0; k < 4; k++)
			if (list[k] != no_symbol)
				sum += table[list[k] * stride];
	}
	return warp_total(sum);
}

// Costs for counts(symbol) of all symbols go to table, whose entries lie stride apart (costs in log2.go). The threads of
// the block call; s is shared memory of most_warps elements.
template <typename F> DEVICE void block_costs(F counts, uint32_t symbols, uint16_t *table, uint32_t stride, uint64_t *s)
{
	for (uint32_t k = 0; k < 5; k++) {
		uint32_t end = code_at(k + 1, symbols);
		uint64_t n = 0;
		for (uint32_t i = code_at(k, symbols) + threadIdx.x; i < end; i += blockDim.x)
			n += counts(i);
		n = block_sum(n, s);
		uint32_t log = log2(n == 0 ? 1 : 3 * n);
		for (uint32_t i = code_at(k, symbols) + threadIdx.x; i < end; i += blockDim.x)
			table[i * stride] = (uint16_t)ideal_cost(counts(i), log);
	}
}

// Counts the symbols of all tiles of image blockIdx.y, and of each how many it has. A warp takes a tile.
KERNEL webp_cluster_tiles(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	Clusters c(image);
	uint64_t tile = thread() / warp_size;
	if (tile >= c.tiles)
		return;
	uint32_t n = count_tile(image, Tile(image, image.group_bits, tile), c.all);
	if (lane() == 0) {
		c.size[tile] = n;
		add_to(&c.head[1], n);
	}
}

// Costs by the symbols of all tiles of image blockIdx.y, in table, and how many symbols each code has. The search starts
// with count groups. A block takes the image.
KERNEL webp_cluster_all_costs(const Slot *__restrict__ slots)
{
	__shared__ uint64_t s_sums[most_warps];
	const Slot &image = slots[blockIdx.y];
	Clusters c(image);
	block_costs([&](uint32_t i) { return c.all[i]; }, c.symbols, c.table, 1, s_sums);
	for (uint32_t k = 0; k < 5; k++) {
		uint32_t n = 0;
		for (uint32_t i = code_at(k, c.symbols) + threadIdx.x; i < code_at(k + 1, c.symbols); i += blockDim.x)
			n += c.all[i];
		n = (uint32_t)block_sum((uint64_t)n, s_sums);
		if (threadIdx.x == 0)
			c.head[8 + k] = n;
	}
	if (threadIdx.x == 0)
		c.head[0] = image.count;
}

// Whether the image begins a group in a round: images differ in how many they have.
DEVICE bool seeds(const Slot &image, const Clusters &c, uint32_t round)
{
	return round >= image.group_count / 2 && round < image.group_count && c.head[2] == 0;
}

// The cost of every tile of image blockIdx.y by table; with a round, a group, tiles that cost less go there. A warp takes
// a tile.
KERNEL webp_cluster_tile_costs(const Slot *__restrict__ slots, uint32_t round)
{
	const Slot &image = slots[blockIdx.y];
	Clusters c(image);
	uint64_t tile = thread() / warp_size;
	if (tile >= c.tiles || (round != 0 && !seeds(image, c, round)))
		return;
	uint32_t sum = symbols_cost(image, Tile(image, image.group_bits, tile), c.table, 1);
	if (lane() == 0 && (round == 0 || sum < c.lowest[tile])) {
		c.lowest[tile] = sum;
		if (round != 0)
			image.groups[tile] = (uint16_t)round;
	}
}

// The cost of every tile of image blockIdx.y in its group. A warp takes a tile.
KERNEL webp_cluster_own_costs(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	Clusters c(image);
	uint64_t tile = thread() / warp_size;
	if (tile >= c.tiles)
		return;
	uint32_t sum = symbols_cost(image, Tile(image, image.group_bits, tile), c.rows + image.groups[tile], max_start_groups);
	if (lane() == 0)
		c.lowest[tile] = sum;
}

// Puts the tiles of image blockIdx.y into the first groups, by rising cost of a symbol, as many in each; tiles without
// symbols into group 0. A block takes the image and sorts the tiles by a bitonic network.
KERNEL __launch_bounds__(image_block) webp_cluster_order(const Slot *__restrict__ slots)
{
	__shared__ uint64_t s_sums[most_warps];
	const Slot &image = slots[blockIdx.y];
	Clusters c(image);
	uint64_t some = 0;
	for (uint32_t t = threadIdx.x; t < c.padded; t += blockDim.x) {
		uint64_t key = ~0ull;
		if (t < c.tiles) {
			image.groups[t] = 0;
			if (c.size[t] > 0) {
				key = (uint64_t)c.lowest[t] * 16 / c.size[t] << 32 | t;
				some++;
			}
		}
		c.keys[t] = key;
	}
	some = block_sum(some, s_sums);
	for (uint32_t run = 2; run <= c.padded; run *= 2) {
		for (uint32_t apart = run / 2; apart > 0; apart /= 2) {
			sync_block(); // the exchanges before are done
			for (uint32_t i = threadIdx.x; i < c.padded; i += blockDim.x) {
				uint32_t j = i ^ apart;
				if (j < i)
					continue;
				uint64_t a = c.keys[i], b = c.keys[j];
				if ((a > b) == ((i & run) == 0)) {
					c.keys[i] = b;
					c.keys[j] = a;
				}
			}
		}
	}
	sync_block(); // all are in order
	for (uint32_t i = threadIdx.x; i < some; i += blockDim.x)
		image.groups[(uint32_t)c.keys[i]] = (uint16_t)((uint64_t)i * c.head[0] / some);
}

// Forgets the histograms of groups of image blockIdx.y; with round 1, from now on there are all groups. One thread per
// symbol of a group.
KERNEL webp_cluster_clear(const Slot *__restrict__ slots, uint32_t round)
{
	const Slot &image = slots[blockIdx.y];
	Clusters c(image);
	uint64_t i = thread();
	if (i < (uint64_t)max_start_groups * c.symbols)
		c.hist[i] = 0;
	if (i < max_start_groups)
		c.members[i] = 0;
	if (i == 0 && round == 1)
		c.head[0] = image.group_count;
}

// Counts the symbols of the groups of image blockIdx.y, and their tiles. A warp takes a tile.
KERNEL webp_cluster_count(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	Clusters c(image);
	uint64_t tile = thread() / warp_size;
	if (tile >= c.tiles || c.size[tile] == 0)
		return;
	uint32_t group = image.groups[tile];
	count_tile(image, Tile(image, image.group_bits, tile), c.hist + (uint64_t)group * c.symbols);
	if (lane() == 0)
		add_to(&c.members[group], 1);
}

// Costs of group blockIdx.x of image blockIdx.y: of its symbols, with a little of all (smoothedCosts), in rows, and
// its own. A block takes a group.
KERNEL webp_cluster_group_costs(const Slot *__restrict__ slots)
{
	__shared__ uint64_t s_sums[most_warps];
	const Slot &image = slots[blockIdx.y];
	Clusters c(image);
	uint32_t group = blockIdx.x, n = c.head[0];
	if (group >= n)
		return; // the whole block
	const uint32_t *hist = c.hist + (uint64_t)group * c.symbols;
	block_costs(
	    [&](uint32_t i) {
		    uint32_t k = i < red_at ? 0 : i < blue_at ? 1 : i < distance_at ? 2 : i < green_at ? 3 : 4;
		    uint32_t sum = c.head[8 + k];
		    return hist[i] * group_weight + (uint32_t)((uint64_t)c.all[i] * image_weight / (sum == 0 ? 1 : sum));
	    },
	    c.symbols, c.rows + group, max_start_groups, s_sums);
	if (threadIdx.x == 0) {
		uint64_t sum = 0;
		for (uint32_t k = 0; k < n; k++)
			sum += c.members[k];
		uint32_t own = c.members[group];
		c.own[group] = own == 0 ? no_group : ideal_cost(own, log2(sum == 0 ? 1 : 3 * sum)) / 2;
	}
}

// Moves every tile of image blockIdx.y that has symbols to the group where it costs least with half the group's own
// cost, of equal ones the first. A warp takes a tile and a lane a group.
KERNEL webp_cluster_assign(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	Clusters c(image);
	uint64_t tile = thread() / warp_size;
	uint32_t n = c.head[0];
	if (tile >= c.tiles || n < 2 || c.size[tile] == 0)
		return;
	uint32_t sum = lane() < n ? c.own[lane()] : ~0u;
	const uint16_t *rows = c.rows + (lane() < n ? lane() : 0);
	uint32_t added = 0;
	each_symbols(image, Tile(image, image.group_bits, tile), [&](Symbols s) {
		added += rows[(s.low & 0xffff) * max_start_groups];
		if (s.low >> 16 != no_symbol)
			added += rows[(s.low >> 16) * max_start_groups];
		if ((s.high & 0xffff) != no_symbol)
			added += rows[(s.high & 0xffff) * max_start_groups];
		if (s.high >> 16 != no_symbol)
			added += rows[(s.high >> 16) * max_start_groups];
	});
	if (lane() < n)
		sum += added;
	uint32_t lowest = warp_least_of_all(sum);
	uint32_t to = warp_least_of_all(sum == lowest ? lane() : ~0u);
	if (lane() == 0)
		image.groups[tile] = (uint16_t)to;
}

// Begins a group, round, of image blockIdx.y with the tile that costs most of those that have begun none: table is made
// of its symbols, those of the tiles around it, and of all. A block takes the image.
KERNEL __launch_bounds__(image_block) webp_cluster_worst(const Slot *__restrict__ slots, uint32_t round)
{
	__shared__ uint64_t s_sums[most_warps];
	__shared__ uint32_t s_hist[max_symbols];
	const Slot &image = slots[blockIdx.y];
	Clusters c(image);
	if (!seeds(image, c, round))
		return; // the whole block
	uint64_t key = ~0ull;
	for (uint32_t t = threadIdx.x; t < c.tiles; t += blockDim.x)
		if (c.used[t] == 0)
			key = least(key, (uint64_t)~c.lowest[t] << 32 | t);
	key = block_least(key, s_sums);
	if (key >> 32 == 0xffffffff) {
		if (threadIdx.x == 0)
			c.head[2] = 1;
		return; // the whole block
	}
	for (uint32_t i = threadIdx.x; i < c.symbols; i += blockDim.x)
		s_hist[i] = 0;
	sync_block(); // all are zero
	uint32_t at = (uint32_t)key, columns = tiles(image.width, image.group_bits), rows = c.tiles / columns;
	uint32_t size = 0;
	// Nine warps count a tile each, and every thread knows how many symbols they have.
	for (uint32_t k = 0; k < 9; k++) {
		uint32_t x = at % columns + k % 3, y = at / columns + k / 3;
		if (x < 1 || x > columns || y < 1 || y > rows)
			continue;
		uint32_t tile = (y - 1) * columns + x - 1;
		size += c.size[tile];
		if (warp() == k)
			count_tile(image, Tile(image, image.group_bits, tile), s_hist);
	}
	sync_block(); // all are counted
	uint64_t times = (uint64_t)c.head[1] * seed_weight / (size == 0 ? 1 : size);
	if (times == 0)
		times = 1;
	block_costs([&](uint32_t i) { return s_hist[i] * (uint32_t)times + c.all[i]; }, c.symbols, c.table, 1, s_sums);
	if (threadIdx.x == 0)
		c.used[at] = 1;
}
