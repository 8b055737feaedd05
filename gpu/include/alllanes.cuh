// Values of other lanes, minima and sums of a warp that all its lanes hold. All threads of the warp call, with no branch around
// the call that some of them do not take.
#pragma once

#include "warp.cuh"

// Value v of the lane whose number differs by the bits of with.
DEVICE uint32_t exchange(uint32_t v, uint32_t with)
{
	return (uint32_t)__nvvm_shfl_sync_bfly_i32(whole_warp, (int)v, (int)with, warp_size - 1);
}

// Least v of the warp.
DEVICE uint32_t least_of_all(uint32_t v)
{
#if __CUDA_ARCH__ >= 800
	uint32_t m;
	asm volatile("redux.sync.min.u32 %0, %1, 0xffffffff;" : "=r"(m) : "r"(v));
	return m;
#else
	for (uint32_t d = warp_size / 2; d > 0; d /= 2)
		v = least(v, exchange(v, d));
	return v;
#endif
}

// Sum of v over the warp, modulo 2^32.
DEVICE uint32_t sum_of_all(uint32_t v)
{
#if __CUDA_ARCH__ >= 800
	uint32_t m;
	asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(m) : "r"(v));
	return m;
#else
	for (uint32_t d = warp_size / 2; d > 0; d /= 2)
		v += exchange(v, d);
	return v;
#endif
}
