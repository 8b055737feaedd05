// The index table: which codewords it uses, and the symbols of the index coder.
#pragma once

#include "vectors.cuh"

DEVICE void count(uint32_t *counts, const uint16_t *table, uint64_t m, uint32_t n)
{
	__shared__ uint32_t s_counts[most_codewords];
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
		s_counts[i] = 0;
	sync_block(); // the counts are empty
	for (uint64_t i = thread(); i < m; i += (uint64_t)gridDim.x * blockDim.x) {
		uint32_t x = table[i];
		if (x < n)
			add_to(&s_counts[x], 1);
	}
	sync_block(); // all blocks are in
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
		if (s_counts[i] != 0)
			add_to(&counts[i], s_counts[i]);
}

// How many blocks chose each codeword.
KERNEL vq_count(uint32_t *__restrict__ counts,        // n, added to
                const uint16_t *__restrict__ table,   // m
                uint64_t m, uint32_t n)
{
	count(counts, table, m, n);
}

// Gives the entries their new numbers. One thread per entry.
KERNEL vq_renumber(uint16_t *__restrict__ table,     // m
                   const uint16_t *__restrict__ to,  // n
                   uint64_t m, uint32_t n)
{
	uint64_t i = thread();
	if (i < m)
		table[i] = to[below(table[i], n)];
}

DEVICE void sides(uint32_t *up, uint32_t *left, uint32_t *spans, const uint8_t *words, uint32_t n, uint32_t p, uint32_t q)
{
	uint64_t i = thread();
	if (i >= (uint64_t)n * n)
		return;
	uint32_t u = (uint32_t)(i / n), c = (uint32_t)(i % n), k = p * q;
	const uint8_t *a = words + u * k, *b = words + c * k;
	uint32_t above = 0, beside = 0;
	for (uint32_t j = 0; j < q; j++)
		above += square((int32_t)a[(p - 1) * q + j] - b[j]);
	for (uint32_t j = 0; j < p; j++)
		beside += square((int32_t)a[j * q + q - 1] - b[j * q]);
	up[i] = above << index_bits | c;
	left[i] = beside << index_bits;
	if (c == 0) {
		uint32_t lo = a[0], hi = a[0];
		for (uint32_t j = 1; j < k; j++) {
			lo = a[j] < lo ? a[j] : lo;
			hi = a[j] > hi ? a[j] : hi;
		}
		spans[u] = hi - lo;
	}
}

// What the index coder has to know of every two codewords as neighbours; see ranker. One thread per pair.
KERNEL vq_sides(uint32_t *__restrict__ up,          // n x n: lower edge of u against upper edge of c, and c
                uint32_t *__restrict__ left,        // n x n: right edge of u against left edge of c
                uint32_t *__restrict__ spans,       // n: greatest less least sample
                const uint8_t *__restrict__ words,  // n x p x q
                uint32_t n, uint32_t p, uint32_t q)
{
	sides(up, left, spans, words, n, p, q);
}

DEVICE void ranks(uint32_t *symbols, const uint16_t *table, const uint32_t *up, const uint32_t *left, const uint32_t *spans,
                  uint64_t first, uint64_t m, uint32_t n, uint32_t rows, uint32_t cols, uint32_t step, uint32_t shift)
{
	uint64_t out = thread() / warp_size;
	if (out >= m)
		return;
	uint64_t i = first + out;
	uint32_t c = (uint32_t)(i % cols), r = (uint32_t)(i / cols % rows);
	uint32_t own = below(table[i], n), activity = 0;
	const uint32_t *from_up = nullptr, *from_left = nullptr;
	if (r % step > 0) {
		uint32_t u = below(table[i - cols], n);
		from_up = up + (uint64_t)u * n;
		activity += spans[u];
	}
	if (c > 0) {
		uint32_t u = below(table[i - 1], n);
		from_left = left + (uint64_t)u * n;
		activity += spans[u];
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
		symbols[out] = lesser | (nearest & index_mask) >> shift << 12 | bit_length(nearest >> index_bits) << 20 |
		               bit_length(activity) << 25;
}

// The symbol of every block for the index coder; see symbol in index.go. A table is planes of rows x cols blocks, each cut
// into segments of step rows. One warp per block.
KERNEL vq_ranks(uint32_t *__restrict__ symbols,      // m
                const uint16_t *__restrict__ table,  // first + m, of which symbols are made from first on
                const uint32_t *__restrict__ up, const uint32_t *__restrict__ left, const uint32_t *__restrict__ spans,
                uint64_t first, uint64_t m,
                uint32_t n, uint32_t rows, uint32_t cols, uint32_t step,
                uint32_t shift)                      // of the codeword of least mismatch
{
	ranks(symbols, table, up, left, spans, first, m, n, rows, cols, step, shift);
}

// The index table of one codebook of a batch, with the parameters of the kernels above.
struct Index {
	uint16_t *table;
	uint32_t *counts;
	const uint16_t *to; // the new numbers; null where all codewords are used
	const uint8_t *words;
	uint32_t *up, *left, *spans, *symbols;
	uint32_t m, n, most; // n codewords, of most before the renumbering
	uint32_t rows, cols, step, shift, p, q, unused;
};
static_assert(sizeof(Index) == 104, "batchIndex");

// Each of these takes entry blockIdx.y of the list.

KERNEL vq_batch_count(const Index *__restrict__ list)
{
	const Index &x = list[blockIdx.y];
	count(x.counts, x.table, x.m, x.most);
}

KERNEL vq_batch_renumber(const Index *__restrict__ list)
{
	const Index &x = list[blockIdx.y];
	uint64_t i = thread();
	if (i < x.m && x.to != nullptr)
		x.table[i] = x.to[below(x.table[i], x.most)];
}

KERNEL vq_batch_sides(const Index *__restrict__ list)
{
	const Index &x = list[blockIdx.y];
	sides(x.up, x.left, x.spans, x.words, x.n, x.p, x.q);
}

KERNEL vq_batch_ranks(const Index *__restrict__ list)
{
	const Index &x = list[blockIdx.y];
	ranks(x.symbols, x.table, x.up, x.left, x.spans, 0, x.m, x.n, x.rows, x.cols, x.step, x.shift);
}
