// The colour cache (cache.go).
//
// Images are cut into chunks. What the caches hold where a chunk begins follows from the latest position of each hash of
// 11 bits before it: of a smaller cache an entry is the latest of those whose hashes begin with its own.
#pragma once

#include "references.cuh"

constexpr uint32_t hashes = 1u << max_cache_bits;
constexpr uint32_t pass_steps = 32; // of 32 pixels, after which the caches' results are put together

// The latest position + 1 of each hash in a chunk, in the chunk's table; 0: none. A block takes a chunk of image
// blockIdx.y. Of equal pixels side by side the last alone counts, so that not all threads meet at one entry.
KERNEL __launch_bounds__(block_threads) webp_cache_chunks(const Slot *__restrict__ slots)
{
	__shared__ uint32_t s_latest[hashes];
	const Slot &image = slots[blockIdx.y];
	uint64_t n = (uint64_t)image.width * image.height, first = (uint64_t)blockIdx.x * cache_pixels;
	if (first >= n)
		return; // the whole block
	for (uint32_t h = threadIdx.x; h < hashes; h += block_threads)
		s_latest[h] = 0;
	sync_block(); // all are 0
	uint64_t end = least(n, first + cache_pixels);
	for (uint64_t i = first + threadIdx.x; i < end; i += block_threads) {
		uint32_t v = image.coded[i];
		if (i + 1 == end || image.coded[i + 1] != v)
			__nvvm_atom_max_gen_ui(&s_latest[cache_hash(v)], (uint32_t)i + 1);
	}
	sync_block(); // all have been
	uint32_t *table = image.tables + (uint64_t)blockIdx.x * hashes;
	for (uint32_t h = threadIdx.x; h < hashes; h += block_threads)
		table[h] = s_latest[h];
}

// Gives each chunk, instead of its own table, the latest positions before it. One thread per hash of image blockIdx.y.
KERNEL webp_carry_caches(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t n = (uint64_t)image.width * image.height;
	if (thread() < hashes)
		carry(image.tables, hashes, (uint32_t)((n + cache_pixels - 1) / cache_pixels), (uint32_t)thread());
}

// Which of 32 pixels a cache of the given bits, whose entries are at table, has. All lanes of the warp call, each with its
// pixel v, or none where some is false, and hold the result.
DEVICE uint32_t pass_cache(uint32_t *table, uint32_t bits, uint32_t v, bool some)
{
	uint32_t h = cache_hash(v) >> (max_cache_bits - bits);
	uint32_t lanes = same_lanes(some ? h : hashes + lane()), before = before_own(lanes);
	uint32_t held = broadcast(v, before != 0 ? last_lane(before) : lane());
	if (before == 0)
		held = table[h];
	uint32_t hit = ballot(some && held == v);
	sync_warp(); // all have read the table
	if (some && lane() == last_lane(lanes))
		table[h] = v;
	sync_warp(); // before it is read again
	return hit;
}

// Sets hits, and result to the same. A block takes a chunk of image blockIdx.y and has all its caches in shared memory, that of b bits from entry
// 1 << b on; warp w takes the chunk through those of w+1 and w+9 bits, 32 pixels a step. A larger cache has all that
// a smaller one has.
KERNEL __launch_bounds__(block_threads) webp_cache_hits(const Slot *__restrict__ slots)
{
	__shared__ uint32_t s_caches[2 * hashes];
	__shared__ uint32_t s_hits[max_cache_bits + 1][pass_steps];
	const Slot &image = slots[blockIdx.y];
	uint64_t n = (uint64_t)image.width * image.height, first = (uint64_t)blockIdx.x * cache_pixels;
	if (first >= n)
		return; // the whole block
	const uint32_t *latest = image.tables + (uint64_t)blockIdx.x * hashes;
	for (uint32_t h = threadIdx.x; h < hashes; h += block_threads)
		s_caches[hashes + h] = latest[h];
	for (uint32_t bits = max_cache_bits - 1; bits > 0; bits--) {
		sync_block(); // the larger cache is whole
		for (uint32_t h = threadIdx.x; h < 1u << bits; h += block_threads) {
			uint32_t k = (1u << bits) + h, a = s_caches[2 * k], b = s_caches[2 * k + 1];
			s_caches[k] = a < b ? b : a;
		}
	}
	sync_block(); // all caches are whole
	for (uint32_t k = 2 + threadIdx.x; k < 2 * hashes; k += block_threads)
		s_caches[k] = s_caches[k] == 0 ? 0 : image.coded[s_caches[k] - 1];
	sync_block(); // positions have become pixels
	uint64_t end = least(n, first + cache_pixels);
	for (uint64_t at = first; at < end; at += pass_steps * 32) {
		for (uint32_t step = 0; step < pass_steps; step++) {
			uint64_t i = at + step * 32 + lane();
			bool some = i < end;
			uint32_t v = some ? image.coded[i] : 0;
			for (uint32_t bits = warp() + 1; bits <= max_cache_bits; bits += block_threads / warp_size) {
				uint32_t hit = pass_cache(s_caches + (1u << bits), bits, v, some);
				if (lane() == 0)
					s_hits[bits][step] = hit;
			}
		}
		sync_block(); // all caches have passed
		for (uint32_t k = threadIdx.x; k < pass_steps * 32 && at + k < end; k += block_threads) {
			uint32_t bits = max_cache_bits;
			while (bits > 0 && (s_hits[bits][k / 32] >> k % 32 & 1) != 0)
				bits--;
			uint8_t hit = (uint8_t)(bits == max_cache_bits ? 0xff : bits + 1);
			image.hits[at + k] = hit;
			((uint8_t *)image.result)[at + k] = hit;
		}
		sync_block(); // before s_hits is written again
	}
}
