// Profile 1, decoding: the tiles' rANS streams (README, "Coding a coefficient", "rANS").
//
// A launch decodes a band of all tiles of a level, once pcwt_know and its kin have run for it; between the launches of HL, LH
// and HH a tile's states and place in its stream are in memory. lanes.cuh says how warps share tiles. A piece of a half row
// waits for the states that the piece before leaves and for the half row before, and a tile for nothing else. So all that
// does not depend on them is loaded before: terms and weights a piece ahead, textures two, words when half of them are used.
//
//	shared memory of a block: | buckets | tokens |, the tables of the set of its level
//	of each group behind it:  | words 8 G | rows: 3 of coefficients, 3 of magnitudes, each margin + side + margin |
//
// The rows of the band take turns in those three. Words and rows are of one group only, so that all barriers but the one behind the
// tables are of warps.
#pragma once

#include "lanes.cuh"

constexpr uint32_t row_margin = 4;

// What a table has from a slot on: where the token there begins, and the three behind it.
struct alignas(8) Bucket {
	uint16_t starts[4];
};

struct SharedTables {
	Bucket buckets[bucket_count];
	uint8_t tokens[bucket_count]; // of the slots
};
static_assert(sizeof(SharedTables) == shared_tables, "the host asks for that");

extern __shared__ FourWords shared_memory[];

// All threads of the block call.
DEVICE void load_tables(SharedTables *to, const Set *set)
{
	constexpr uint32_t n = sizeof(SharedTables) / sizeof(FourWords), at_once = 4; // loads that are under way
	using Words = uint32_t __attribute__((vector_size(sizeof(FourWords))));
	const Words *from = (const Words *)set->tables;
	for (uint32_t first = threadIdx.x; first < n; first += at_once * blockDim.x) {
		Words v[at_once] = {};
#pragma unroll
		for (uint32_t j = 0; j < at_once; j++)
			if (first + j * blockDim.x < n)
				v[j] = from[first + j * blockDim.x];
#pragma unroll
		for (uint32_t j = 0; j < at_once; j++)
			if (first + j * blockDim.x < n)
				((Words *)to)[first + j * blockDim.x] = v[j];
	}
	sync_block(); // every thread reads what others have loaded
}

// The last three rows of a band in a tile, of coefficients; those of magnitudes lie behind all three.
struct TileRows {
	int16_t *own, *n, *nn; // column 0
	uint32_t behind;

	__device__ TileRows(int16_t *first, uint32_t side)
	{
		uint32_t stride = side + 2 * row_margin;
		own = first + row_margin, n = own + stride, nn = n + stride;
		behind = 3 * stride;
	}

	__device__ int16_t *magnitudes(int16_t *row) const { return row + behind; }

	__device__ void advance()
	{
		int16_t *row = nn;
		nn = n, n = own, own = row;
	}

	// Stores a coefficient of a row of width, and the two columns on either side that are like it.
	__device__ void store(int32_t x, uint32_t width, int16_t c, int16_t m)
	{
		put(x, c, m);
		if ((uint32_t)(x - 1) < 2)
			put(-x, c, m);
		uint32_t from_end = width - 1 - (uint32_t)x;
		if (from_end - 1 < 2)
			put((int32_t)(width - 1 + from_end), c, m);
	}

	__device__ void put(int32_t x, int16_t c, int16_t m)
	{
		own[x] = c;
		magnitudes(own)[x] = m;
	}
};

struct SharedRow {
	static constexpr bool is_small = false;
	const int16_t *s;

	__device__ int32_t operator()(int32_t x) const { return s[x]; }
};

// Four words.
struct TwoPairs {
	uint32_t low, high;
};

// Reads the words of a tile. A group holds up to 8 G of them in shared memory, and each of its threads four of the next 4 G.
// What stands behind the end is undefined: a stream that reads it ends behind its end.
struct WordReader {
	const uint8_t *bytes;
	uint32_t count;
	uint16_t *ring; // word i is at i mod 8 G
	uint32_t at, filled;
	TwoPairs next;

	__device__ uint32_t word(uint32_t i) const { return i < count ? bytes[2 * (uint64_t)i] | (uint32_t)bytes[2 * (uint64_t)i + 1] << 8 : 0; }

	// Loads the thread's part of the 4 G words from filled on. Bytes of files lie at any address, and 16 more than they have may
	// be read.
	__device__ void load(const Lanes &k)
	{
		uint32_t i = filled + 4 * k.thread;
		if (i >= count)
			return;
		uint64_t address = (uint64_t)(bytes + 2 * (uint64_t)i);
		const uint32_t *p = (const uint32_t *)(address & ~3ull);
		uint32_t shift = 8 * (uint32_t)(address & 3), middle = p[1];
		next.low = funnel_right(p[0], middle, shift);
		next.high = funnel_right(middle, p[2], shift);
	}

	__device__ WordReader(const Lanes &k, const uint8_t *bytes, uint32_t count, uint16_t *ring, uint32_t at)
		: bytes(bytes), count(count), ring(ring), at(at), filled(at & ~3u), next({0, 0})
	{
		load(k);
	}

	// Provides for a piece, which takes three words for each coefficient at most: fewer than 4 G. All threads of the warp call.
	__device__ void provide(const Lanes &k)
	{
		bool few = (int32_t)(filled - at) < (int32_t)(4 * k.group()); // at first filled may be below at
		if (ballot(few) == 0)
			return;
		if (few) {
			*(TwoPairs *)(ring + ((filled + 4 * k.thread) & (8 * k.group() - 1))) = next;
			filled += 4 * k.group();
			load(k);
		}
		sync_warp(); // the group's threads read each other's words
	}

	// Gives states that are wanted a word more, those of a group in their order. All threads of the warp call, and those of a
	// group that have the same state want the same.
	__device__ void refill(const Lanes &k, bool wanted, uint32_t &state)
	{
		uint32_t with = ballot(wanted) >> k.base & k.first_states();
		uint32_t word = ring[(at + ones(with & k.states_before())) & (8 * k.group() - 1)];
		state = wanted ? state << 16 | word : state;
		at += ones(with);
	}
};

// How a tile is coded.
constexpr uint32_t mode_zero = 0;
constexpr uint32_t mode_coded = 1;
constexpr uint32_t mode_raw = 2;

// Number i of a raw body's indices of bits each. The words begin behind the one with bits.
DEVICE int32_t raw_index(const WordReader &r, uint32_t i, uint32_t bits)
{
	uint64_t at = (uint64_t)i * bits;
	uint32_t first = 1 + (uint32_t)(at / 16), skip = (uint32_t)(at % 16);
	uint64_t three = (uint64_t)r.word(first) << 32 | (uint64_t)r.word(first + 1) << 16 | r.word(first + 2);
	uint32_t v = (uint32_t)(three << 16 << skip >> 32); // its bits are the highest
	return (int32_t)v >> (32 - bits);
}

// A token and the range of slots that it has.
struct Range {
	uint32_t token, start, end;

	// Of a slot, with its bucket. Slots of other tokens than the bucket's three, some 2 %, are searched for if they are wanted.
	__device__ Range(const SharedTables *tables, uint32_t bucket, uint32_t slot, bool wanted, const uint32_t *ranges, uint32_t table)
	{
		TwoWords e = *(const TwoWords *)&tables->buckets[bucket];
		uint32_t zero = e.low & 0xffff, one = e.low >> 16, two = e.high & 0xffff, three = e.high >> 16;
		bool after = slot >= one, last = slot >= two;
		token = tables->tokens[bucket] + after + last;
		start = last ? two : after ? one : zero;
		end = last ? three : after ? two : one;
		if (wanted && slot >= three)
			search(ranges + table * tokens, slot);
	}

	// Searches behind the token.
	__device__ void search(const uint32_t *ranges, uint32_t slot)
	{
		uint32_t last = tokens - 1;
		token++;
		while (token < last) {
			uint32_t middle = (token + last + 1) / 2;
			bool above = slot >= (ranges[middle] & 0xffff);
			token = above ? middle : token;
			last = above ? last : middle - 1;
		}
		start = ranges[token] & 0xffff;
		end = start + (ranges[token] >> 16);
	}
};

// A residual, of its token and raw bits, whose least shift bits lie below those of the token.
DEVICE int32_t residual_of(uint32_t token, uint32_t raw, uint32_t shift)
{
	if (token == escape)
		return (int32_t)raw;
	uint32_t n = (token + 1) / 2;
	if (n >= 16) {
		uint32_t g = (n - 16) / 2 + 4;
		n = 1u << g | (n & 1) << (g - 1) | raw >> shift;
	}
	return (int32_t)((token & 1 ? n : 0 - n) << shift | (raw & ((1u << shift) - 1)));
}

// Decodes the residuals of a piece. All threads of the warp call; inside says whether the thread has a coefficient. Every thread
// of a group has the state of its number mod K before and afterwards, and goes on with it for all coefficients that take this
// state: so no state waits for another thread.
DEVICE int32_t decode_symbols(const Lanes &k, WordReader &r, const SharedTables *tables, const Set *set, uint32_t log_slots, uint32_t fraction,
	uint32_t q, bool inside, uint32_t &state)
{
	uint32_t shift = q >= contexts ? (q - 40) >> 2 : 0, table = fraction * contexts + (q >= contexts ? 40 + (q & 3) : q);
	uint32_t log_buckets = 14 - log_slots;
	uint32_t own = table << log_buckets | shift << 16 | (uint32_t)inside << 31, own_token = 0, own_raw = 0; // with the table's first bucket
	r.provide(k);
	uint32_t steps = k.steps(), next_own = steps > 1 ? from_lane(own, k.base + k.state()) : own;
	for (uint32_t step = 0; step < steps; step++) {
		uint32_t of = next_own;
		if (step + 1 < steps)
			next_own = from_lane(own, k.base + ((step + 1) << k.log_lanes) + k.state()); // before the chain needs it
		bool coded = of >> 31;
		uint32_t slot = state & 16383, first = of & 0xffff;
		Range range(tables, first + (slot >> log_slots), slot, coded, set->ranges, first >> log_buckets);
		uint32_t next = (range.end - range.start) * (state >> 14) + slot - range.start;
		state = coded ? next : state;
		uint32_t token = range.token, raw = 0;
		bool with_raw = coded && (token >= 31 || (of & 0xf0000) != 0);
		r.refill(k, coded && state < 1u << 16, state);
		if (ballot(with_raw)) {
			uint32_t raw_bits = (token >= 31 ? ((token + 1) >> 2) - 5 : 0) + (of >> 16 & 15);
			raw_bits = !coded ? 0 : token == escape ? 32 : raw_bits;
			uint32_t low = raw_bits < 16 ? raw_bits : 16, high = raw_bits - low;
			raw = state & ((1u << low) - 1);
			state >>= low;
			r.refill(k, coded && state < 1u << 16, state);
			if (ballot(high > 0)) {
				raw |= (state & ((1u << high) - 1)) << 16;
				state >>= high;
				r.refill(k, coded && state < 1u << 16, state);
			}
		}
		bool mine = k.step() == step;
		own_token = mine ? token : own_token;
		own_raw = mine ? raw : own_raw;
	}
	return residual_of(own_token, own_raw, shift);
}

// What is loaded for coefficients before those in front of them are decoded: of the next piece its known sums and its weights of
// the terms of the band itself, of the next but one the kind, on which these depend.
struct Ahead {
	Piece piece; // whose kind is loaded
	uint32_t kind;
	int32_t scale, any, sum;
	FourWords scale_weights;
	int32_t weights[2], far_weight;

	__device__ Ahead(const Piece &first) : piece(first), kind(0) {}

	__device__ void load_kind(const Part<true> &own, const Lanes &k, bool valid)
	{
		if (valid && piece.inside(own, k))
			kind = own.f.kinds[own.row(piece.y) + piece.x(k)];
	}

	template <int b> __device__ void advance(const Model &m, const Part<true> &own, const Lanes &k, bool valid)
	{
		if (valid && piece.inside(own, k)) {
			uint32_t x = piece.x(k), y = piece.y, texture = kind & 127;
			uint32_t at = own.row(y) + x;
			scale = own.f.scales[at];
			any = (int32_t)(kind >> 7);
			scale_weights = *(const FourWords *)(m.set->scale + 16 * scale_key(m, b, x, y, texture / (textures / directions)));
			if (!m.fast) {
				sum = own.f.residuals[at];
				const int32_t *w = (const int32_t *)predict_weights(m, b, x, y, texture);
				weights[0] = w[0], weights[1] = w[1];
				if (b == 0)
					far_weight = w[6];
			}
		}
		piece.advance();
		load_kind(own, k, valid);
	}
};

// A tile of a group, and how far it is decoded.
struct TileState {
	uint32_t tx, ty;
	uint32_t mode, number; // number of raw indices before
	bool valid;
	uint32_t state;
};

template <int b>
DEVICE void decode_band(const Model &m, const Lanes &k, WordReader &r, const SharedTables *tables, TileState &t, int16_t *first)
{
	const ModelBand &f = band_of(m, b);
	Part<true> own(f, m.side, t.tx, t.ty);
	int32_t offset = m.offsets[b];
	uint32_t log_slots = m.fast ? fast_slots : log_bucket_slots;
	// A part of less than four columns has others outside than those that know where they are needed.
	bool narrow = ballot(t.valid && own.width < 4) != 0;
	TileRows rows(first, m.side);
	Piece piece(m, f, k);
	Ahead ahead(piece);
	ahead.load_kind(own, k, t.valid);
	ahead.advance<b>(m, own, k, t.valid);
	for (uint32_t left = piece.count(); left-- > 0;) {
		uint32_t y = piece.y, x = piece.x(k);
		int16_t *nn = y > 1 ? rows.nn : rows.n;
		SharedRow c[3] = {{nn}, {rows.n}, {rows.own}}, e[3] = {{rows.magnitudes(nn)}, {rows.magnitudes(rows.n)}, {rows.magnitudes(rows.own)}};
		bool inside = t.valid && piece.inside(own, k), coded = inside && t.mode == mode_coded;
		Prediction p(0, 0);
		uint32_t q = 0;
		if (inside) {
			Features s = {ahead.scale, ahead.any};
			Weights w = {ahead.scale_weights};
			own_features<b>(s, e[0], e[1], e[2], w, m.fast, m.variant > 0, (int32_t)x, y);
			q = context(scale_step(s), offset);
			if (!m.fast) {
				Weights w = {ahead.weights[0], ahead.weights[1], ahead.far_weight};
				p = Prediction(ahead.sum + own_taps<b>(c[0], c[1], c[2], w, (int32_t)x, y), m.qmin);
			}
		}
		ahead.advance<b>(m, own, k, t.valid);
		int32_t residual = decode_symbols(k, r, tables, m.set, log_slots, p.fraction(), q, coded, t.state);
		if (inside) {
			if (t.mode == mode_coded) {
				residual = p.f < 0 ? -residual : residual;
			} else {
				uint32_t half = piece.parity ? (own.width + 1) / 2 : 0;
				residual = t.mode == mode_raw ? raw_index(r, t.number + y * own.width + half + piece.first + k.thread, r.word(0)) - p.r : 0;
			}
			int32_t value = value_of(residual + p.r, m.qmin);
			uint32_t at = own.row(y) + x;
			f.c[at] = value;
			f.e[at] = sat16(residual);
			if (is_wide(value) || limited(residual, most_magnitude + 1) > most_magnitude)
				*m.wide = 1; // any thread, the same value
			rows.store((int32_t)x, own.width, sat16(value), (int16_t)magnitude_of(sat16(residual)));
		}
		piece.advance();
		if (piece.first > 0)
			continue;
		sync_warp(); // the next half row, and the columns outside, look at this one
		if (narrow) {
			if (t.valid && k.thread < 4 && own.width > 0) {
				int32_t outside = k.thread < 2 ? (int32_t)k.thread - 2 : (int32_t)(own.width + k.thread - 2);
				uint32_t from = own.column(outside);
				rows.own[outside] = rows.own[from];
				rows.magnitudes(rows.own)[outside] = rows.magnitudes(rows.own)[from];
			}
			sync_warp();
		}
		if (piece.parity == 0)
			rows.advance();
	}
}

// Decodes band b of the tiles of a level. A tile's record has its states and its place in the stream.
template <int b> DEVICE void decode_tiles(const Model &m, const uint8_t *bytes)
{
	Lanes k(m);
	if ((blockIdx.x * blockDim.x) >> k.log_group >= m.tiles)
		return;
	SharedTables *tables = (SharedTables *)shared_memory;
	load_tables(tables, m.set);
	uint32_t tile = k.tile();
	if (ballot(tile < m.tiles) == 0)
		return;
	TileState t;
	t.valid = tile < m.tiles;
	tile = t.valid ? tile : 0; // takes part with no coefficient
	t.tx = tile % m.across, t.ty = tile / m.across;
	uint32_t stride = m.side + 2 * row_margin;
	uint16_t *own = (uint16_t *)(tables + 1) + (threadIdx.x >> k.log_group) * (8 * k.group() + 6 * stride);
	uint32_t length = m.lengths[tile], states = 1u << k.log_lanes;
	uint32_t *record = m.states + (uint64_t)tile * record_words;
	t.mode = length == 0 || !t.valid ? mode_zero : length % 2 ? mode_raw : mode_coded;
	uint32_t at = b == 0 ? 2 * states : record[most_lanes];
	WordReader r(k, bytes + m.places[tile], t.mode == mode_coded || t.mode == mode_raw ? length / 2 : 0, own, at);
	if (b == 0)
		t.state = t.mode == mode_coded ? r.word(2 * k.state()) | r.word(2 * k.state() + 1) << 16 : 0;
	else
		t.state = record[k.state()];
	Part<true> hl(m.hl, m.side, t.tx, t.ty), lh(m.lh, m.side, t.tx, t.ty);
	t.number = b == 0 ? 0 : hl.width * hl.height + (b == 1 ? 0 : lh.width * lh.height);
	const ModelBand &f = band_of(m, b);
	if (f.width > 0 && f.height > 0)
		decode_band<b>(m, k, r, tables, t, (int16_t *)own + 8 * k.group());
	if (b < 2) {
		if (t.valid && k.thread < states)
			record[k.thread] = t.state;
		if (t.valid && k.thread == 0)
			record[most_lanes] = r.at;
	} else if (t.mode == mode_coded && ((k.thread < states && t.state != 1u << 16) || r.at != r.count)) {
		*m.error = error_tile; // any thread, the same value
	}
}

// HL of all tiles of a level. A group of threads per tile; blockIdx.y is the level of a plane.
KERNEL __launch_bounds__(decoder_threads, 3) pcwt_decode_hl(const Model *__restrict__ list, const uint8_t *__restrict__ bytes)
{
	const Model m = list[blockIdx.y]; // in registers: a load of a field would stand in the chain of every piece
	decode_tiles<0>(m, bytes);
}

KERNEL __launch_bounds__(decoder_threads, 3) pcwt_decode_lh(const Model *__restrict__ list, const uint8_t *__restrict__ bytes)
{
	const Model m = list[blockIdx.y];
	decode_tiles<1>(m, bytes);
}

KERNEL __launch_bounds__(decoder_threads, 3) pcwt_decode_hh(const Model *__restrict__ list, const uint8_t *__restrict__ bytes)
{
	const Model m = list[blockIdx.y];
	decode_tiles<2>(m, bytes);
}
