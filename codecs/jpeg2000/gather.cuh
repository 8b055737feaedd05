// Putting the segments of a batch's code-blocks one after the other (facts of their order are the host's: it lists the
// code-blocks as they lie in the files).
#pragma once

#include "../../gpu/include/scan.cuh"
#include "shared.cuh"

// Computes from lengths, of count segments, where each begins: offsets receives count + 1 numbers. state is for the
// running sum of the grid.
KERNEL __launch_bounds__(block_threads) jpeg2000_offsets(const uint32_t *__restrict__ lengths, uint64_t *offsets, uint64_t *state, uint32_t count)
{
	__shared__ uint64_t s_sums[most_warps];
	__shared__ uint32_t s_tile;
	uint32_t tile = next_tile(state, &s_tile);
	uint64_t i = (uint64_t)tile * block_threads + threadIdx.x;
	uint64_t own = i < count ? lengths[i] : 0;
	uint64_t before = grid_sum_before(own, state, tile, s_sums);
	if (i < count)
		offsets[i] = before;
	if (i + 1 == count)
		offsets[count] = before + own;
}

// Copies the segments from their slots to out, which holds size bytes. A warp takes a code-block.
KERNEL __launch_bounds__(block_threads) jpeg2000_gather(const Block *__restrict__ blocks, const uint64_t *__restrict__ offsets, uint8_t *out, uint64_t size, uint32_t count)
{
	uint32_t index = blockIdx.x * (block_threads / warp_size) + warp();
	if (index >= count)
		return;
	uint64_t at = offsets[index], n = offsets[index + 1] - at;
	const uint8_t *from = blocks[index].slot;
	if (at + n > size)
		return;
	for (uint64_t i = lane(); i < n; i += warp_size)
		out[at + i] = from[i];
}
