// The first codewords of a batch of codebooks: see seed and split in start.go.
#pragma once

#include "blocks.cuh"
#include "search.cuh"
#include "train.cuh"

constexpr uint32_t most_places = most_codewords / seed_rounds;

DEVICE uint32_t seed_sample(const Training &t) { return least(t.m, t.n * seed_blocks); }

// Adds a round of codewords: blocks that are drawn with probabilities proportional to near, all alike in the first round.
// One block of threads for each training; a thread owns a stretch of near.
extern "C" __global__ void __launch_bounds__(block_threads) vq_draw(const Training *__restrict__ list)
{
	__shared__ uint64_t s_sums[most_warps], s_drawn[most_places], s_places[most_places]; // places on the line of all weights
	__shared__ uint32_t s_picks[most_places];
	const Training &t = list[blockIdx.y];
	uint32_t from = t.state[state_to];
	if (from == t.n) {
		if (threadIdx.x == 0)
			t.state[state_from] = from;
		return;
	}
	uint32_t count = least(from / seed_rounds, t.n - from), blocks = seed_sample(t);
	count = count == 0 ? 1 : count;
	uint32_t lo = (uint32_t)((uint64_t)blocks * threadIdx.x / block_threads);
	uint32_t hi = (uint32_t)((uint64_t)blocks * (threadIdx.x + 1) / block_threads);
	uint64_t own = from == 0 ? hi - lo : 0, total;
	if (from > 0)
		for (uint32_t i = lo; i < hi; i++)
			own += t.near[i];
	uint64_t before = block_sum_before(own, s_sums, total);
	if (threadIdx.x < count)
		s_drawn[threadIdx.x] = __nvvm_mulhi_ull(random(1, from + threadIdx.x), total == 0 ? blocks : total);
	sync_block(); // all places are drawn
	if (threadIdx.x < count) {
		uint64_t mine = s_drawn[threadIdx.x];
		if (total == 0) {
			s_picks[threadIdx.x] = (uint32_t)mine;
		} else {
			uint32_t order = 0;
			for (uint32_t j = 0; j < count; j++)
				order += s_drawn[j] < mine || (s_drawn[j] == mine && j < threadIdx.x) ? 1 : 0;
			s_places[order] = mine;
		}
	}
	sync_block(); // the places are in order
	if (own > 0 && total > 0) {
		uint32_t r = 0, above = count; // the first place that is not below the stretch, by halving
		while (r < above) {
			uint32_t middle = (r + above) / 2;
			if (s_places[middle] < before)
				r = middle + 1;
			else
				above = middle;
		}
		uint32_t block = lo;
		uint64_t end = before + (from == 0 ? 1 : t.near[lo]);
		for (; r < count && s_places[r] < before + own; r++) {
			while (s_places[r] >= end) {
				block++;
				end += from == 0 ? 1 : t.near[block];
			}
			s_picks[r] = block;
		}
	}
	sync_block(); // all blocks are picked
	uint32_t words = t.k / 4;
	for (uint32_t i = threadIdx.x; i < count * words; i += block_threads) {
		uint64_t at = place(s_picks[i / words], t.m, blocks, sample_seed);
		((uint32_t *)t.words)[from * words + i] = t.blocks[at * words + i % words];
	}
	if (threadIdx.x == 0) {
		t.state[state_from] = from;
		t.state[state_to] = from + count;
	}
}

// Distance of a block to the nearest of the codewords from and up to to.
template <int W> DEVICE uint32_t nearest_added(const uint32_t *block, const uint32_t *words, uint32_t from, uint32_t to)
{
	uint32_t x[W], norm = 0, best = ~0u;
#pragma unroll
	for (int w = 0; w < W; w++) {
		x[w] = block[w];
		norm = dp4a(x[w], x[w], norm);
	}
	for (uint32_t j = from; j < to; j++) {
		uint32_t c[W], both = 0, own = norm;
		load_word<W>(c, words + j * W);
#pragma unroll
		for (int w = 0; w < W; w++) {
			both = dp4a(x[w], c[w], both);
			own = dp4a(c[w], c[w], own);
		}
		best = least(best, own - 2 * both);
	}
	return best;
}

// Brings near up to date with the codewords of the last draw. One thread per block.
KERNEL vq_approach(const Training *__restrict__ list)
{
	const Training &t = list[blockIdx.y];
	uint32_t from = t.state[state_from], to = t.state[state_to], blocks = seed_sample(t);
	uint64_t i = thread();
	if (i >= blocks || from == to || to == t.n) // nothing is drawn after the last codeword
		return;
	const uint32_t *block = t.blocks + place(i, t.m, blocks, sample_seed) * (t.k / 4), *words = (const uint32_t *)t.words;
	uint32_t d;
	switch (t.k) {
	case 4:
		d = nearest_added<1>(block, words, from, to);
		break;
	case 8:
		d = nearest_added<2>(block, words, from, to);
		break;
	case 16:
		d = nearest_added<4>(block, words, from, to);
		break;
	default:
		d = nearest_added<16>(block, words, from, to);
	}
	t.near[i] = from == 0 ? d : least(t.near[i], d);
}

// Cuts the cells of greatest gain of now codewords in two, all of them unless that makes more than n. A cell that cannot
// be cut gives an empty one. With n codewords the start is over. One block of threads for each training.
KERNEL vq_grow(const Training *__restrict__ list, uint32_t now)
{
	const Training &t = list[blockIdx.y];
	if (cells_of(t, now) == 0)
		return;
	if (t.n <= now) {
		sync_block(); // all have seen that there was something to do
		if (threadIdx.x == 0)
			t.state[state_rest] = 2;
		return;
	}
	uint32_t count = least(now, t.n - now), k = t.k;
	for (uint32_t i = threadIdx.x; i < count * k; i += blockDim.x) {
		uint32_t cell = t.dear[i / k], at = cell * k + i % k;
		uint8_t *added = &t.words[now * k + i];
		if (t.gains[cell] == 0) {
			*added = t.words[at];
		} else {
			*added = t.b[at];
			t.words[at] = t.a[at];
		}
	}
}

// Lets the passes go on: with all = 1 also where split has all codewords. One thread for each of count trainings.
KERNEL vq_resume(ResumeParams params)
{
	uint64_t i = thread();
	if (i < params.count && (params.all != 0 || params.list[i].state[state_rest] == 1))
		params.list[i].state[state_rest] = 0;
}
