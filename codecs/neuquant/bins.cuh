// Bins: how many colours lie in each and the sums of the bits that its number lacks, by atomic additions, whose order does
// not matter; then a list of those in which any lie.
//
//   bins    two words a bin: colours | reds << 32, greens | blues << 32
//   alphas  one word a bin, where not all is opaque
//
// A problem has less than 2^27 colours, so that no sum reaches 2^32.
#pragma once

#include "problem.cuh"

constexpr uint32_t bin_part = (1u << bin_bits) / bin_parts; // bins that a warp takes
constexpr uint32_t bin_groups = thread_colours / 4;         // of four colours that a thread takes

DEVICE uint32_t bin_of(uint32_t v, bool opaque)
{
	if (opaque)
		return (v << 10 & 63u << 12) | (v >> 4 & 63u << 6) | (v >> 18 & 63u);
	return (v << 10 & 31u << 13) | (v >> 3 & 31u << 8) | (v >> 16 & 31u << 3) | v >> 29;
}

// The least components of a bin.
DEVICE uint32_t bin_base(uint32_t number, bool opaque)
{
	if (opaque)
		return (number >> 10 & 0xfc) | (number << 4 & 0xfc00) | (number << 18 & 0xfc0000) | opaque_alpha;
	return (number >> 10 & 0xf8) | (number << 3 & 0xf800) | (number << 16 & 0xf80000) | number << 29;
}

DEVICE void add_global(uint64_t *p, uint64_t v)
{
	asm volatile("red.global.add.u64 [%0], %1;" : : "l"(p), "l"(v) : "memory");
}

DEVICE void add_global(uint32_t *p, uint32_t v)
{
	asm volatile("red.global.add.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}

// What lies in one bin of the colours that a thread has seen.
struct Run {
	uint32_t number;
	uint64_t first, second;
	uint32_t alpha;

	__device__ void start(uint32_t n) { number = n, first = 0, second = 0, alpha = 0; }
	__device__ void take(uint32_t rest)
	{
		first += 1 | (uint64_t)(rest & 255) << 32;
		second += (rest >> 8 & 255) | (uint64_t)(rest >> 16 & 255) << 32;
		alpha += rest >> 24;
	}
	__device__ void add(const Problem &p) const
	{
		uint64_t *bin = p.bins + 2 * (uint64_t)number;
		add_global(bin, first);
		if (second != 0)
			add_global(bin + 1, second);
		if (alpha != 0)
			add_global(p.alphas + number, alpha);
	}
};

// bins, alphas: counts and sums. A thread takes bin_groups times four colours that lie side by side, blockIdx.y is the
// problem; equal bins in a row go out in one addition.
KERNEL nq_bins(const Problem *list)
{
	const Problem &p = list[blockIdx.y];
	bool opaque = p.opaque != 0;
	uint32_t lacking = opaque ? 0x00030303u : 0x1f070707u;
#pragma unroll
	for (uint32_t g = 0; g < bin_groups; g++) {
		uint32_t i = 4 * ((blockIdx.x * bin_groups + g) * blockDim.x + threadIdx.x);
		if (i >= p.n)
			return;
		uint32_t x[4];
		four_colours(p, i, x);
		Run run;
		run.start(bin_of(x[0], opaque));
#pragma unroll
		for (uint32_t q = 0; q < 4; q++) {
			if (i + q < p.n) {
				uint32_t number = bin_of(x[q], opaque);
				if (number != run.number) {
					run.add(p);
					run.start(number);
				}
				run.take(x[q] & lacking);
			}
		}
		run.add(p);
	}
}

// counts: occupied bins of each part. A warp takes a part, blockIdx.y is the problem.
KERNEL nq_count_bins(const Problem *list)
{
	const Problem &p = list[blockIdx.y];
	uint32_t part = (uint32_t)(thread() / warp_size);
	if (part >= bin_parts)
		return;
	uint32_t n = 0;
	for (uint32_t i = lane(); i < bin_part; i += warp_size)
		n += (uint32_t)p.bins[2 * ((uint64_t)part * bin_part + i)] != 0 ? 1 : 0;
	n = warp_sum(n);
	if (lane() == 0)
		p.counts[part] = n;
}

// colours, weights, numbers, rests and the last of counts. A warp takes a part, whose bins follow those of all parts before
// it; blockIdx.y is the problem.
KERNEL nq_list_bins(const Problem *list)
{
	const Problem &p = list[blockIdx.y];
	uint32_t part = (uint32_t)(thread() / warp_size);
	if (part >= bin_parts)
		return;
	bool opaque = p.opaque != 0;
	uint32_t before = 0;
	for (uint32_t i = lane(); i < part; i += warp_size)
		before += p.counts[i];
	before = broadcast(warp_sum(before), 0);
	for (uint32_t first = 0; first < bin_part; first += warp_size) {
		uint32_t number = part * bin_part + first + lane();
		uint64_t a = p.bins[2 * (uint64_t)number];
		uint32_t w = (uint32_t)a, there = ballot(w != 0);
		if (w != 0) {
			uint64_t b = p.bins[2 * (uint64_t)number + 1];
			uint32_t rests[4] = {(uint32_t)(a >> 32), (uint32_t)b, (uint32_t)(b >> 32), opaque ? 0 : p.alphas[number]};
			uint32_t at = before + (uint32_t)__builtin_popcount(there & ((1u << lane()) - 1));
			uint32_t mean = bin_base(number, opaque);
#pragma unroll
			for (uint32_t t = 0; t < 4; t++) {
				mean += (rests[t] + w / 2) / w << (8 * t);
				p.rests[4 * (uint64_t)at + t] = rests[t];
			}
			p.colours[at] = mean;
			p.weights[at] = w;
			p.numbers[at] = number;
		}
		before += (uint32_t)__builtin_popcount(there);
	}
	if (part == bin_parts - 1 && lane() == 0)
		p.counts[bin_parts] = before;
}
