// Running sums over the whole grid in one pass: "decoupled look-back" of Merrill and Garland, Single-pass Parallel
// Prefix Scan with Decoupled Look-back, NVIDIA 2016.
//
// The input is cut into tiles, one per block. A block publishes the sum of its tile, then adds up what the tiles before
// have published until it meets one that knows its sum from the start. Integer sums are the same in any order, so the
// result does not depend on timing.
//
//   state: word 0 counts the tiles handed out; word 1+t is tile t: two bits of status, 62 bits of sum
//
// The host sets 1 + tiles words of 64 bits to zero before the launch. Sums stay below 2^62.
#pragma once

#include "warp.cuh"

constexpr uint64_t tile_sum = 1ull << 62;     // the sum of the tile alone
constexpr uint64_t tile_prefix = 2ull << 62;  // the sum from the start up to and with the tile
constexpr uint64_t tile_value = tile_sum - 1; // mask

// Status and sum share a word and travel together, so that no order between words matters.
DEVICE uint64_t peek(const uint64_t *p)
{
	uint64_t v;
	asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

DEVICE void publish(uint64_t *p, uint64_t v)
{
	asm volatile("st.relaxed.gpu.u64 [%0], %1;" : : "l"(p), "l"(v) : "memory");
}

// The tile of the calling block. Tiles are handed out in the order in which blocks start, not by blockIdx: a block then
// waits only for blocks that run already. All threads call and hold the result; s is one word of shared memory.
DEVICE uint32_t next_tile(uint64_t *state, uint32_t *s)
{
	if (threadIdx.x == 0)
		*s = (uint32_t)__nvvm_atom_add_gen_ll((long long *)state, 1);
	sync_block();
	uint32_t tile = *s;
	sync_block(); // before s is used again
	return tile;
}

// Sum of all tiles before tile, whose own sum is total. The threads of the first warp call; all of them hold the
// result. The tiles before are read 32 at a time.
DEVICE uint64_t sum_before_tile(uint64_t *state, uint32_t tile, uint64_t total)
{
	uint64_t *tiles = state + 1;
	if (tile == 0) {
		if (lane() == 0)
			publish(&tiles[0], tile_prefix | total);
		return 0;
	}
	if (lane() == 0)
		publish(&tiles[tile], tile_sum | total);
	uint64_t before = 0;
	for (int64_t last = (int64_t)tile - 1;; last -= warp_size) {
		// Lane i reads tile last-i; before the first tile lies nothing.
		int64_t t = last - lane();
		uint64_t word;
		do {
			word = t < 0 ? tile_prefix : peek(&tiles[t]);
		} while (ballot(word < tile_sum) != 0);
		uint32_t complete = ballot((word & tile_prefix) != 0);
		uint32_t nearest = complete == 0 ? warp_size : (uint32_t)__builtin_ctz(complete);
		before += broadcast(warp_sum(lane() <= nearest ? word & tile_value : 0), 0);
		if (complete != 0)
			break;
	}
	if (lane() == 0)
		publish(&tiles[tile], tile_prefix | (before + total));
	return before;
}

// Sum of v over all threads before the own, in the order of tiles and of threads within them. All threads of the block
// call, with the tile that next_tile gave; s is shared memory of most_warps elements.
DEVICE uint64_t grid_sum_before(uint64_t v, uint64_t *state, uint32_t tile, uint64_t *s)
{
	uint64_t total;
	uint64_t in_tile = block_sum_before(v, s, total);
	if (warp() == 0) {
		uint64_t before = sum_before_tile(state, tile, total);
		if (lane() == 0)
			s[0] = before;
	}
	sync_block();
	uint64_t before = s[0];
	sync_block(); // before s is used again
	return before + in_tile;
}
