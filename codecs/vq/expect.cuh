// Whether streams are those of the index tables that are expected: what expectSegment does, with the same numbers.
//
// Where an index table is known, the rank of every block is, and only the model and the range decoder have to go from block to
// block:
//
//   vq_places  a warp takes a block and counts the side keys that are less than that of its codeword: all blocks at the same time
//   vq_expect  three warps take a segment, each a chunk of blocks behind the one before it
//
//     warp 0   lane i prepares block i of the chunk: its contexts, and which of their places are decided in which way
//     warp 1   runs the model, as in segments.cuh: a lane has a place of every context, and the warp takes one block after the other
//     warp 2   runs the range decoder over the decisions: all lanes do the same, but for the bytes to come, of which each has some
//
// What one block has to wait for of the one before is kept short. The estimates of a block are asked for two blocks ahead. Where they
// are those of the block before, they are not what memory has, but what that block has made of them. Of a decision that is known
// the range decoder needs to know only how much of the range it leaves.
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

// Prepares the blocks of a chunk from the given one on, lane i the i-th of them. most is the bit length of the greatest rank, and row how
// many places a context has. Returns how many decisions the chunk has.
DEVICE uint32_t prepare_chunk(Prepared *prepared, const Stream &x, const Book &b, uint32_t first, uint32_t most, uint32_t row)
{
	uint32_t i = first + lane(), symbol = 0;
	bool there = i < x.blocks;
	Prepared p = {};
	if (there) {
		uint32_t column = i % x.cols;
		symbol = x.row[i];
		bool under = i >= x.cols, beside = column > 0;
		uint32_t left = rank_length(x, beside, i - 1), up = rank_length(x, under, i - x.cols);
		uint32_t up_left = rank_length(x, under && beside, i - x.cols - 1), up_right = rank_length(x, under && column + 1 < x.cols, i - x.cols + 1);
		contexts_of(p.contexts, b, symbol >> 25, symbol >> 20 & 31, symbol >> 12 & 255, surroundings(left, up, up_left, up_right));
#pragma unroll
		for (uint32_t c = 0; c < mixed; c++)
			p.contexts[c] *= row;
	}
	uint32_t rank = rank_of(symbol), length = bit_length(rank), unary = length < most ? length + 1 : most;
	uint64_t decided = (1ull << unary) - 1, ones = (1ull << length) - 1, low = 0, low_ones = 0;
	if (length >= 2) {
		uint32_t place = most + 3 * (length - 2), one = rank >> (length - 2) & 1;
		decided |= 1ull << place;
		ones |= (uint64_t)one << place;
		if (length > 2) {
			place += 1 + one;
			decided |= 1ull << place;
			ones |= (uint64_t)(rank >> (length - 3) & 1) << place;
		}
	}
	uint32_t from = 0;
	if (length > 3) {
		uint64_t all = (1ull << (length - 3)) - 1;
		from = (length - 4) * (length - 3) / 2;
		low = all << from;
		low_ones = (rank & all) << from;
	}
	uint32_t count = there ? unary + (length < 2 ? 0 : length - 1) : 0, behind = warp_running_sum(count);
	if (there) {
#pragma unroll
		for (uint32_t k = 0; k < 2; k++) {
			uint32_t *masks = p.masks + 4 * k, shift = k * warp_size;
			masks[0] = (uint32_t)(decided >> shift);
			masks[1] = (uint32_t)(ones >> shift);
			masks[2] = (uint32_t)(low >> shift);
			masks[3] = (uint32_t)(low_ones >> shift);
		}
		p.place = behind - count;
		p.last = behind - 1 + from;
		prepared[lane()] = p;
	}
	return broadcast(behind, warp_size - 1);
}

// Model is what a lane has of the model: of each context place i + 32 k, where i is the lane and k less than P, and the bits that
// are not mixed likewise.
template <uint32_t P> struct Model {
	uint32_t *estimates; // and behind them a word for each lane that counts for nothing
	uint32_t none;       // where that of this lane is
	int32_t weights[P][mixed];
	uint32_t low[P];
};

template <uint32_t P> DEVICE void begin_model(Model<P> &m, uint32_t *estimates, uint32_t words)
{
	m.estimates = estimates;
	m.none = words + lane();
#pragma unroll
	for (uint32_t k = 0; k < P; k++) {
#pragma unroll
		for (uint32_t c = 0; c < mixed; c++)
			m.weights[k][c] = mix_start;
		m.low[k] = 0;
	}
}

// Turn is what a lane has of a block: which of its places are decided in which way, where their estimates are, these, what of them goes
// into the mean, and how far they move. What is not decided has the word that counts for nothing, and is worked out like all others: so
// there is no branch, and nothing waits that need not.
template <uint32_t P> struct Turn {
	words4 masks[P];
	words2 ends; // see place and last of Prepared
	uint32_t at[P][mixed];
	uint32_t words[P][mixed];
	int32_t odds[P][mixed];
	uint32_t rates[P][mixed];
};

DEVICE bool has_lane(uint32_t mask) { return (mask >> lane() & 1) != 0; }

// Asks for the estimates of a block.
template <uint32_t P> DEVICE void ask(Turn<P> &b, const Model<P> &m, const Prepared &p)
{
	words4 contexts = *(const words4 *)p.contexts;
	b.ends = *(const words2 *)&p.place;
#pragma unroll
	for (uint32_t k = 0; k < P; k++) {
		b.masks[k] = ((const words4 *)p.masks)[k];
		bool decided = has_lane(b.masks[k].x);
		uint32_t place = lane() + k * warp_size;
		b.at[k][0] = decided ? contexts.x + place : m.none;
		b.at[k][1] = decided ? contexts.y + place : m.none;
		b.at[k][2] = decided ? contexts.z + place : m.none;
		b.at[k][3] = decided ? contexts.w + place : m.none;
#pragma unroll
		for (uint32_t c = 0; c < mixed; c++)
			b.words[k][c] = m.estimates[b.at[k][c]];
	}
}

// Looks up what follows from the estimates of a block.
template <uint32_t P> DEVICE void look_up(Turn<P> &b, const Tables &t)
{
#pragma unroll
	for (uint32_t k = 0; k < P; k++)
#pragma unroll
		for (uint32_t c = 0; c < mixed; c++) {
			b.odds[k][c] = t.stretch[((b.words[k][c] & 0xffff) ^ fresh) >> 4];
			b.rates[k][c] = t.rates[b.words[k][c] >> 16];
		}
}

// A decision as the range decoder takes it, which is 0 with a probability of zero/65536: how much of the range it leaves, in 1/65536, and
// bit 31 where it is 1. See makeDecision in expect.go.
DEVICE uint32_t expected_decision(uint32_t zero, bool one) { return one ? (65536 - zero) | expect_one : zero; }

// Makes the decisions of blocks that have been prepared. Behind those of the chunk each lane has a word for what is none.
template <uint32_t P> DEVICE void model_chunk(Model<P> &m, const Tables &t, const Prepared *prepared, uint32_t blocks, uint32_t *decisions)
{
	uint32_t before = (1u << lane()) - 1, none = chunk_decisions + lane();
	Turn<P> now, next, then;
	ask(now, m, prepared[0]);
	ask(next, m, prepared[least(1, blocks - 1)]);
	look_up(now, t);
#pragma unroll 2
	for (uint32_t j = 0; j < blocks; j++) {
		bool ones[P];
#pragma unroll
		for (uint32_t k = 0; k < P; k++) {
			ones[k] = has_lane(now.masks[k].y);
#pragma unroll
			for (uint32_t c = 0; c < mixed; c++) {
				uint32_t moved = moved_by(now.words[k][c], now.rates[k][c], ones[k]);
				m.estimates[now.at[k][c]] = moved;
				if (next.at[k][c] == now.at[k][c])
					next.words[k][c] = moved;
			}
		}
		// Behind what is written of this block, and before what is written of the next one.
		ask(then, m, prepared[least(j + 2, blocks - 1)]);
		look_up(next, t);
		uint32_t place = now.ends.x, low_at[P], low_decisions[P];
#pragma unroll
		for (uint32_t k = 0; k < P; k++) {
			bool low = has_lane(now.masks[k].z), one = has_lane(now.masks[k].w);
			low_at[k] = low ? now.ends.y - (lane() + k * warp_size) : none;
			low_decisions[k] = expected_decision((m.low[k] & 0xffff) ^ fresh, one);
			uint32_t moved = updated(t, m.low[k], one ? 1 : 0);
			m.low[k] = low ? moved : m.low[k];
		}
#pragma unroll
		for (uint32_t k = 0; k < P; k++) {
			int64_t sum = 0;
#pragma unroll
			for (uint32_t c = 0; c < mixed; c++)
				sum += (int64_t)m.weights[k][c] * now.odds[k][c];
			int32_t x = limit((int32_t)(sum >> 16), -2047, 2047);
			int32_t zero = limit(squash(t, x), prob_min, 65536 - prob_min);
			uint32_t mask = now.masks[k].x;
			bool decided = has_lane(mask);
			int32_t miss = decided ? (ones[k] ? 0 : 65536) - zero : 0;
#pragma unroll
			for (uint32_t c = 0; c < mixed; c++)
				m.weights[k][c] += now.odds[k][c] * miss >> mix_shift;
			decisions[decided ? place + (uint32_t)__builtin_popcount(mask & before) : none] = expected_decision((uint32_t)zero, ones[k]);
			decisions[low_at[k]] = low_decisions[k];
			place += (uint32_t)__builtin_popcount(mask);
		}
		now = next;
		next = then;
	}
}

// Takes what an expected decision leaves of the range. Where the stream has another one, the code is no longer less than the width, neither
// then nor after any decision to come, until bytes are taken: see expect in expect.go.
DEVICE void expect(RangeDecoder &d, bool &others, uint32_t decision)
{
	uint32_t one = (uint32_t)((int32_t)decision >> 31);
	uint32_t left = (uint32_t)(((uint64_t)d.width * (decision & expect_left) + (one & 65535)) >> 16);
	d.code -= (d.width - left) & one;
	d.width = left;
	if (left < 1u << 24) {
		others |= d.code >= left;
		refill(d);
	}
}

// Compares a segment with its symbols, and says where it differs. All threads call. P is 1 where a rank of the codebook has no more places
// than a warp has lanes.
template <uint32_t P> DEVICE void expect_segment(Expecting &s, const Stream &x, const Book &b, uint32_t *estimates, uint32_t words)
{
	uint32_t most = bit_length(b.n - 1), row = places(most), chunks = (x.blocks + chunk_blocks - 1) / chunk_blocks;
	Model<P> m;
	begin_model(m, estimates, words);
	RangeDecoder d;
	if (warp() == 2)
		d = begin_decoder(x.in, x.length);
	bool others = false; // a decision was not the expected one
	for (uint32_t c = 0; c < chunks + 2; c++) {
		if (warp() == 0 && c < chunks) {
			uint32_t count = prepare_chunk(s.prepared + c % 2 * chunk_blocks, x, b, c * chunk_blocks, most, row);
			if (lane() == 0)
				s.counts[c % 4] = count;
		}
		if (warp() == 1 && c >= 1 && c <= chunks) {
			uint32_t chunk = c - 1, count = s.counts[chunk % 4], *decisions = s.decisions + chunk % 2 * decisions_room;
			model_chunk(m, s.tables, s.prepared + chunk % 2 * chunk_blocks, least(chunk_blocks, x.blocks - chunk * chunk_blocks), decisions);
			if (lane() < (0 - count) % 4)
				decisions[count + lane()] = 65536; // leaves all
		}
		if (warp() == 2 && c >= 2) {
			uint32_t chunk = c - 2, fours = (s.counts[chunk % 4] + 3) / 4;
			const words4 *decisions = (const words4 *)(s.decisions + chunk % 2 * decisions_room);
			words4 next = decisions[0];
			for (uint32_t j = 0; j < fours; j++) {
				words4 four = next;
				next = decisions[least(j + 1, fours - 1)]; // on its way while these are decoded
				expect(d, others, four.x);
				expect(d, others, four.y);
				expect(d, others, four.z);
				expect(d, others, four.w);
			}
		}
		sync_block(); // chunk c is prepared, the decisions of the one before are there, and those of the one before that are not needed any more
	}
	if (threadIdx.x == 2 * warp_size && (others || d.code >= d.width || d.taken != d.length))
		*x.damaged = 1;
}

// Whether count streams are those of the symbols that vq_places has left in their rows. Where one is not, it is damaged.
KERNEL __launch_bounds__(3 * warp_size) vq_expect(DecodeParams e)
{
	extern __shared__ __attribute__((aligned(16))) uint32_t s_memory[];
	Expecting &s = *(Expecting *)s_memory;
	uint32_t *estimates = e.estimates + (uint64_t)blockIdx.x * (e.words + warp_size);
	for (uint32_t i = threadIdx.x; i < sizeof(Tables) / sizeof(uint32_t); i += blockDim.x)
		((uint32_t *)&s.tables)[i] = ((const uint32_t *)e.tables)[i];
	for (uint32_t i = blockIdx.x; i < e.count; i += gridDim.x) {
		const Stream x = e.list[i];
		const Book b = *x.book;
		for (uint32_t k = threadIdx.x; k < e.words + warp_size; k += blockDim.x)
			estimates[k] = 0;
		sync_block(); // the memory is ready, and the segment before has been read
		if (places(bit_length(b.n - 1)) <= warp_size)
			expect_segment<1>(s, x, b, estimates, e.words);
		else
			expect_segment<2>(s, x, b, estimates, e.words);
	}
}
