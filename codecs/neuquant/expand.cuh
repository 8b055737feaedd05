// What is made of the indices of a picture: how many there are of each entry, the rows of a PNG file, and what a decoder makes of them.
#pragma once

#include "problem.cuh"

// The four indices from i on, which is a multiple of 4. Behind the last one there are some that mean nothing.
DEVICE uint32_t four_indices(const Problem &p, uint64_t i) { return *(const uint32_t *)(p.index + i); }

// Adds to p.uses how many indices there are of each entry. A thread has census_indices of them; a block counts in shared memory.
KERNEL __launch_bounds__(most_entries) nq_census(const Problem *__restrict__ list)
{
	__shared__ uint32_t s_uses[most_entries];
	const Problem &p = list[blockIdx.y];
	if (p.uses == nullptr)
		return;
	s_uses[threadIdx.x] = 0;
	sync_block(); // all are 0
	uint64_t first = census_indices * thread();
	for (uint64_t i = first; i < first + census_indices && i < p.n; i += 4) {
		uint32_t four = four_indices(p, i);
		for (uint32_t t = 0; t < 4 && i + t < p.n; t++)
			add_to(&s_uses[component(four, t)], 1);
	}
	sync_block(); // all are counted
	if (s_uses[threadIdx.x] > 0)
		add_to(&p.uses[threadIdx.x], s_uses[threadIdx.x]);
}

// Writes the rows of a PNG file of 8 bits: the place in the file of the entry of each index, each row behind the byte of its filter, which
// is 0 before. One thread for four indices, which may be in two rows or more.
KERNEL nq_rows(const Problem *__restrict__ list)
{
	const Problem &p = list[blockIdx.y];
	uint64_t i = 4 * thread();
	if (p.rows == nullptr || i >= p.n)
		return;
	uint32_t four = four_indices(p, i);
	for (uint32_t t = 0; t < 4 && i + t < p.n; t++)
		p.rows[i + t + (i + t) / p.width + 1] = p.places[component(four, t)];
}

// Writes the entry of each index. One thread for four of them, of which it writes three words. Behind a picture there is room for those that are no colours.
KERNEL nq_expand(const Problem *__restrict__ list)
{
	const Problem &p = list[blockIdx.y];
	uint64_t i = 4 * thread();
	if (p.picture == nullptr || i >= p.n)
		return;
	uint32_t four = four_indices(p, i), x[4];
#pragma unroll
	for (uint32_t t = 0; t < 4; t++)
		x[t] = p.entries[component(four, t)] & 0xffffff;
	uint32_t *to = (uint32_t *)(p.picture + 3 * i);
	to[0] = x[0] | x[1] << 24;
	to[1] = x[1] >> 8 | x[2] << 16;
	to[2] = x[2] >> 16 | x[3] << 8;
}
