// Whether streams are those of the index tables that are expected: what expectSegment does, with the same numbers.
//
// Where an index table is known, the rank of every block is, and only the model and the range decoder have to go from block to
// block:
//
//   vq_places  a warp takes a block and counts the side keys that are less than that of its codeword: all blocks at the same time
//   vq_expect  two warps take a segment. The first runs the model, a chunk of blocks ahead of the second, which runs the range
//              decoder and compares every decision with the expected one. In the first, lane i prepares block i of the chunk;
//              then the warp takes one block after the other, as in segments.cuh.
#pragma once

#include "segments.cuh"

// The symbols of the expected indices, see symbol in index.go. One warp per block, a row of blocks of threads per segment.
KERNEL vq_places(const Stream *__restrict__ list)
{
	const Stream &x = list[blockIdx.y];
	uint64_t i = thread() / warp_size;
	if (i >= x.blocks)
		return;
	const Book b = *x.book;
	uint32_t own = x.table[i];
	if (own >= b.n) {
		if (lane() == 0)
			*x.damaged = 1;
		own = 0;
	}
	uint32_t up = i >= x.cols ? below(x.table[i - x.cols], b.n) : no_codeword;
	uint32_t left = i % x.cols > 0 ? below(x.table[i - 1], b.n) : no_codeword;
	Neighbours beside = neighbours(b, up, left);
	uint32_t mine = side_key(b, beside, own), lesser = 0, nearest = ~0u;
	for (uint32_t j = lane(); j < b.n; j += warp_size) {
		uint32_t key = side_key(b, beside, j);
		lesser += key < mine ? 1 : 0;
		nearest = least(nearest, key);
	}
	lesser = sum_of_all(lesser);
	nearest = least_of_all(nearest);
	if (lane() == 0)
		x.row[i] = lesser | (nearest & index_mask) >> best_shift(b.n) << 12 | bit_length(nearest >> index_bits) << 20 |
		           bit_length(beside.activity) << 25;
}

// The bit length of the rank of block i, where it is there.
DEVICE uint32_t rank_length(const Stream &x, bool there, uint32_t i) { return there ? bit_length(rank_of(x.row[i])) : no_rank; }

// Prepares the blocks of a chunk from the given one on: lane i makes the contexts of the i-th, and brings its rank.
DEVICE void prepare_chunk(Expecting &s, const Stream &x, const Book &b, uint32_t first)
{
	uint32_t i = first + lane();
	if (i < x.blocks) {
		uint32_t column = i % x.cols, symbol = x.row[i];
		bool under = i >= x.cols, beside = column > 0;
		uint32_t left = rank_length(x, beside, i - 1), up = rank_length(x, under, i - x.cols);
		uint32_t up_left = rank_length(x, under && beside, i - x.cols - 1), up_right = rank_length(x, under && column + 1 < x.cols, i - x.cols + 1);
		uint32_t contexts[mixed];
		contexts_of(contexts, b, symbol >> 25, symbol >> 20 & 31, symbol >> 12 & 255, surroundings(left, up, up_left, up_right));
#pragma unroll
		for (uint32_t c = 0; c < mixed; c++)
			s.contexts[mixed * lane() + c] = contexts[c];
		s.ranks[lane()] = rank_of(symbol);
	}
	sync_warp(); // all lanes see the chunk
}

// Writes the decisions of a rank in the present contexts, of which each lane takes its own: bit 16 is the decision, those below it the
// probability that it is 0. Returns how many they are.
DEVICE uint32_t expect_rank(RankDecoder &m, const Tables &t, uint32_t rank, uint32_t *decisions)
{
	mix(m, t);
	uint32_t length = bit_length(rank), unary = length < m.most ? length + 1 : m.most;
	uint32_t first = no_place, second = no_place, one = 0, other = 0;
	if (length >= 2) {
		first = m.most + 3 * (length - 2);
		one = rank >> (length - 2) & 1;
	}
	if (length > 2) {
		second = first + 1 + one;
		other = rank >> (length - 3) & 1;
	}
#pragma unroll
	for (uint32_t k = 0; k < lane_places; k++) {
		uint32_t place = lane() + k * warp_size, at, v;
		if (place < unary) {
			at = place;
			v = place < length ? 1 : 0;
		} else if (place == first) {
			at = unary;
			v = one;
		} else if (place == second) {
			at = unary + 1;
			v = other;
		} else {
			continue;
		}
		decisions[at] = m.zero[k] | v << 16;
		learn(m, t, k, v);
	}
	uint32_t lows = length > 3 ? length - 3 : 0, from = length > 3 ? (length - 4) * (length - 3) / 2 : 0;
#pragma unroll
	for (uint32_t k = 0; k < lane_lows; k++) {
		uint32_t bit = lane() + k * warp_size - from; // beyond lows for the lanes before
		if (bit < lows) {
			uint32_t v = rank >> bit & 1;
			decisions[unary + 1 + lows - bit] = ((m.low[k] & 0xffff) ^ fresh) | v << 16;
			m.low[k] = updated(t, m.low[k], v);
		}
	}
	return unary + (length < 2 ? 0 : length - 1);
}

// Whether count streams are those of the symbols that vq_places has left in their rows. Where one is not, it is damaged.
KERNEL __launch_bounds__(2 * warp_size) vq_expect(DecodeParams e)
{
	extern __shared__ __attribute__((aligned(16))) uint32_t s_memory[];
	Expecting &s = *(Expecting *)s_memory;
	uint32_t *estimates = e.estimates + (uint64_t)blockIdx.x * e.words;
	for (uint32_t i = threadIdx.x; i < sizeof(Tables) / sizeof(uint32_t); i += blockDim.x)
		s_memory[i] = ((const uint32_t *)e.tables)[i];
	for (uint32_t i = blockIdx.x; i < e.count; i += gridDim.x) {
		const Stream x = e.list[i];
		const Book b = *x.book;
		RankDecoder m;
		RangeDecoder d = begin_decoder(x.in, x.length);
		bool others = false; // a decision was not the expected one
		sync_block(); // the segment before has been read
		begin_ranks(m, estimates, b.n);
		for (uint32_t k = threadIdx.x; k < e.words; k += blockDim.x)
			estimates[k] = 0;
		sync_block(); // the memory is ready
		uint32_t chunks = (x.blocks + chunk_blocks - 1) / chunk_blocks;
		for (uint32_t c = 0; c <= chunks; c++) {
			if (warp() == 0 && c < chunks) {
				uint32_t *decisions = s.decisions + c % 2 * chunk_decisions, count = 0, blocks = least(chunk_blocks, x.blocks - c * chunk_blocks);
				prepare_chunk(s, x, b, c * chunk_blocks);
				for (uint32_t j = 0; j < blocks; j++) {
#pragma unroll
					for (uint32_t k = 0; k < mixed; k++)
						m.contexts[k] = s.contexts[mixed * j + k];
					count += expect_rank(m, s.tables, s.ranks[j], decisions + count);
				}
				if (lane() == 0)
					s.counts[c % 2] = count;
			}
			if (warp() == 1 && c > 0) {
				const uint32_t *decisions = s.decisions + (c - 1) % 2 * chunk_decisions;
				uint32_t count = s.counts[(c - 1) % 2], next = decisions[0];
				for (uint32_t j = 0; j < count; j++) {
					uint32_t decision = next;
					next = j + 1 < count ? decisions[j + 1] : 0; // on its way while this one is decoded
					uint32_t bound = bound_of(d, decision & 0xffff);
					bool one = decision >> 16 != 0;
					others |= (d.code >= bound) != one;
					narrow(d, bound, one);
				}
			}
			sync_block(); // chunk c is full, and the one before it empty
		}
		if (threadIdx.x == warp_size && (others || d.taken != d.length))
			*x.damaged = 1;
	}
}
