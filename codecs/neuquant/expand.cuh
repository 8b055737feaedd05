// What a decoder makes of the indices.
#pragma once

#include "problem.cuh"

// One thread for four colours, of which it writes three words. Behind a picture there is room for those that are no colours.
KERNEL nq_expand(const Problem *__restrict__ list)
{
	const Problem &p = list[blockIdx.y];
	uint64_t i = 4 * thread();
	if (p.picture == nullptr || i >= p.n)
		return;
	uint32_t index = *(const uint32_t *)(p.index + i), x[4];
#pragma unroll
	for (uint32_t t = 0; t < 4; t++)
		x[t] = p.entries[component(index, t)] & 0xffffff;
	uint32_t *to = (uint32_t *)(p.picture + 3 * i);
	to[0] = x[0] | x[1] << 24;
	to[1] = x[1] >> 8 | x[2] << 16;
	to[2] = x[2] >> 16 | x[3] << 8;
}
