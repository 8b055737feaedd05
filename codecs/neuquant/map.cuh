// Nearest entries. With distance = |x|^2 + |c|^2 - 2 x.c, the first of the nearest entries has the greatest key
// (x.c << 9) - (|c|^2 << 8 | index): one dot product, one shift and addition, one maximum.
#pragma once

#include "problem.cuh"

constexpr uint32_t map_groups = thread_colours / 4; // of four colours that a thread takes

constexpr int32_t farthest = -0x7fffffff; // a key that no entry has

DEVICE int32_t least_signed(int32_t a, int32_t b) { return a < b ? a : b; }
DEVICE int32_t greatest_signed(int32_t a, int32_t b) { return a > b ? a : b; }

// What a key is made of: the entry and its own part. Behind the last come entries that are never nearest.
DEVICE words2 palette_entry(uint32_t colour, uint32_t index, uint32_t k)
{
	words2 e = {0, (uint32_t)farthest};
	if (index < k)
		e.x = colour, e.y = 0 - (dp4a(colour, colour, 0) << 8 | index);
	return e;
}

// Some units shift and add, others multiply and add: the compiler gives some keys to each where this is a shift.
DEVICE int32_t palette_key(uint32_t x, uint32_t colour, uint32_t base) { return (int32_t)((dp4a(x, colour, 0) << 9) + base); }

// What a key says: the index of the entry, and how much farther it is than the colour is from black.
DEVICE uint32_t key_index(int32_t key) { return (0 - (uint32_t)key) & 255; }
DEVICE int32_t key_distance(int32_t key) { return (int32_t)(0 - (uint32_t)key) >> 8; }

// index of all colours, where it is not null. A thread takes map_groups times four colours that lie side by side, and all
// threads read the same entries at the same time; blockIdx.y is the problem.
KERNEL __launch_bounds__(256) nq_map(const Problem *list)
{
	__shared__ __attribute__((aligned(16))) words2 s_entries[most_entries];
	const Problem &p = list[blockIdx.y];
	uint32_t first = 4 * (blockIdx.x * map_groups * blockDim.x + threadIdx.x), step = 4 * blockDim.x;
	if (p.index == nullptr || 4 * blockIdx.x * map_groups * blockDim.x >= p.n)
		return;
	uint32_t filled = (p.k + 3) / 4 * 4;
	for (uint32_t j = threadIdx.x; j < filled; j += blockDim.x)
		s_entries[j] = palette_entry(j < p.k ? p.entries[j] : 0, j, p.k);
	sync_block(); // the entries are there
	uint32_t x[map_groups][4];
	int32_t near[map_groups][4];
#pragma unroll
	for (uint32_t g = 0; g < map_groups; g++) {
		uint32_t i = first + g * step;
#pragma unroll
		for (uint32_t q = 0; q < 4; q++)
			x[g][q] = 0, near[g][q] = farthest;
		if (i < p.n)
			four_colours(p, i, x[g]);
	}
	for (uint32_t j = 0; j < filled; j += 4) {
#pragma unroll
		for (uint32_t pair = 0; pair < 4; pair += 2) {
			words4 e = *(const words4 *)&s_entries[j + pair];
#pragma unroll
			for (uint32_t g = 0; g < map_groups; g++) {
#pragma unroll
				for (uint32_t q = 0; q < 4; q++) {
					near[g][q] = greatest_signed(near[g][q], palette_key(x[g][q], e.x, e.y));
					near[g][q] = greatest_signed(near[g][q], palette_key(x[g][q], e.z, e.w));
				}
			}
		}
	}
#pragma unroll
	for (uint32_t g = 0; g < map_groups; g++) {
		uint32_t i = first + g * step, four = 0;
#pragma unroll
		for (uint32_t q = 0; q < 4; q++)
			four |= key_index(near[g][q]) << (8 * q);
		if (i < p.n)
			*(uint32_t *)(p.index + i) = four;
	}
}
