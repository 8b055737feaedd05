// Sums, minima and running sums of a warp and of a block. All threads of the warp or the block call, with no branch
// around the call that some of them do not take.
#pragma once

#include "base.cuh"

// Value v of the thread that is delta lanes further; of the own thread at the end of the warp.
DEVICE uint32_t shuffle_down(uint32_t v, uint32_t delta)
{
	return (uint32_t)__nvvm_shfl_sync_down_i32(whole_warp, (int)v, (int)delta, warp_size - 1);
}

DEVICE uint64_t shuffle_down(uint64_t v, uint32_t delta)
{
	uint32_t low = shuffle_down((uint32_t)v, delta), high = shuffle_down((uint32_t)(v >> 32), delta);
	return (uint64_t)high << 32 | low;
}

// Value v of the thread that is delta lanes before; of the own thread at the start of the warp.
DEVICE uint32_t shuffle_up(uint32_t v, uint32_t delta)
{
	return (uint32_t)__nvvm_shfl_sync_up_i32(whole_warp, (int)v, (int)delta, 0);
}

DEVICE uint64_t shuffle_up(uint64_t v, uint32_t delta)
{
	uint32_t low = shuffle_up((uint32_t)v, delta), high = shuffle_up((uint32_t)(v >> 32), delta);
	return (uint64_t)high << 32 | low;
}

// Value v of lane from, 0 to 31, the same for all.
DEVICE uint32_t broadcast(uint32_t v, uint32_t from)
{
	return (uint32_t)__nvvm_shfl_sync_idx_i32(whole_warp, (int)v, (int)from, warp_size - 1);
}

DEVICE uint64_t broadcast(uint64_t v, uint32_t from)
{
	uint32_t low = broadcast((uint32_t)v, from), high = broadcast((uint32_t)(v >> 32), from);
	return (uint64_t)high << 32 | low;
}

// Value v of lane from, 0 to 31, which may differ by lane.
DEVICE uint32_t from_lane(uint32_t v, uint32_t from) { return broadcast(v, from); }

// Bit i is whether p holds in lane i. All lanes hold the result.
DEVICE uint32_t ballot(bool p) { return (uint32_t)__nvvm_vote_ballot_sync(whole_warp, p); }

// Sum of v over the warp, modulo 2^32 or 2^64. Lane 0 holds the result.
template <typename T> DEVICE T warp_sum(T v)
{
	for (uint32_t d = warp_size / 2; d > 0; d /= 2)
		v += shuffle_down(v, d);
	return v;
}

// Least v of the warp. Lane 0 holds the result.
template <typename T> DEVICE T warp_least(T v)
{
	for (uint32_t d = warp_size / 2; d > 0; d /= 2)
		v = least(v, shuffle_down(v, d));
	return v;
}

// Sum of v over the lanes up to and with the own.
template <typename T> DEVICE T warp_running_sum(T v)
{
	for (uint32_t d = 1; d < warp_size; d *= 2) {
		T before = shuffle_up(v, d);
		if (lane() >= d)
			v += before;
	}
	return v;
}

constexpr uint32_t most_warps = 32; // of a block

// The block functions exchange one value per warp through s, shared memory of most_warps elements, which may be used
// again after they return. The block is one-dimensional and its size a multiple of 32.

// Sum of v over the block. All threads hold the result.
template <typename T> DEVICE T block_sum(T v, T *s)
{
	v = warp_sum(v);
	if (lane() == 0)
		s[warp()] = v;
	sync_block();
	v = lane() < blockDim.x / warp_size ? s[lane()] : T(0);
	v = broadcast(warp_sum(v), 0);
	sync_block(); // before s is used again
	return v;
}

// Least v of the block. All threads hold the result.
template <typename T> DEVICE T block_least(T v, T *s)
{
	v = warp_least(v);
	if (lane() == 0)
		s[warp()] = v;
	sync_block();
	v = lane() < blockDim.x / warp_size ? s[lane()] : T(~T(0));
	v = broadcast(warp_least(v), 0);
	sync_block(); // before s is used again
	return v;
}

// Sum of v over the threads before the own, and over the block in total. All threads hold both.
template <typename T> DEVICE T block_sum_before(T v, T *s, T &total)
{
	T running = warp_running_sum(v);
	if (lane() == warp_size - 1)
		s[warp()] = running;
	sync_block();
	T warps = warp_running_sum(lane() < blockDim.x / warp_size ? s[lane()] : T(0));
	T before = broadcast(warps, warp() == 0 ? 0 : warp() - 1);
	total = broadcast(warps, warp_size - 1);
	sync_block(); // before s is used again
	return running - v + (warp() == 0 ? T(0) : before);
}
