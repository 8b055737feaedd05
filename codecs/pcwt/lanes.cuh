// Profile 1: how warps share the tiles of a level, for encoding and decoding.
//
// A tile's stream has K = 1 << log_lanes states, and coefficient j of a half row belongs to state j mod K. A group of G threads,
// K to 32, works on a tile, and a warp on 32 / G tiles beside each other. With few threads hardly any waits while another's
// state goes on; many make more of a half row at a time. The host chooses by the number of tiles:
//
//	lane      0 1 2 3 4 5 6 7 | 8 ...15 | 16 ... 23 | 24 ... 31      G = 8
//	tile      t               | t + 1   | t + 2     | t + 3
//	thread g  takes coefficient first + g of a piece of a half row: column 2 (first + g) + parity of row y
//
// All groups of a warp are at the same piece: rows and columns are counted by the largest tile of the level, and threads
// outside of theirs take part in votes and shuffles only. With G > K a piece takes G / K steps: in encoding states go on from
// thread to thread, K threads further; in decoding all threads of a state go on with it together.
#pragma once

#include "../../gpu/include/bits.cuh"
#include "../../gpu/include/warp.cuh"
#include "position.cuh"

DEVICE uint32_t ones(uint32_t v) { return (uint32_t)__builtin_popcount(v); }

struct Lanes {
	uint32_t log_lanes, log_group;
	uint32_t thread; // in the group
	uint32_t base;	 // lane of its first thread

	__device__ Lanes(const Model &m) : log_lanes(m.log_lanes), log_group(m.log_group)
	{
		thread = lane() & (group() - 1);
		base = lane() - thread;
	}

	__device__ uint32_t group() const { return 1u << log_group; }
	__device__ uint32_t steps() const { return 1u << (log_group - log_lanes); }
	// The step of a piece in which the thread's coefficient is coded.
	__device__ uint32_t step() const { return thread >> log_lanes; }
	// The state that it takes.
	__device__ uint32_t state() const { return thread & ((1u << log_lanes) - 1); }

	// Which bits of a vote, from the group's first on, are of threads that have the first K coefficients, and of those before the
	// thread's state.
	__device__ uint32_t first_states() const { return low_bits(whole_warp, 1u << log_lanes); }
	__device__ uint32_t states_before() const { return low_bits(whole_warp, state()); }

	// The tile of the thread's group.
	__device__ uint32_t tile() const { return (blockIdx.x * blockDim.x + threadIdx.x) >> log_group; }
	// What a vote of the warp says of the group, thread 0 lowest.
	__device__ uint32_t own(uint32_t votes) const { return low_bits(votes >> base, group()); }
	__device__ uint32_t before(uint32_t own) const { return ones(own & low_bits(whole_warp, thread)); }

	// Or over the group. All threads of the warp call.
	__device__ uint32_t any(uint32_t v) const
	{
		for (uint32_t d = 1; d < group(); d *= 2)
			v |= (uint32_t)__nvvm_shfl_sync_bfly_i32(whole_warp, (int)v, (int)d, warp_size - 1);
		return v;
	}
};

// A piece of up to G coefficients of a half row of a band, the same for all groups of a warp.
struct Piece {
	uint32_t width, height; // of the largest part of the band in a tile
	uint32_t group;
	uint32_t y, parity, first;

	__device__ Piece(const Model &m, const ModelBand &f, const Lanes &k)
		: width(least(f.width, m.side)), height(least(f.height, m.side)), group(k.group()), y(0), parity(0), first(0) {}

	__device__ uint32_t half() const { return (width + 1 - parity) / 2; }

	// Pieces of the band.
	__device__ uint32_t count() const
	{
		uint32_t even = (width + 1) / 2, odd = width / 2;
		return height * ((even + group - 1) / group + (odd + group - 1) / group);
	}

	// The next piece; behind the last one, below all rows.
	__device__ void advance()
	{
		first += group;
		if (first < half())
			return;
		first = 0;
		if (parity == 0 && width > 1) {
			parity = 1;
		} else {
			parity = 0;
			y++;
		}
	}

	__device__ void last()
	{
		y = height - 1;
		parity = width > 1;
		first = (half() - 1) & ~(group - 1);
	}

	// The piece before; before the first one, outside of all rows.
	__device__ void retreat()
	{
		if (first > 0) {
			first -= group;
			return;
		}
		if (parity == 1) {
			parity = 0;
		} else {
			parity = width > 1;
			y--;
		}
		first = (half() - 1) & ~(group - 1);
	}

	// The column of a thread's coefficient, and whether its tile has it.
	__device__ uint32_t x(const Lanes &k) const { return 2 * (first + k.thread) + parity; }
	__device__ bool inside(const Part<true> &part, const Lanes &k) const { return y < part.height && x(k) < part.width; }
};
