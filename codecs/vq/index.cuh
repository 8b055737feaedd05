// The index table: which codewords it uses, and the symbols of the index coder.
#pragma once

#include "vectors.cuh"

// Each kernel takes entry blockIdx.y of the list. A table is planes of rows x cols blocks, each cut into segments of step
// rows.

// How many blocks chose each codeword.
KERNEL vq_count(const Index *__restrict__ list)
{
	const Index &x = list[blockIdx.y];
	uint32_t n = x.most;
	__shared__ uint32_t s_counts[most_codewords];
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
		s_counts[i] = 0;
	sync_block(); // the counts are empty
	for (uint64_t i = thread(); i < x.m; i += (uint64_t)gridDim.x * blockDim.x) {
		uint32_t chosen = x.table[i];
		if (chosen < n)
			add_to(&s_counts[chosen], 1);
	}
	sync_block(); // all blocks are in
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
		if (s_counts[i] != 0)
			add_to(&x.counts[i], s_counts[i]);
}

// Gives the entries their new numbers. One thread per entry.
KERNEL vq_renumber(const Index *__restrict__ list)
{
	const Index &x = list[blockIdx.y];
	uint64_t i = thread();
	if (i < x.m && x.to != nullptr)
		x.table[i] = x.to[below(x.table[i], x.most)];
}

// What the index coder has to know of every two codewords as neighbours; see ranker. One thread per pair.
KERNEL vq_sides(const Index *__restrict__ list)
{
	const Index &x = list[blockIdx.y];
	uint32_t n = x.n, p = x.p, q = x.q;
	uint64_t i = thread();
	if (i >= (uint64_t)n * n)
		return;
	uint32_t u = (uint32_t)(i / n), c = (uint32_t)(i % n), k = p * q;
	const uint8_t *a = x.words + u * k, *b = x.words + c * k;
	uint32_t above = 0, beside = 0;
	for (uint32_t j = 0; j < q; j++)
		above += square((int32_t)a[(p - 1) * q + j] - b[j]);
	for (uint32_t j = 0; j < p; j++)
		beside += square((int32_t)a[j * q + q - 1] - b[j * q]);
	x.up[i] = above << index_bits | c;
	x.left[i] = beside << index_bits;
	if (c == 0) {
		uint32_t lo = a[0], hi = a[0];
		for (uint32_t j = 1; j < k; j++) {
			lo = a[j] < lo ? a[j] : lo;
			hi = a[j] > hi ? a[j] : hi;
		}
		x.spans[u] = hi - lo;
	}
}

// The symbol of every block for the index coder; see symbol in index.go. One warp per block.
KERNEL vq_ranks(const Index *__restrict__ list)
{
	const Index &x = list[blockIdx.y];
	uint32_t n = x.n;
	uint64_t i = thread() / warp_size;
	if (i >= x.m)
		return;
	uint32_t c = (uint32_t)(i % x.cols), r = (uint32_t)(i / x.cols % x.rows);
	uint32_t own = below(x.table[i], n), activity = 0;
	const uint32_t *from_up = nullptr, *from_left = nullptr;
	if (r % x.step > 0) {
		uint32_t u = below(x.table[i - x.cols], n);
		from_up = x.up + (uint64_t)u * n;
		activity += x.spans[u];
	}
	if (c > 0) {
		uint32_t u = below(x.table[i - 1], n);
		from_left = x.left + (uint64_t)u * n;
		activity += x.spans[u];
	}
	uint32_t mine = (from_up != nullptr ? from_up[own] : own) + (from_left != nullptr ? from_left[own] : 0);
	uint32_t lesser = 0, nearest = ~0u;
	for (uint32_t j = lane(); j < n; j += warp_size) {
		uint32_t side = (from_up != nullptr ? from_up[j] : j) + (from_left != nullptr ? from_left[j] : 0);
		lesser += side < mine ? 1 : 0;
		nearest = least(nearest, side);
	}
	lesser = warp_sum(lesser);
	nearest = warp_least(nearest);
	if (lane() == 0)
		x.symbols[i] = lesser | (nearest & index_mask) >> x.shift << 12 | bit_length(nearest >> index_bits) << 20 |
		               bit_length(activity) << 25;
}
