// Profile 1, decoding: the tiles' rANS streams (README, "Coding a coefficient", "rANS").
//
// A launch decodes a band of all tiles of a level, once pcwt_know and its kin have run for it; between the launches of HL, LH
// and HH a tile's states and place in its stream are in memory. lanes.cuh says how warps share tiles. A piece of a half row
// waits for the states that the piece before leaves and for the half row before, and a tile for nothing else. So all that
// does not depend on them is loaded before: terms and weights a piece ahead, textures two, words when half of them are used.
//
//	shared memory of a block: | starts | hints |, the tables of the set of its level
//	of each group behind it:  | words 8 G | rows: 3 of coefficients, 3 of magnitudes, each margin + side + margin |
//
// Row y of the band lies in row y mod 3. Words and rows are of one group only, so that all barriers but the one behind the
// tables are of warps.
#pragma once

#include "lanes.cuh"

constexpr uint32_t row_margin = 4;

struct SharedTables {
	uint16_t starts[table_count * starts_stride];
	uint8_t hints[table_count * hint_stride];
};
static_assert(sizeof(SharedTables) == shared_tables, "the host asks for that");

extern __shared__ uint32_t shared_memory[];

// All threads of the block call.
DEVICE void load_tables(SharedTables *to, const Set *set)
{
	const uint32_t *from = (const uint32_t *)set->tables;
	for (uint32_t i = threadIdx.x; i < sizeof(SharedTables) / 4; i += blockDim.x)
		((uint32_t *)to)[i] = from[i];
	sync_block(); // every thread reads what others have loaded
}

// The last three rows of a band in a tile.
struct TileRows {
	int16_t *s;
	uint32_t stride;

	__device__ int16_t *c(uint32_t i) const { return s + i * stride + row_margin; }
	__device__ int16_t *m(uint32_t i) const { return s + (3 + i) * stride + row_margin; }
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

	// Provides for a step, which takes three words for each state at most: fewer than 4 G. All threads of the warp call.
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

	// All threads of the warp call.
	__device__ void refill(const Lanes &k, bool own, uint32_t &state)
	{
		bool wanted = own && state < 1u << 16;
		uint32_t with = k.own(ballot(wanted));
		if (wanted)
			state = state << 16 | ring[(at + k.before(with)) & (8 * k.group() - 1)];
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

// Decodes the residuals of a piece. All threads of the warp call; inside says whether the thread has a coefficient, and count
// how many the group has. State i of a group is with its thread i, before and afterwards.
DEVICE int32_t decode_symbols(const Lanes &k, WordReader &r, const SharedTables *tables, uint32_t fraction, uint32_t q, bool inside, uint32_t count,
	uint32_t &state)
{
	uint32_t shift = 0, context = q, token = 0, raw = 0;
	if (context >= contexts) {
		shift = (context - 40) >> 2;
		context = 40 + (context & 3);
	}
	uint32_t table = fraction * contexts + context;
	const uint16_t *starts = tables->starts + table * starts_stride;
	const uint8_t *hints = tables->hints + table * hint_stride;
	uint32_t steps = k.steps();
	for (uint32_t step = 0; step < steps; step++) {
		bool own = inside;
		if (steps > 1) {
			uint32_t before = shuffle_up(state, 1u << k.log_lanes);
			state = step > 0 && k.step() == step ? before : state;
			own = inside && k.step() == step;
		}
		r.provide(k);
		uint32_t raw_bits = 0;
		if (own) {
			uint32_t slot = state & 16383;
			// Hints have many tokens between them where these are rare.
			const uint8_t *hint = hints + slot / (16384 / hint_slots);
			uint32_t last = hint[1];
			token = hint[0];
			while (token < last) {
				uint32_t middle = (token + last) / 2;
				bool above = slot >= starts[middle + 1];
				token = above ? middle + 1 : token;
				last = above ? last : middle;
			}
			uint32_t start = starts[token], end = starts[token + 1];
			state = (end - start) * (state >> 14) + slot - start;
			uint32_t n = (token + 1) / 2;
			raw_bits = token == escape ? 32 : (n < 16 ? 0 : (n - 16) / 2 + 3) + shift;
		}
		r.refill(k, own, state);
		if (!ballot(raw_bits > 0))
			continue;
		uint32_t low = raw_bits < 16 ? raw_bits : 16, high = raw_bits - low;
		if (own) {
			raw = low_bits(state, low);
			state >>= low;
		}
		r.refill(k, own, state);
		if (!ballot(high > 0))
			continue;
		if (own) {
			raw |= low_bits(state, high) << 16;
			state >>= high;
		}
		r.refill(k, own, state);
	}
	if (steps > 1) {
		// The states are where the last step with coefficients has left them.
		uint32_t last = count > 0 ? (count - 1) >> k.log_lanes : 0;
		state = from_lane(state, k.base + (last << k.log_lanes) + k.state());
	}
	if (token == escape)
		return (int32_t)raw;
	int32_t n = (int32_t)(token + 1) / 2;
	if (n >= 16) {
		uint32_t g = (uint32_t)(n - 16) / 2 + 4;
		n = (int32_t)(1u << g | (uint32_t)((n - 16) & 1) << (g - 1) | raw >> shift);
	}
	return (int32_t)((uint32_t)(token & 1 ? n : -n) << shift | low_bits(raw, shift));
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
			uint64_t at = own.row(y) + x;
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
DEVICE void decode_band(const Model &m, const Lanes &k, WordReader &r, const SharedTables *tables, TileState &t, const TileRows &rows)
{
	const ModelBand &f = band_of(m, b);
	Part<true> own(f, m.side, t.tx, t.ty);
	int32_t offset = m.offsets[b];
	Piece piece(m, f, k);
	Ahead ahead(piece);
	ahead.load_kind(own, k, t.valid);
	ahead.advance<b>(m, own, k, t.valid);
	for (uint32_t left = piece.count(); left-- > 0;) {
		uint32_t y = piece.y, x = piece.x(k);
		uint32_t i = y % 3, n = y > 0 ? (y - 1) % 3 : 0, nn = y > 1 ? (y - 2) % 3 : 0;
		SharedRow c[3] = {{rows.c(nn)}, {rows.c(n)}, {rows.c(i)}}, e[3] = {{rows.m(nn)}, {rows.m(n)}, {rows.m(i)}};
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
		uint32_t count = ones(k.own(ballot(coded)));
		int32_t residual = decode_symbols(k, r, tables, p.fraction(), q, coded, count, t.state);
		if (inside) {
			if (t.mode == mode_coded) {
				residual = p.f < 0 ? -residual : residual;
			} else {
				uint32_t half = piece.parity ? (own.width + 1) / 2 : 0;
				residual = t.mode == mode_raw ? raw_index(r, t.number + y * own.width + half + piece.first + k.thread, r.word(0)) - p.r : 0;
			}
			int32_t value = value_of(residual + p.r, m.qmin);
			uint64_t at = own.row(y) + x;
			f.c[at] = value;
			f.e[at] = sat16(residual);
			if (is_wide(value) || limited(residual, most_magnitude + 1) > most_magnitude)
				*m.wide = 1; // any thread, the same value
			rows.c(i)[x] = sat16(value);
			rows.m(i)[x] = (int16_t)magnitude_of(sat16(residual));
		}
		piece.advance();
		if (piece.first > 0)
			continue;
		sync_warp(); // the next half row, and the columns outside, look at this one
		if (t.valid && k.thread < 4 && y < own.height && own.width > 0) {
			int32_t outside = k.thread < 2 ? (int32_t)k.thread - 2 : (int32_t)(own.width + k.thread - 2);
			uint32_t from = own.column(outside);
			rows.c(i)[outside] = rows.c(i)[from];
			rows.m(i)[outside] = rows.m(i)[from];
		}
		sync_warp();
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
	TileRows rows = {(int16_t *)own + 8 * k.group(), stride};
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
		decode_band<b>(m, k, r, tables, t, rows);
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
KERNEL __launch_bounds__(decoder_threads) pcwt_decode_hl(const Model *__restrict__ list, const uint8_t *__restrict__ bytes)
{
	const Model m = list[blockIdx.y]; // in registers: a load of a field would stand in the chain of every piece
	decode_tiles<0>(m, bytes);
}

KERNEL __launch_bounds__(decoder_threads) pcwt_decode_lh(const Model *__restrict__ list, const uint8_t *__restrict__ bytes)
{
	const Model m = list[blockIdx.y];
	decode_tiles<1>(m, bytes);
}

KERNEL __launch_bounds__(decoder_threads) pcwt_decode_hh(const Model *__restrict__ list, const uint8_t *__restrict__ bytes)
{
	const Model m = list[blockIdx.y];
	decode_tiles<2>(m, bytes);
}
