// From the streams of segments to index tables: what decodeSegment does, with the same numbers. It is the inverse of code.cuh.
//
// A block needs the blocks above it and to the left of it, and segments do not need each other: a warp takes a segment at
// a time, and blocks of it one after the other. For each block
//
//   keys       lane i makes the side keys of codewords i, i + 32, ... from their edges, and the warp finds the least
//   mix        lane i makes the probability of place i, and of place i + 32 if there is one, for every decision that the
//              rank may take: they follow from the contexts alone, see rankmodel.go
//   decisions  all lanes run the range decoder, each with the same numbers
//   learn      lane i moves estimates and weights of its places, if the rank went by them
//   nth        the warp finds the key that has so many below it
//
// An estimate or a weight is that of one lane alone, and so are the side keys: nobody waits for another's.
#pragma once

#include "code.cuh"

constexpr uint32_t span_at = 24;       // bit of a neighbour's third word from which on its span is
constexpr uint32_t no_codeword = ~0u;  // where there is no neighbour
constexpr uint32_t no_place = ~0u;     // of a decision that was not made
constexpr uint32_t lane_places = 2;    // that a lane has at most
constexpr uint32_t lane_lows = 2;      // estimates of bits that are not mixed, likewise
constexpr uint32_t keys_in_turn = 3;   // that are found one after the other where so few are left
static_assert(index_bits + 3 * (index_bits - 1) <= lane_places * warp_size, "places");
static_assert((index_bits - 3) * (index_bits - 2) / 2 <= lane_lows * warp_size, "bits that are not mixed");

// What the index decoder has to know of every codeword. One thread per codeword, a row of blocks of threads per codebook.
//
//   edges            upper edge, left edge, sum of the squares of each
//   more_edges       samples 4 to 7 of the two edges, of blocks of 8x8
//   neighbours       lower edge, right edge, sum of the squares of the lower one and from bit 24 on greatest less least
//                    sample, sum of the squares of the right one
//   more_neighbours  samples 4 to 7 of the two edges, of blocks of 8x8
KERNEL vq_edges(const Book *__restrict__ list)
{
	const Book &b = list[blockIdx.y];
	uint32_t i = (uint32_t)thread(), p = b.p, q = b.q;
	if (i >= b.n)
		return;
	const uint8_t *w = b.words + (uint64_t)i * p * q;
	uint32_t upper[2] = {0, 0}, left[2] = {0, 0}, lower[2] = {0, 0}, right[2] = {0, 0};
	uint32_t norms[4] = {0, 0, 0, 0};
	for (uint32_t j = 0; j < q; j++) {
		uint32_t u = w[j], l = w[(p - 1) * q + j];
		upper[j / 4] |= u << 8 * (j % 4);
		lower[j / 4] |= l << 8 * (j % 4);
		norms[0] += u * u;
		norms[2] += l * l;
	}
	for (uint32_t j = 0; j < p; j++) {
		uint32_t l = w[j * q], r = w[j * q + q - 1];
		left[j / 4] |= l << 8 * (j % 4);
		right[j / 4] |= r << 8 * (j % 4);
		norms[1] += l * l;
		norms[3] += r * r;
	}
	uint32_t lo = w[0], hi = w[0];
	for (uint32_t j = 1; j < p * q; j++) {
		lo = w[j] < lo ? w[j] : lo;
		hi = w[j] > hi ? w[j] : hi;
	}
	((words4 *)b.edges)[i] = words4{upper[0], left[0], norms[0], norms[1]};
	((words4 *)b.neighbours)[i] = words4{lower[0], right[0], norms[2] | (hi - lo) << span_at, norms[3]};
	if (b.more_edges != nullptr) {
		((words2 *)b.more_edges)[i] = words2{upper[1], left[1]};
		((words2 *)b.more_neighbours)[i] = words2{lower[1], right[1]};
	}
}

// a/b, but for an error in the last bits: a guess may be any number.
DEVICE float quotient(float a, float b) { return __nvvm_div_approx_ftz_f(a, b); }

// RangeDecoder is that of rangecoder.go. All lanes hold the same, but for the bytes ahead, of which each has some.
struct RangeDecoder {
	const uint8_t *in;
	uint32_t length;      // bytes
	uint32_t taken;       // bytes, also beyond the end, where all are 0
	uint32_t width, code;
	uint64_t next;        // the next bytes, from the highest on
	uint32_t there;       // how many, at least 4
	uint32_t loaded;      // where the bytes of chunk begin
	uint32_t word;        // of the chunk that comes into next after
	uint32_t chunk, then; // four bytes of this lane, and of the chunk behind
};

// The four bytes of this lane in the chunk from a place on, the first in the high byte.
DEVICE uint32_t load_chunk(const RangeDecoder &d, uint32_t from)
{
	uint32_t at = from + 4 * lane(), v = 0;
#pragma unroll
	for (uint32_t k = 0; k < 4; k++)
		v = v << 8 | (at + k < d.length ? d.in[at + k] : 0);
	return v;
}

// The next word of the chunk.
DEVICE uint32_t next_word(RangeDecoder &d)
{
	uint32_t v = broadcast(d.chunk, d.word);
	if (++d.word == warp_size) {
		d.word = 0;
		d.chunk = d.then;
		d.loaded += 4 * warp_size;
		d.then = load_chunk(d, d.loaded + 4 * warp_size);
	}
	return v;
}

DEVICE RangeDecoder begin_decoder(const uint8_t *in, uint32_t length)
{
	RangeDecoder d{in, length, 4, 0xffffffff, 0, 0, 4, 0, 0, 0, 0};
	d.chunk = load_chunk(d, 0);
	d.then = load_chunk(d, 4 * warp_size);
	d.code = next_word(d);
	d.next = (uint64_t)next_word(d) << 32;
	return d;
}

// The code from which on a decision is 1 that is 0 with a probability of zero/65536.
DEVICE uint32_t bound_of(const RangeDecoder &d, uint32_t zero) { return (uint32_t)((uint64_t)d.width * zero >> 16); }

// Takes the next bytes where the width is small.
DEVICE void refill(RangeDecoder &d)
{
	while (d.width < 1u << 24) {
		d.width <<= 8;
		d.code = d.code << 8 | (uint32_t)(d.next >> 56);
		d.next <<= 8;
		d.taken++;
		if (--d.there < 4) {
			d.next |= (uint64_t)next_word(d) << (32 - 8 * d.there);
			d.there += 4;
		}
	}
}

// Takes the part of the range above or below bound.
DEVICE void narrow(RangeDecoder &d, uint32_t bound, bool one)
{
	d.width = one ? d.width - bound : bound;
	d.code -= one ? bound : 0;
	refill(d);
}

// Decodes what is 0 with a probability of zero/65536.
DEVICE uint32_t decide(RangeDecoder &d, uint32_t zero)
{
	uint32_t bound = bound_of(d, zero);
	bool one = d.code >= bound;
	narrow(d, bound, one);
	return one ? 1 : 0;
}

// RankDecoder is what a lane has of the model.
struct RankDecoder {
	uint32_t *estimates;               // contexts x row
	uint32_t most, row;                // bit length of the greatest rank; places of a context
	uint32_t contexts[mixed];          // of the present rank
	int32_t weights[lane_places][mixed];
	uint32_t words[lane_places][mixed]; // the estimates
	int32_t odds[lane_places][mixed];
	uint32_t zero[lane_places];        // probabilities, in 1/65536
	uint32_t low[lane_lows];           // estimates of the bits that are not mixed
};

DEVICE void begin_ranks(RankDecoder &m, uint32_t *estimates, uint32_t n)
{
	m.estimates = estimates;
	m.most = bit_length(n - 1);
	m.row = places(m.most);
#pragma unroll
	for (uint32_t k = 0; k < lane_places; k++)
#pragma unroll
		for (uint32_t c = 0; c < mixed; c++)
			m.weights[k][c] = mix_start;
#pragma unroll
	for (uint32_t k = 0; k < lane_lows; k++)
		m.low[k] = 0;
}

// Makes the probabilities of all places of the present contexts.
DEVICE void mix(RankDecoder &m, const Tables &t)
{
#pragma unroll
	for (uint32_t k = 0; k < lane_places; k++) {
		uint32_t place = lane() + k * warp_size;
		if (place >= m.row)
			continue;
		int64_t sum = 0;
#pragma unroll
		for (uint32_t c = 0; c < mixed; c++)
			m.words[k][c] = m.estimates[m.contexts[c] * m.row + place];
#pragma unroll
		for (uint32_t c = 0; c < mixed; c++) {
			m.odds[k][c] = t.stretch[((m.words[k][c] & 0xffff) ^ fresh) >> 4];
			sum += (int64_t)m.weights[k][c] * m.odds[k][c];
		}
		sum >>= 16;
		int32_t x = sum < -2047 ? -2047 : sum > 2047 ? 2047 : (int32_t)sum;
		m.zero[k] = (uint32_t)limit(squash(t, x), prob_min, 65536 - prob_min);
	}
}

// Moves what this lane has of a place after decision v.
DEVICE void learn(RankDecoder &m, const Tables &t, uint32_t k, uint32_t v)
{
	uint32_t place = lane() + k * warp_size;
	int32_t miss = (v != 0 ? 0 : 65536) - (int32_t)m.zero[k];
#pragma unroll
	for (uint32_t c = 0; c < mixed; c++) {
		m.weights[k][c] += m.odds[k][c] * miss >> mix_shift;
		m.estimates[m.contexts[c] * m.row + place] = updated(t, m.words[k][c], v);
	}
}

// The probability of a place, for all lanes.
DEVICE uint32_t zero_of(const RankDecoder &m, uint32_t place)
{
	return broadcast(place < warp_size ? m.zero[0] : m.zero[1], place % warp_size);
}

// Decodes the next rank, and its bit length.
DEVICE uint32_t decode_rank(RankDecoder &m, RangeDecoder &d, const Tables &t, uint32_t &length)
{
	mix(m, t);
	length = 0;
	uint32_t next = zero_of(m, 0);
	while (length < m.most) {
		uint32_t zero = next;
		next = zero_of(m, length + 1); // on its way while this one decides
		if (decide(d, zero) == 0)
			break;
		length++;
	}
	uint32_t rank = length, first = no_place, second = no_place, one = 0, other = 0;
	if (length >= 2) {
		first = m.most + 3 * (length - 2);
		one = decide(d, zero_of(m, first));
		rank = 2 | one;
	}
	if (length > 2) {
		second = first + 1 + one;
		other = decide(d, zero_of(m, second));
		rank = rank << 1 | other;
	}
	for (uint32_t bit = length > 3 ? length - 3 : 0; bit > 0; bit--) {
		uint32_t at = (length - 4) * (length - 3) / 2 + bit - 1;
		uint32_t word = broadcast(at < warp_size ? m.low[0] : m.low[1], at % warp_size);
		uint32_t v = decide(d, (word & 0xffff) ^ fresh);
		if (lane() == at % warp_size) {
			uint32_t moved = updated(t, word, v);
			if (at < warp_size)
				m.low[0] = moved;
			else
				m.low[1] = moved;
		}
		rank = rank << 1 | v;
	}
	uint32_t unary = length < m.most ? length + 1 : m.most;
#pragma unroll
	for (uint32_t k = 0; k < lane_places; k++) {
		uint32_t place = lane() + k * warp_size;
		if (place < unary)
			learn(m, t, k, place < length ? 1 : 0);
		else if (place == first)
			learn(m, t, k, one);
		else if (place == second)
			learn(m, t, k, other);
	}
	return rank;
}

// SideKeys is the keys of a block. Lane i has those of codewords i, i + 32, ...: K of them in registers, with what they are made
// from, or where K is 0 in shared memory. K is not 0 where no codebook has more than 32 K codewords, of four rows and columns at
// most: then a key is less than none, and what takes the place of a codeword that is not there is not.
template <uint32_t K> struct SideKeys {
	static constexpr uint32_t none = 1u << 31;
	uint32_t upper[K], left[K]; // edges
	uint32_t base[K];           // of the key: what the codeword adds where it has both neighbours
	uint32_t kept[K];
	uint32_t n;
	uint32_t end;   // no key is greater
	uint32_t least; // key
	uint32_t usual; // in lane i the last key that was looked for whose place has i bits
};

template <> struct SideKeys<0> {
	uint32_t *keys; // n
	uint32_t n, end, least, usual;
};

static_assert(((4 + 4) * 255 * 255 << index_bits) >> 31 == 0, "keys");

DEVICE void begin_keys(SideKeys<0> &s, const Book &b, uint32_t *keys)
{
	s.keys = keys;
	s.n = b.n;
	s.end = ~0u;
	s.usual = 0;
}

template <uint32_t K> DEVICE void begin_keys(SideKeys<K> &s, const Book &b, uint32_t *)
{
	s.n = b.n;
	s.end = s.none;
	s.usual = 0;
#pragma unroll
	for (uint32_t k = 0; k < K; k++) {
		uint32_t j = lane() + k * warp_size;
		words4 e = j < s.n ? ((const words4 *)b.edges)[j] : words4{0, 0, 0, 0};
		s.upper[k] = e.x;
		s.left[k] = e.y;
		s.base[k] = j < s.n ? (e.z + e.w) << index_bits | j : s.none;
	}
}

// How many keys are less than t. All lanes hold the result.
template <uint32_t K> DEVICE uint32_t keys_below(const SideKeys<K> &s, uint32_t t)
{
	uint32_t count = 0;
	if constexpr (K == 0)
		for (uint32_t j = lane(); j < s.n; j += warp_size)
			count += s.keys[j] < t ? 1 : 0;
	else
#pragma unroll
		for (uint32_t k = 0; k < K; k++)
			count += s.kept[k] < t ? 1 : 0;
	return sum_of_all(count);
}

// The least key that is not less than from. There is one. All lanes hold the result.
template <uint32_t K> DEVICE uint32_t key_from(const SideKeys<K> &s, uint32_t from)
{
	uint32_t step = ~0u;
	if constexpr (K == 0)
		for (uint32_t j = lane(); j < s.n; j += warp_size)
			step = least(step, s.keys[j] - from);
	else
#pragma unroll
		for (uint32_t k = 0; k < K; k++)
			step = least(step, s.kept[k] - from);
	return from + least_of_all(step);
}

// The greatest key that is not greater than from. There is one. All lanes hold the result.
template <uint32_t K> DEVICE uint32_t key_up_to(const SideKeys<K> &s, uint32_t from)
{
	uint32_t step = ~0u;
	if constexpr (K == 0)
		for (uint32_t j = lane(); j < s.n; j += warp_size)
			step = least(step, from - s.keys[j]);
	else
#pragma unroll
		for (uint32_t k = 0; k < K; k++)
			step = least(step, from - s.kept[k]);
	return from - least_of_all(step);
}

// The r-th least key, counted from 0; 0 < r < n. All lanes hold the result. See picker.nth.
template <uint32_t K> DEVICE uint32_t nth(SideKeys<K> &s, uint32_t r)
{
	// There are below keys less than lo, at most r, and up_to less than hi, more than r.
	uint32_t lo = s.least + 1, hi = s.end, below = 1, up_to = s.n, length = bit_length(r);
	uint32_t t = broadcast(s.usual, length);
	for (bool half = false; least(r - below, up_to - 1 - r) >= keys_in_turn; half = !half) {
		if (t <= lo || t >= hi)
			t = lo + (hi - lo) / 2;
		uint32_t count = keys_below(s, t);
		if (count <= r) {
			lo = t;
			below = count;
		} else {
			hi = t;
			up_to = count;
		}
		if (hi == s.end)
			t = lo + lo / 2;
		else if (below == 1)
			t = hi - (hi - lo) / 4;
		else if (half) // so that an uneven distribution costs twice the halvings at most
			t = lo + (hi - lo) / 2;
		else
			t = lo + (uint32_t)((float)(hi - lo) * quotient((float)(r - below) + 0.5f, (float)(up_to - below)));
	}
	uint32_t key;
	if (r - below < keys_in_turn) {
		key = key_from(s, lo);
		for (; below < r; below++)
			key = key_from(s, key + 1);
	} else {
		key = key_up_to(s, hi - 1);
		for (; up_to - 1 > r; up_to--)
			key = key_up_to(s, key - 1);
	}
	if (lane() == length)
		s.usual = key;
	return key;
}

// Neighbours is what the side keys of a block follow from besides the codewords: the codewords above and to the left.
struct Neighbours {
	words4 above, beside;           // as vq_edges has them; 0 where there is none
	words2 more_above, more_beside; // likewise, of blocks of 8x8
	bool up, left;                  // which there are
	uint32_t norms;                 // of their edges
	uint32_t activity;              // of both
};

DEVICE Neighbours neighbours(const Book &b, uint32_t above, uint32_t beside)
{
	Neighbours s{{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0}, {0, 0}, above != no_codeword, beside != no_codeword, 0, 0};
	if (s.up) {
		s.above = ((const words4 *)b.neighbours)[above];
		if (b.more_edges != nullptr)
			s.more_above = ((const words2 *)b.more_neighbours)[above];
	}
	if (s.left) {
		s.beside = ((const words4 *)b.neighbours)[beside];
		if (b.more_edges != nullptr)
			s.more_beside = ((const words2 *)b.more_neighbours)[beside];
	}
	s.norms = (s.above.z & ((1u << span_at) - 1)) + s.beside.w;
	s.activity = (s.above.z >> span_at) + (s.beside.z >> span_at);
	return s;
}

// The side key of codeword j.
DEVICE uint32_t side_key(const Book &b, const Neighbours &s, uint32_t j)
{
	words4 e = ((const words4 *)b.edges)[j];
	uint32_t dot = dp4a(e.x, s.above.x, dp4a(e.y, s.beside.y, 0));
	if (b.more_edges != nullptr) {
		words2 m = ((const words2 *)b.more_edges)[j];
		dot = dp4a(m.x, s.more_above.x, dp4a(m.y, s.more_beside.y, dot));
	}
	return (s.norms + (s.up ? e.z : 0) + (s.left ? e.w : 0) - 2 * dot) << index_bits | j;
}

// Makes the keys of a block.
template <uint32_t K> DEVICE void make_keys(SideKeys<K> &s, const Book &b, const Neighbours &beside)
{
	uint32_t own = ~0u;
	if constexpr (K == 0)
		for (uint32_t j = lane(); j < s.n; j += warp_size) {
			s.keys[j] = side_key(b, beside, j);
			own = least(own, s.keys[j]);
		}
	else if (beside.up && beside.left)
#pragma unroll
		for (uint32_t k = 0; k < K; k++) {
			uint32_t dot = dp4a(s.upper[k], beside.above.x, dp4a(s.left[k], beside.beside.y, 0));
			s.kept[k] = s.base[k] + (beside.norms << index_bits) - (dot << (index_bits + 1));
			own = least(own, s.kept[k]);
		}
	else
#pragma unroll
		for (uint32_t k = 0; k < K; k++) {
			uint32_t j = lane() + k * warp_size;
			s.kept[k] = j < s.n ? side_key(b, beside, j) : s.none;
			own = least(own, s.kept[k]);
		}
	s.least = least_of_all(own);
}

// How much less there is of the codeword of least mismatch in a context, see bestShift.
DEVICE uint32_t best_shift(uint32_t n)
{
	uint32_t most = bit_length(n - 1);
	return most > 8 ? most - 8 : 0;
}

// What a context has of the bit lengths of the ranks around a block.
DEVICE uint32_t surroundings(uint32_t left, uint32_t up, uint32_t up_left, uint32_t up_right)
{
	return least((2 * left + 2 * up + up_left + up_right + 2) / 4, surrounds - 1);
}

// The contexts of a block, from bit lengths of its activity and its least mismatch, the codeword of that, and its surroundings. There
// are none for mismatches that blocks of the shape cannot have.
DEVICE void contexts_of(uint32_t *contexts, const Book &b, uint32_t active, uint32_t mismatch, uint32_t best, uint32_t around)
{
	uint32_t lengths = bit_length((b.p + b.q) * 255 * 255) + 1; // and 0
	contexts[0] = active * lengths + mismatch;
	contexts[1] = activities * lengths + mismatch * surrounds + around;
	contexts[2] = (activities + surrounds) * lengths + active * surrounds + around;
	contexts[3] = (activities + surrounds) * lengths + activities * surrounds + best;
}

// Decodes a segment, and reports whether its bytes are those of one.
template <uint32_t K> DEVICE bool decode_segment(const Stream &x, const Book &b, SideKeys<K> &s, RankDecoder &m, const Tables &t)
{
	uint32_t shift = best_shift(s.n);
	RangeDecoder d = begin_decoder(x.in, x.length);
	// Of a codeword that was decoded: its index, and from bit index_bits on the bit length of its rank.
	uint32_t up = no_codeword, up_right = no_codeword, left = no_codeword;
	uint32_t up_left_length = no_rank, column = 0;
	bool under = false; // there is a row above
	for (uint32_t i = 0; i < x.blocks; i++) {
		Neighbours beside = neighbours(b, up == no_codeword ? up : up & index_mask, left == no_codeword ? left : left & index_mask);
		make_keys(s, b, beside);
		uint32_t left_length = left == no_codeword ? no_rank : left >> index_bits;
		uint32_t up_length = up == no_codeword ? no_rank : up >> index_bits;
		uint32_t up_right_length = up_right == no_codeword ? no_rank : up_right >> index_bits;
		contexts_of(m.contexts, b, bit_length(beside.activity), bit_length(s.least >> index_bits), (s.least & index_mask) >> shift,
		            surroundings(left_length, up_length, up_left_length, up_right_length));

		uint32_t length, rank = decode_rank(m, d, t, length);
		if (rank >= s.n)
			return false;
		uint32_t index = (rank == 0 ? s.least : nth(s, rank)) & index_mask;
		left = index | length << index_bits;
		if (lane() == 0) {
			x.table[i] = (uint16_t)index;
			x.row[column] = left;
		}
		up_left_length = up_length;
		up = up_right;
		column++;
		if (column == x.cols) {
			column = 0;
			under = true;
			left = no_codeword;
			up_left_length = no_rank;
			sync_warp(); // all lanes see the row
			up = x.row[0];
		}
		up_right = under && column + 1 < x.cols ? x.row[column + 1] : no_codeword;
	}
	return d.taken == d.length;
}

// The index tables of count segments. s_memory is the tables, and where K is 0 the keys of as many codewords as a codebook has at
// most.
template <uint32_t K> DEVICE void decode_segments(const DecodeParams &e, uint32_t *s_memory)
{
	const Tables &s_tables = *(const Tables *)s_memory;
	uint32_t *keys = s_memory + sizeof(Tables) / sizeof(uint32_t), *estimates = e.estimates + (uint64_t)blockIdx.x * e.words;
	for (uint32_t i = lane(); i < sizeof(Tables) / sizeof(uint32_t); i += warp_size)
		s_memory[i] = ((const uint32_t *)e.tables)[i];
	for (uint32_t i = blockIdx.x; i < e.count; i += gridDim.x) {
		const Stream x = e.list[i];
		const Book b = *x.book;
		for (uint32_t k = lane(); k < e.words; k += warp_size)
			estimates[k] = 0;
		sync_warp(); // the memory is ready, and the tables are there
		RankDecoder m;
		begin_ranks(m, estimates, b.n);
		SideKeys<K> side;
		begin_keys(side, b, keys);
		bool whole = decode_segment(x, b, side, m, s_tables);
		if (!whole && lane() == 0)
			*x.damaged = 1;
		sync_warp(); // the memory may be used again
	}
}

KERNEL __launch_bounds__(warp_size) vq_decode(DecodeParams e)
{
	extern __shared__ __attribute__((aligned(16))) uint32_t s_memory[];
	decode_segments<0>(e, s_memory);
}

// vq_decode for codebooks of at most 256 codewords, of at most four rows and columns.
KERNEL __launch_bounds__(warp_size) vq_decode_256(DecodeParams e)
{
	extern __shared__ __attribute__((aligned(16))) uint32_t s_memory[];
	decode_segments<256 / warp_size>(e, s_memory);
}
