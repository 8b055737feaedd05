// What a pass of training learns about the cells of the codebook.
#pragma once

#include "vectors.cuh"

// Adds the samples of blocks to the cells of their codewords: W = K/4 neighbouring lanes take a block, each one word of
// it. With ways, only blocks beyond their cell's limit count: those with x.way > limit. Sums are collected in shared
// memory where the cells fit there.
template <bool BEYOND>
DEVICE void add_up(uint32_t *sums, uint32_t *counts, const uint32_t *blocks, const uint64_t *keys, const int16_t *ways,
                   const int32_t *limits, uint32_t m, uint32_t n, uint32_t k, uint32_t shared)
{
	extern __shared__ uint32_t s_cells[]; // n x (K + 1) if shared
	uint32_t words = k / 4;
	if (shared != 0) {
		for (uint32_t i = threadIdx.x; i < n * (k + 1); i += blockDim.x)
			s_cells[i] = 0;
		sync_block(); // the cells are empty
	}
	uint64_t total = (uint64_t)m * words, step = (uint64_t)gridDim.x * blockDim.x;
	for (uint64_t from = (uint64_t)blockIdx.x * blockDim.x; from < total; from += step) {
		uint64_t at = from + threadIdx.x;
		bool mine = at < total;
		uint32_t w = (uint32_t)(at % words), v = 0, cell = 0;
		if (mine) {
			v = blocks[at];
			cell = (uint32_t)keys[at / words] & index_mask;
			mine = cell < n;
		}
		if (BEYOND) {
			uint32_t dot = 0;
			if (mine) {
				const int16_t *way = ways + cell * k + 4 * w;
				for (uint32_t j = 0; j < 4; j++)
					dot += (uint32_t)((int32_t)(v >> (8 * j) & 255) * way[j]);
			}
			for (uint32_t d = 1; d < words; d *= 2)
				dot += exchange(dot, d);
			mine = mine && (int32_t)dot > limits[cell];
		}
		if (!mine)
			continue;
		uint32_t to = cell * k + 4 * w;
		if (shared != 0) {
			for (uint32_t j = 0; j < 4; j++)
				add_to(&s_cells[to + j], v >> (8 * j) & 255);
			if (w == 0)
				add_to(&s_cells[n * k + cell], 1);
		} else {
			for (uint32_t j = 0; j < 4; j++)
				add_to(&sums[to + j], v >> (8 * j) & 255);
			if (w == 0)
				add_to(&counts[cell], 1);
		}
	}
	if (shared == 0)
		return;
	sync_block(); // all blocks are in
	for (uint32_t i = threadIdx.x; i < n * (k + 1); i += blockDim.x) {
		uint32_t v = s_cells[i];
		if (v != 0)
			add_to(i < n * k ? &sums[i] : &counts[i - n * k], v);
	}
}

// Sums of the samples and number of the blocks of every cell.
KERNEL vq_gather(uint32_t *__restrict__ sums,          // n x K, added to
                 uint32_t *__restrict__ counts,        // n, added to
                 const uint32_t *__restrict__ blocks,  // m x K
                 const uint64_t *__restrict__ keys,    // m
                 uint32_t m, uint32_t n, uint32_t k,
                 uint32_t shared)                      // 1: the launch brings n x (K + 1) words of shared memory
{
	add_up<false>(sums, counts, blocks, keys, nullptr, nullptr, m, n, k, shared);
}

// The farthest block of every cell: distance << 32 | ~block, so that of several the first wins. 0 where all are on the
// codeword. One thread per block.
KERNEL vq_farthest(uint64_t *__restrict__ far,         // n, set to 0 before
                   const uint64_t *__restrict__ keys,  // m
                   uint32_t m, uint32_t n)
{
	uint64_t i = thread();
	if (i >= m)
		return;
	uint64_t distance = keys[i] >> index_bits;
	uint32_t cell = (uint32_t)keys[i] & index_mask;
	if (distance == 0 || cell >= n)
		return;
	uint64_t v = distance << 32 | (uint32_t)~i;
	// What stands there only grows: most threads need not ask for the exchange.
	if (v > *(volatile uint64_t *)&far[cell])
		__nvvm_atom_max_gen_ull((unsigned long long *)&far[cell], v);
}

// A codeword's half of a cell that is cut in two, with what the next pass over the blocks needs.
constexpr int32_t no_limit = 0x7fffffff; // of a cell that cannot be cut: no block is beyond it

DEVICE uint32_t mean(uint64_t sum, uint32_t n) { return (uint32_t)((2 * sum + n) / (2 * (uint64_t)n)); }

// Starts (first = 1) or improves the two codewords of every cell: from the farthest block and its mirror image, or from
// the sums of the blocks beyond the limit. One warp per cell.
KERNEL vq_halves(uint8_t *__restrict__ a,              // n x K
                 uint8_t *__restrict__ b,              // n x K
                 uint64_t *__restrict__ gains,         // n
                 int16_t *__restrict__ ways,           // n x K
                 int32_t *__restrict__ limits,         // n
                 uint32_t *__restrict__ beyond,        // n x K, sums of the blocks beyond; left at 0
                 uint32_t *__restrict__ beyond_counts, // n; left at 0
                 const uint64_t *__restrict__ far,     // n, of vq_farthest
                 const uint32_t *__restrict__ sums,    // n x K, of vq_gather
                 const uint32_t *__restrict__ counts,  // n, of vq_gather
                 const uint8_t *__restrict__ blocks,   // m x K
                 const uint8_t *__restrict__ words,    // n x K
                 uint32_t m, uint32_t n, uint32_t k, uint32_t first)
{
	uint32_t cell = (uint32_t)(thread() / warp_size);
	if (cell >= n)
		return;
	uint32_t nb = beyond_counts[cell], na = counts[cell] - nb;
	bool dead;
	if (first != 0)
		dead = far[cell] == 0;
	else
		dead = limits[cell] == no_limit || na == 0 || nb == 0;
	sync_warp(); // all have read what lane 0 writes below
	uint32_t from = ~(uint32_t)far[cell];
	int32_t limit = 0;
	uint32_t apart = 0;
	for (uint32_t j = lane(); j < k; j += warp_size) {
		uint32_t at = cell * k + j, s = beyond[at];
		int32_t va = 0, vb = 0;
		if (!dead && first != 0) {
			va = blocks[(uint64_t)below(from, m) * k + j];
			vb = clip(2 * (int32_t)words[at] - va);
		} else if (!dead) {
			va = (int32_t)mean((uint64_t)sums[at] - s, na);
			vb = (int32_t)mean(s, nb);
		}
		a[at] = (uint8_t)va;
		b[at] = (uint8_t)vb;
		ways[at] = (int16_t)(2 * (vb - va));
		beyond[at] = 0;
		limit += vb * vb - va * va;
		apart += square(va - vb);
	}
	limit = (int32_t)warp_sum((uint32_t)limit);
	apart = warp_sum(apart);
	if (lane() == 0) {
		beyond_counts[cell] = 0;
		limits[cell] = dead ? no_limit : limit;
		gains[cell] = dead || first != 0 ? 0 : (uint64_t)na * nb * apart / ((uint64_t)na + nb);
	}
}

// Sums and number of those blocks of every cell that are beyond its limit.
KERNEL vq_beyond(uint32_t *__restrict__ sums,          // n x K, added to
                 uint32_t *__restrict__ counts,        // n, added to
                 const uint32_t *__restrict__ blocks,  // m x K
                 const uint64_t *__restrict__ keys,    // m
                 const int16_t *__restrict__ ways,     // n x K
                 const int32_t *__restrict__ limits,   // n
                 uint32_t m, uint32_t n, uint32_t k,
                 uint32_t shared)                      // 1: the launch brings n x (K + 1) words of shared memory
{
	add_up<true>(sums, counts, blocks, keys, ways, limits, m, n, k, shared);
}

// The nearest other codeword of every codeword, of several the first. n is at least 2. One warp per codeword.
KERNEL vq_nearest(uint64_t *__restrict__ keys,         // n
                  const uint32_t *__restrict__ words,  // n x K
                  uint32_t n, uint32_t k)
{
	uint32_t i = (uint32_t)(thread() / warp_size), w = k / 4;
	if (i >= n)
		return;
	uint64_t best = ~0ull;
	for (uint32_t j = lane(); j < n; j += warp_size) {
		if (j == i)
			continue;
		uint32_t distance = 0;
		for (uint32_t s = 0; s < w; s++) {
			uint32_t u = words[i * w + s], v = words[j * w + s];
			// Modulo 2^32; the whole is not negative.
			distance += dp4a(u, u, 0) + dp4a(v, v, 0) - 2 * dp4a(u, v, 0);
		}
		best = least(best, (uint64_t)distance << index_bits | j);
	}
	best = warp_least(best);
	if (lane() == 0)
		keys[i] = best;
}
