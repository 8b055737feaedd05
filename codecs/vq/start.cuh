// The first codewords of a batch of codebooks: see seed and split in start.go.
#pragma once

#include "blocks.cuh"
#include "search.cuh"
#include "train.cuh"

constexpr uint32_t most_places = most_codewords / seed_rounds;

DEVICE uint32_t seed_sample(const Training &t) { return least(t.m, t.n * seed_blocks); }

// How many codewords the round adds that begins with from of n.
DEVICE uint32_t seed_round(uint32_t from, uint32_t n)
{
	uint32_t count = least(from / seed_rounds, n - from);
	return count == 0 ? 1 : count;
}

// What a draw has in shared memory.
struct Drawing {
	uint64_t sums[most_warps];
	uint64_t drawn[most_places], places[most_places]; // on the line of all weights, as they come and in order
	uint32_t picks[most_places];                      // the blocks there
};

// Adds count codewords to from: blocks that are drawn with probabilities proportional to near, all alike where from is 0. By a block of
// threads, of which each owns a stretch of near.
DEVICE void draw(const Training &t, uint32_t from, uint32_t count, Drawing &s)
{
	uint32_t blocks = seed_sample(t);
	uint32_t lo = (uint32_t)((uint64_t)blocks * threadIdx.x / block_threads);
	uint32_t hi = (uint32_t)((uint64_t)blocks * (threadIdx.x + 1) / block_threads);
	uint64_t own = from == 0 ? hi - lo : 0, total;
	if (from > 0)
		for (uint32_t i = lo; i < hi; i++)
			own += t.near[i];
	uint64_t before = block_sum_before(own, s.sums, total);
	if (threadIdx.x < count)
		s.drawn[threadIdx.x] = __nvvm_mulhi_ull(random(1, from + threadIdx.x), total == 0 ? blocks : total);
	sync_block(); // all places are drawn
	if (threadIdx.x < count) {
		uint64_t mine = s.drawn[threadIdx.x];
		if (total == 0) {
			s.picks[threadIdx.x] = (uint32_t)mine;
		} else {
			uint32_t order = 0;
			for (uint32_t j = 0; j < count; j++)
				order += s.drawn[j] < mine || (s.drawn[j] == mine && j < threadIdx.x) ? 1 : 0;
			s.places[order] = mine;
		}
	}
	sync_block(); // the places are in order
	if (own > 0 && total > 0) {
		uint32_t r = 0, above = count; // the first place that is not below the stretch, by halving
		while (r < above) {
			uint32_t middle = (r + above) / 2;
			if (s.places[middle] < before)
				r = middle + 1;
			else
				above = middle;
		}
		uint32_t block = lo;
		uint64_t end = before + (from == 0 ? 1 : t.near[lo]);
		for (; r < count && s.places[r] < before + own; r++) {
			while (s.places[r] >= end) {
				block++;
				end += from == 0 ? 1 : t.near[block];
			}
			s.picks[r] = block;
		}
	}
	sync_block(); // all blocks are picked
	uint32_t words = t.k / 4;
	for (uint32_t i = threadIdx.x; i < count * words; i += block_threads) {
		uint64_t at = place(s.picks[i / words], t.m, blocks, sample_seed);
		((uint32_t *)t.words)[from * words + i] = t.blocks[at * words + i % words];
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

// Brings near of block i of the sample up to date with the codewords from and up to to.
DEVICE void approach(const Training &t, uint32_t i, uint32_t from, uint32_t to)
{
	uint32_t blocks = seed_sample(t);
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

// All rounds of small codebooks. One block of threads for each training: the rounds are short, and between two
// of them it waits for nobody but itself.
extern "C" __global__ void __launch_bounds__(block_threads) vq_seed(const Training *__restrict__ list)
{
	__shared__ Drawing s_drawing;
	const Training &t = list[blockIdx.y];
	uint32_t blocks = seed_sample(t);
	for (uint32_t from = 0, to; from < t.n; from = to) {
		uint32_t count = seed_round(from, t.n);
		to = from + count;
		draw(t, from, count, s_drawing);
		if (to == t.n)
			return; // nothing is drawn after the last codeword
		sync_block(); // the codewords are in memory
		for (uint32_t i = threadIdx.x; i < blocks; i += block_threads)
			approach(t, i, from, to);
		sync_block(); // near is up to date, and what is shared free again
	}
}

// One round of larger codebooks. One block of threads for each training.
extern "C" __global__ void __launch_bounds__(block_threads) vq_draw(const Training *__restrict__ list)
{
	__shared__ Drawing s_drawing;
	const Training &t = list[blockIdx.y];
	uint32_t from = t.state[state_to];
	if (from == t.n) {
		if (threadIdx.x == 0)
			t.state[state_from] = from;
		return;
	}
	uint32_t count = seed_round(from, t.n);
	draw(t, from, count, s_drawing);
	if (threadIdx.x == 0) {
		t.state[state_from] = from;
		t.state[state_to] = from + count;
	}
}

// Brings near up to date with the codewords of the last draw. One thread per block of the sample.
KERNEL vq_approach(const Training *__restrict__ list)
{
	const Training &t = list[blockIdx.y];
	uint32_t from = t.state[state_from], to = t.state[state_to];
	uint64_t i = thread();
	if (i < seed_sample(t) && from < to && to < t.n) // nothing is drawn after the last codeword
		approach(t, (uint32_t)i, from, to);
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
