// The index coder: what rankmodel.go, rangecoder.go and encodeSegment do, with the same numbers.
//
// The decisions of one segment follow from each other, and segments do not: a block of two warps takes a segment at a
// time. The first warp runs the model, a chunk of blocks ahead of the second, which runs the range coder.
//
// The decisions of one rank do not depend on each other, as rankmodel.go says, so that each has a lane of the first warp:
// lane i the i-th of the unary bit length, lane 16+j the j-th bit below the leading one. Every estimate and weight is
// that of one lane alone, and so nobody waits for another's.
#pragma once

#include "vectors.cuh"

constexpr uint32_t below_lane = 16; // lane of the first bit below the leading one

// The estimate that a word of 0 stands for: bits 0-15 are its exclusive or with the probability that a decision is 0, in
// 1/65536; from bit 16 on the word counts decisions. So all estimates are fresh where their memory is zero.
constexpr uint32_t fresh = 1u << 15;

// The places of mixed decisions of ranks of at most most bits: the steps of the unary length, then three for each length
// from 2 on.
DEVICE uint32_t places(uint32_t most) { return most < 2 ? most : most + 3 * (most - 1); }

DEVICE int32_t limit(int32_t v, int32_t lo, int32_t hi) { return v < lo ? lo : v > hi ? hi : v; }

// The estimate in a word after a decision, where rate is that of a word which has counted as many; see updated in rankmodel.go.
DEVICE uint32_t moved_by(uint32_t word, uint32_t rate, bool one)
{
	uint32_t zero = (word & 0xffff) ^ fresh, seen = word >> 16;
	uint32_t step = (one ? zero : 65536 - zero) * rate >> 16;
	int32_t moved = (int32_t)(one ? zero - step : zero + step);
	return ((uint32_t)limit(moved, prob_min, 65536 - prob_min) ^ fresh) | (seen < adapt_limit ? seen + 1 : seen) << 16;
}

// The estimate in a word after decision v.
DEVICE uint32_t updated(const Tables &t, uint32_t word, uint32_t v) { return moved_by(word, t.rates[word >> 16], v != 0); }

// The probability in 1/65536 for log odds of x/256.
DEVICE int32_t squash(const Tables &t, int32_t x)
{
	x += 2048;
	uint32_t i = (uint32_t)x >> 6 & 63;
	int32_t from = t.logistic[i];
	return from + ((t.logistic[i + 1] - from) * (x & 63) >> 6);
}

// RankModel is what a lane knows of the place in the segment that the model has come to. All lanes know the same.
struct RankModel {
	uint32_t at, column;        // of the next block
	uint32_t symbol, behind;    // of that block, and of the one that follows the block above
	uint32_t left, up, up_left; // bit lengths of the ranks around it
	uint32_t most, row;         // bit length of the greatest rank; places of a context
};

DEVICE uint32_t rank_of(uint32_t symbol) { return symbol & index_mask; }

// Symbol i of the segment, 0 where there is none.
DEVICE uint32_t symbol_at(const Segment &x, int64_t i) { return i >= 0 && i < (int64_t)x.blocks ? x.symbols[i] : 0; }

DEVICE RankModel begin_model(const Segment &x)
{
	RankModel m;
	m.at = m.column = 0;
	m.symbol = symbol_at(x, 0);
	m.behind = symbol_at(x, 1 - (int64_t)x.cols);
	m.left = m.up = m.up_left = no_rank;
	m.most = bit_length(x.n - 1);
	m.row = places(m.most);
	return m;
}

// Makes decision v of a place in the contexts.
DEVICE uint32_t mixed_decision(Coder &s, uint32_t *estimates, const uint32_t *contexts, uint32_t row, uint32_t place, uint32_t v)
{
	int32_t *weights = s.weights + mixed * place;
	uint32_t words[mixed];
	int32_t odds[mixed];
	int64_t sum = 0;
#pragma unroll
	for (uint32_t c = 0; c < mixed; c++)
		words[c] = estimates[contexts[c] * row + place];
#pragma unroll
	for (uint32_t c = 0; c < mixed; c++) {
		odds[c] = s.tables.stretch[((words[c] & 0xffff) ^ fresh) >> 4];
		sum += (int64_t)weights[c] * odds[c];
	}
	sum >>= 16;
	int32_t x = sum < -2047 ? -2047 : sum > 2047 ? 2047 : (int32_t)sum;
	int32_t zero = limit(squash(s.tables, x), prob_min, 65536 - prob_min);
	int32_t miss = (v != 0 ? 0 : 65536) - zero;
#pragma unroll
	for (uint32_t c = 0; c < mixed; c++) {
		weights[c] += odds[c] * miss >> mix_shift;
		estimates[contexts[c] * row + place] = updated(s.tables, words[c], v);
	}
	return (uint32_t)zero | v << 16;
}

// Writes the decisions of the next block, of which each lane takes its own: bit 16 is the decision, those below it the
// probability that it is 0. Returns how many they are.
DEVICE uint32_t model_block(RankModel &m, Coder &s, uint32_t *estimates, const Segment &x, uint32_t lane, uint32_t *decisions)
{
	// What the next block needs is on its way while this one is worked on.
	uint32_t symbol = m.symbol, behind = m.behind;
	m.symbol = symbol_at(x, (int64_t)m.at + 1);
	m.behind = symbol_at(x, (int64_t)m.at + 2 - (int64_t)x.cols);

	uint32_t up_right = m.at >= x.cols && m.column + 1 < x.cols ? bit_length(rank_of(behind)) : no_rank;
	uint32_t around = least((2 * m.left + 2 * m.up + m.up_left + up_right + 2) / 4, surrounds - 1);
	uint32_t activity = symbol >> 25, mismatch = symbol >> 20 & 31, best = symbol >> 12 & 255;
	uint32_t contexts[mixed] = {
		activity * mismatches + mismatch,
		context_start_1 + mismatch * surrounds + around,
		context_start_2 + activity * surrounds + around,
		context_start_3 + best,
	};

	uint32_t rank = rank_of(symbol), length = bit_length(rank);
	uint32_t unary = length < m.most ? length + 1 : m.most, below = length < 2 ? 0 : length - 1;
	// Lanes of both kinds take the same path, so that a warp waits for memory once.
	bool steps = lane < below_lane;
	uint32_t j = lane - below_lane, bit = length - 2 - j;
	if (steps ? lane < unary : j < below && j < 2) {
		uint32_t place = steps ? lane : m.most + 3 * (length - 2) + (j == 0 ? 0 : 1 + (rank >> (length - 2) & 1));
		uint32_t v = steps ? lane < length : rank >> bit & 1;
		decisions[steps ? lane : unary + j] = mixed_decision(s, estimates, contexts, m.row, place, v);
	} else if (!steps && j < below) {
		uint32_t &word = s.low[length * index_bits + bit], v = rank >> bit & 1;
		decisions[unary + j] = ((word & 0xffff) ^ fresh) | v << 16;
		word = updated(s.tables, word, v);
	}

	m.at++;
	m.column++;
	m.up_left = m.up;
	m.up = up_right;
	m.left = length;
	if (m.column == x.cols) {
		// The block that follows the one above is the first of this row, and so above the first of the next.
		m.column = 0;
		m.left = m.up_left = no_rank;
		m.up = bit_length(rank_of(behind));
	}
	return unary + below;
}

// RangeEncoder is that of rangecoder.go. It counts what it has no room for.
struct RangeEncoder {
	uint8_t *out;
	uint32_t room, count;
	uint64_t low;
	uint32_t width, cache, behind;
	bool begun;
};

DEVICE RangeEncoder begin_encoder(uint8_t *out, uint32_t room) { return RangeEncoder{out, room, 0, 0, 0xffffffff, 0, 1, false}; }

DEVICE void append(RangeEncoder &e, uint32_t v)
{
	if (e.count < e.room)
		e.out[e.count] = (uint8_t)v;
	e.count++;
}

DEVICE void shift_byte(RangeEncoder &e)
{
	if (e.low < 0xff000000 || e.low > 0xffffffff) {
		uint32_t carry = (uint32_t)(e.low >> 32);
		if (e.begun)
			append(e, e.cache + carry);
		e.begun = true;
		for (; e.behind > 1; e.behind--)
			append(e, 0xff + carry);
		e.cache = (uint32_t)e.low >> 24;
		e.behind = 0;
	}
	e.behind++;
	e.low = e.low << 8 & 0xffffffff;
}

DEVICE void put_decision(RangeEncoder &e, uint32_t decision)
{
	uint32_t bound = (uint32_t)((uint64_t)e.width * (decision & 0xffff) >> 16);
	bool one = decision >> 16 != 0;
	e.low += one ? bound : 0;
	e.width = one ? e.width - bound : bound;
	while (e.width < 1u << 24) {
		e.width <<= 8;
		shift_byte(e);
	}
}

// Writes the last bytes and returns how many there are.
DEVICE uint32_t finish(RangeEncoder &e)
{
#pragma unroll 1
	for (uint32_t i = 0; i < 5; i++)
		shift_byte(e);
	return e.count;
}

// Makes the memory of a block of threads what a segment begins with. All threads call.
DEVICE void begin_segment(Coder &s, uint32_t *estimates, uint32_t words)
{
	for (uint32_t i = threadIdx.x; i < words; i += blockDim.x)
		estimates[i] = 0;
	for (uint32_t i = threadIdx.x; i < sizeof(s.weights) / sizeof(s.weights[0]); i += blockDim.x)
		s.weights[i] = mix_start;
	for (uint32_t i = threadIdx.x; i < sizeof(s.low) / sizeof(s.low[0]); i += blockDim.x)
		s.low[i] = 0;
}

// The streams of count segments, and their lengths in bytes. A stream that its segment has no room for is cut short. The launch
// brings a Coder of shared memory. Estimates would leave room there for one block of threads on a multiprocessor, whose two warps do
// not keep it busy; in global memory those in use stay in the L1 cache.
KERNEL __launch_bounds__(2 * warp_size) vq_code(CodeParams e)
{
	extern __shared__ __attribute__((aligned(16))) uint32_t s_memory[];
	Coder &s = *(Coder *)s_memory;
	uint32_t *estimates = e.estimates + (uint64_t)blockIdx.x * e.words;
	for (uint32_t i = threadIdx.x; i < sizeof(Tables) / sizeof(uint32_t); i += blockDim.x)
		s_memory[i] = ((const uint32_t *)e.tables)[i];
	for (uint32_t i = blockIdx.x; i < e.count; i += gridDim.x) {
		const Segment x = e.list[i];
		RankModel m = begin_model(x);
		RangeEncoder r = begin_encoder(x.out, x.room);
		sync_block(); // the segment before is coded
		begin_segment(s, estimates, least(x.contexts * m.row, e.words));
		sync_block(); // the memory is ready
		uint32_t chunks = (x.blocks + chunk_blocks - 1) / chunk_blocks;
		for (uint32_t c = 0; c <= chunks; c++) {
			if (warp() == 0 && c < chunks) {
				uint32_t *decisions = s.decisions + c % 2 * chunk_decisions, count = 0;
				for (uint32_t left = least(chunk_blocks, x.blocks - c * chunk_blocks); left > 0; left--)
					count += model_block(m, s, estimates, x, lane(), decisions + count);
				if (lane() == 0)
					s.counts[c % 2] = count;
			}
			if (warp() == 1 && lane() == 0 && c > 0) {
				const uint32_t *decisions = s.decisions + (c - 1) % 2 * chunk_decisions;
				uint32_t count = s.counts[(c - 1) % 2], next = decisions[0];
				for (uint32_t j = 0; j < count; j++) {
					uint32_t decision = next;
					next = j + 1 < count ? decisions[j + 1] : 0; // on its way while this one is coded
					put_decision(r, decision);
				}
			}
			sync_block(); // chunk c is full, and the one before it empty
		}
		if (threadIdx.x == warp_size)
			e.lengths[i] = finish(r);
	}
}
