// What encoding and decoding of the code-blocks of Part 1 (ISO/IEC 15444-1, Annexes C and D) share. The terms are those of
// codecs/jpeg2000/internal/bitplane and internal/mq.
//
// Significance around the four samples of a column of a stripe is a field of 3 x 6 bits, the bit of row r and column c at
// 3r + c, where row 0 is that above the stripe and column 1 the own. Shifted right by 3k it shows sample k what sample 0
// sees of it as it stands:
//
//	0 1 2
//	3 4 5
//	6 7 8
#pragma once

#include "../../gpu/include/bits.cuh"
#include "../../gpu/include/warp.cuh"
#include "shared.cuh"

constexpr uint32_t all_seen = 0777777;	  // all of the field
constexpr uint32_t seen_of_one = 0777;	  // what a sample sees
constexpr uint32_t seen_around = 0757;	  // the same without the sample itself
constexpr uint32_t seen_across = 0252;	  // the samples above, left, right and below
constexpr uint32_t left_columns = 0333333; // columns 0 and 1
constexpr uint32_t per_sample = 01111;	  // bit 0 of each sample
constexpr uint32_t own_seen = 020;	  // sample 0 itself

// Kinds of coding passes. A bit-plane has all three in this order, the first one of a code-block only the last.
constexpr uint32_t kind_propagation = 0, kind_refinement = 1, kind_cleanup = 2;

// The contexts behind those of zero coding.
constexpr uint32_t context_refinement = 14, context_run = 17, context_uniform = 18, context_count = 19;

// Code-block styles (Table A.19).
constexpr uint32_t style_bypass = 1, style_reset = 2, style_terminate = 4, style_causal = 8, style_predictable = 16, style_mark = 32;

// Passes up to this one are arithmetically coded in the bypass, too (Table D.9).
constexpr uint32_t first_bypassed = 10;

DEVICE bool is_raw(uint32_t pass, uint32_t style) { return (style & style_bypass) != 0 && pass >= first_bypassed && (pass + 2) % 3 != kind_cleanup; }

// The threads of the warp that are here together, a bit each. Those that took another branch are not among them.
DEVICE uint32_t active_threads() { return __nvvm_activemask(); }

// Waits for the threads, of which the own is one. All of them call.
DEVICE void sync_threads(uint32_t threads) { __nvvm_bar_warp_sync(threads); }

// Stripes of a slice.
DEVICE uint32_t stripes_of(uint32_t height) { return (height + 3) / 4; }

// per_sample of the samples that stripe s of a slice has.
DEVICE uint32_t samples_of(uint32_t s, uint32_t height)
{
	uint32_t rows = height - 4 * s;
	return rows >= 4 ? per_sample : per_sample >> (3 * (4 - rows));
}

// The contexts of a thread's code-block in shared memory, those of the block's threads side by side.
template <uint32_t threads> struct ContextMemory {
	uint32_t state[context_count][threads];
	uint32_t following[state_count];
	uint32_t first[context_count];

	// All threads of the block call.
	__device__ void load(const Tables *tables)
	{
		for (uint32_t i = threadIdx.x; i < state_count; i += threads)
			following[i] = tables->following[i];
		for (uint32_t i = threadIdx.x; i < context_count; i += threads)
			first[i] = tables->first[i];
		sync_block();
	}

	// Each thread calls for itself.
	__device__ void reset()
	{
		for (uint32_t i = 0; i < context_count; i++)
			state[i][threadIdx.x] = first[i];
	}
};
