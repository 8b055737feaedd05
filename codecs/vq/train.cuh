// A pass of training: what it learns about the cells of the codebook, and the codewords at their means. A batch of codebooks
// trains in the same launches; nothing of it waits for the host.
#pragma once

#include "vectors.cuh"

enum State {
	state_rest, // 1: the passes change nothing more, 2: split has all codewords
	state_from, // the codewords that the last draw added
	state_to,
};

DEVICE uint32_t mean(uint64_t sum, uint32_t n) { return (uint32_t)((2 * sum + n) / (2 * (uint64_t)n)); }

// By how much the squared error of two cells rises when they become one; see ward in shift.go.
DEVICE uint64_t ward(uint32_t na, uint32_t nb, uint32_t distance)
{
	return na == 0 || nb == 0 ? 0 : (uint64_t)na * nb * distance / ((uint64_t)na + nb);
}

// The kernels take the training blockIdx.y of the list, and of it the first most codewords. Those whose training has come
// to rest, here or before the launch, do nothing.
DEVICE uint32_t cells_of(const Training &t, uint32_t most) { return t.state[state_rest] != 0 ? 0 : least(t.n, most); }

// Adds the samples of blocks to the cells of their codewords: W = K/4 neighbouring lanes take a block, each one word of
// it. With BEYOND, only blocks beyond their cell's limit count: those with x.direction > limit. Sums are collected in shared
// memory where the cells fit there.
template <bool BEYOND>
DEVICE void add_up(uint32_t *sums, uint32_t *counts, const uint32_t *blocks, const uint64_t *keys, const int16_t *directions,
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
				const int16_t *direction = directions + cell * k + 4 * w;
				for (uint32_t j = 0; j < 4; j++)
					dot += (uint32_t)((int32_t)(v >> (8 * j) & 255) * direction[j]);
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

// Sums of the samples and number of the blocks of every cell. The launch brings shared bytes of shared memory, where the
// cells are collected that fit.
KERNEL vq_gather(AddParams params)
{
	const Training &t = params.list[blockIdx.y];
	uint32_t n = cells_of(t, params.most);
	if (n > 0)
		add_up<false>(t.sums, t.counts, t.blocks, t.keys, nullptr, nullptr, t.m, n, t.k, 4 * n * (t.k + 1) <= params.shared);
}

// Moves every codeword to the mean of its blocks; that of an empty cell stays. One thread per sample.
KERNEL vq_centre(const Training *__restrict__ list, uint32_t most)
{
	const Training &t = list[blockIdx.y];
	uint64_t i = thread();
	if (i >= (uint64_t)cells_of(t, most) * t.k)
		return;
	uint32_t count = t.counts[i / t.k];
	t.last[i] = t.words[i];
	if (count > 0)
		t.words[i] = (uint8_t)mean(t.sums[i], count);
}

// The farthest block of every cell: distance << 32 | ~block, so that of several the first wins. 0 where all are on the
// codeword. One thread per block.
KERNEL vq_farthest(const Training *__restrict__ list, uint32_t most)
{
	const Training &t = list[blockIdx.y];
	uint32_t n = cells_of(t, most);
	uint64_t i = thread();
	if (n == 0 || i >= t.m)
		return;
	uint64_t distance = t.keys[i] >> index_bits;
	uint32_t cell = (uint32_t)t.keys[i] & index_mask;
	if (distance == 0 || cell >= n)
		return;
	uint64_t v = distance << 32 | (uint32_t)~i;
	// What stands there only grows: most threads need not ask for the exchange.
	if (v > *(volatile uint64_t *)&t.far[cell])
		__nvvm_atom_max_gen_ull((unsigned long long *)&t.far[cell], v);
}

constexpr int32_t no_limit = 0x7fffffff; // of a cell that cannot be cut: no block is beyond it

// Starts (first = 1) or improves the two codewords of every cell that is cut in two: from the farthest block and its
// mirror image, or from the sums of the blocks beyond the limit. One warp per cell.
KERNEL vq_halves(HalvesParams params)
{
	const Training &t = params.list[blockIdx.y];
	uint32_t first = params.first;
	uint32_t cell = (uint32_t)(thread() / warp_size), k = t.k;
	if (cell >= cells_of(t, params.most))
		return;
	uint32_t nb = t.beyond_counts[cell], na = t.counts[cell] - nb;
	bool dead;
	if (first != 0)
		dead = t.far[cell] == 0;
	else
		dead = t.limits[cell] == no_limit || na == 0 || nb == 0;
	sync_warp(); // all have read what lane 0 writes below
	uint32_t from = ~(uint32_t)t.far[cell];
	const uint8_t *block = (const uint8_t *)t.blocks + (uint64_t)below(from, t.m) * k;
	int32_t limit = 0;
	uint32_t apart = 0;
	for (uint32_t j = lane(); j < k; j += warp_size) {
		uint32_t at = cell * k + j, s = t.beyond[at];
		int32_t va = 0, vb = 0;
		if (!dead && first != 0) {
			va = block[j];
			vb = clip(2 * (int32_t)t.words[at] - va);
		} else if (!dead) {
			va = (int32_t)mean((uint64_t)t.sums[at] - s, na);
			vb = (int32_t)mean(s, nb);
		}
		t.a[at] = (uint8_t)va;
		t.b[at] = (uint8_t)vb;
		t.directions[at] = (int16_t)(2 * (vb - va));
		t.beyond[at] = 0;
		limit += vb * vb - va * va;
		apart += square(va - vb);
	}
	limit = (int32_t)warp_sum((uint32_t)limit);
	apart = warp_sum(apart);
	if (lane() == 0) {
		t.beyond_counts[cell] = 0;
		t.limits[cell] = dead ? no_limit : limit;
		t.gains[cell] = dead || first != 0 ? 0 : ward(na, nb, apart);
	}
}

// Sums and number of those blocks of every cell that are beyond its limit; shared as in vq_gather.
KERNEL vq_beyond(AddParams params)
{
	const Training &t = params.list[blockIdx.y];
	uint32_t n = cells_of(t, params.most);
	if (n > 0)
		add_up<true>(t.beyond, t.beyond_counts, t.blocks, t.keys, t.directions, t.limits, t.m, n, t.k, 4 * n * (t.k + 1) <= params.shared);
}
