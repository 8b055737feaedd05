// Profile 1, decoding: the tiles' rANS streams (README, "Coding a coefficient", "rANS").
//
// A launch decodes a band of all tiles of a level, once pcwt_know and its kin have run for it; between the launches of HL, LH
// and HH a tile's states and place in its stream are in memory. lanes.cuh says how warps share tiles. A piece of a half row
// waits for the states that the piece before leaves and for the half row before, and a tile for nothing else. A launch with few
// tiles takes as long as the instructions and loads of one, one after the other, so that there are few of both: what does not
// depend on the coefficients in front is loaded a piece ahead, weights and tables come from shared memory, and the kinds of
// files and the columns of half rows have code of their own.
//
//	shared memory of a block: | weights | tables |, of the set of its level (tables.cuh)
//	of each group behind it:  | words 8 G | 3 rows, each margin + side + margin |
//
// A row has words of a coefficient and of the magnitude of its residual, the latter in the higher half. The rows of the band take
// turns in the three. Words and rows are of one group only, so that all barriers but the one behind the tables are of warps.
#pragma once

#include "tables.cuh"

constexpr uint32_t row_margin = 4;

extern __shared__ FourWords shared_memory[];

// Global memory, so that loads and stores need not find out where they go, and loads of shared memory do not wait for stores.
template <class T> struct GlobalType {
	typedef __attribute__((address_space(1))) T type;
};
template <class T> using Global = typename GlobalType<T>::type;
template <class T> DEVICE Global<T> *global(T *p) { return (Global<T> *)p; }

// The last three rows of a band in a tile.
struct TileRows {
	uint32_t *own, *n, *nn; // column 0
	uint32_t width;

	// All threads of the group call. What is above row 0 is 0.
	__device__ TileRows(const Lanes &k, uint32_t *first, uint32_t side, uint32_t width) : width(width)
	{
		uint32_t stride = side + 2 * row_margin;
		own = first + row_margin, n = own + stride, nn = n + stride;
		for (uint32_t i = k.thread; i < 3 * stride; i += k.group())
			first[i] = 0;
		sync_warp(); // the group's threads read each other's zeros
	}

	__device__ void advance()
	{
		uint32_t *row = nn;
		nn = n, n = own, own = row;
	}

	// Stores a coefficient, and the two columns on either side that are like it.
	__device__ void store(uint32_t x, int32_t c, int32_t m)
	{
		uint32_t v = ((uint32_t)c & 0xffff) | (uint32_t)m << 16, from_end = width - 1 - x;
		own[x] = v;
		if (x - 1 < 2)
			own[-(int32_t)x] = v;
		if (from_end - 1 < 2)
			own[width - 1 + from_end] = v;
	}
};

DEVICE int32_t coefficient_of(uint32_t v) { return (int16_t)v; }
DEVICE int32_t magnitude_in(uint32_t v) { return (int32_t)(v >> 16); }

// Four words and what lies with them in memory.
struct NextWords {
	uint32_t first, second, third;
};

struct alignas(8) TwoPairs {
	uint32_t low, high;
};

// Reads the words of a tile. A group holds up to 8 G of them in shared memory, and each of its threads four of the next 4 G.
// What stands behind the end is undefined: a stream that reads it ends behind its end.
struct WordReader {
	const uint8_t *bytes;
	uint32_t count;
	uint16_t *ring; // word i is at i mod 8 G
	uint32_t at, filled;
	uint32_t shift; // of the stream in words of 32 bits: bytes of files lie at any address
	uint32_t before, firsts; // bits of a vote: of the states before the thread's, of all states
	NextWords next;

	__device__ uint32_t word(uint32_t i) const { return i < count ? bytes[2 * (uint64_t)i] | (uint32_t)bytes[2 * (uint64_t)i + 1] << 8 : 0; }

	// Loads the thread's part of the 4 G words from filled on. 16 bytes more than the files have may be read.
	__device__ void load(const Lanes &k)
	{
		uint32_t i = filled + 4 * k.thread;
		if (i >= count)
			return;
		const Global<const uint32_t> *p = global((const uint32_t *)((uint64_t)(bytes + 2 * (uint64_t)i) & ~3ull));
		next = {p[0], p[1], p[2]};
	}

	__device__ WordReader(const Lanes &k, const uint8_t *bytes, uint32_t count, uint16_t *ring, uint32_t at)
		: bytes(bytes), count(count), ring(ring), at(at), filled(at & ~3u), shift(8 * (uint32_t)((uint64_t)bytes & 3)),
		  before(k.states_before() << k.base), firsts(k.first_states() << k.base), next({0, 0, 0})
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
			*(TwoPairs *)(ring + ((filled + 4 * k.thread) & (8 * k.group() - 1))) = {
				funnel_right(next.first, next.second, shift), funnel_right(next.second, next.third, shift)};
			filled += 4 * k.group();
			load(k);
		}
		sync_warp(); // the group's threads read each other's words
	}

	// The word that a thread takes if votes of the warp say who takes one, those of a group in their order.
	__device__ uint32_t word_of(const Lanes &k, uint32_t votes, uint32_t behind) const
	{
		return ring[(at + behind + ones(votes & before)) & (8 * k.group() - 1)];
	}

	// Gives states that are wanted a word more. All threads of the warp call, and those of a group that have the same state want
	// the same.
	__device__ void refill(const Lanes &k, bool wanted, uint32_t &state)
	{
		uint32_t votes = ballot(wanted), word = word_of(k, votes, 0);
		state = wanted ? state << 16 | word : state;
		at += ones(votes & firsts);
	}

	// The same for the word behind a token and, where bits of the state, at most 16, are taken then, for the word behind these.
	// Whether that is wanted does not depend on the first word, so that both are loaded at the same time. Returns the bits.
	__device__ uint32_t refill_around(const Lanes &k, bool coded, uint32_t bits, uint32_t &state)
	{
		bool wanted = coded && state < 1u << 16;
		bool again = coded && bits > 0 && (wanted ? state : state >> 16) >> bits == 0;
		uint32_t votes = ballot(wanted), votes_again = ballot(again), taken = ones(votes & firsts);
		uint32_t word = word_of(k, votes, 0), word_again = word_of(k, votes_again, taken);
		state = wanted ? state << 16 | word : state;
		uint32_t v = state & ((1u << bits) - 1);
		state >>= bits;
		state = again ? state << 16 | word_again : state;
		at += taken + ones(votes_again & firsts);
		return v;
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

// A residual, of its token and raw bits, whose least shift bits lie below those of the token.
DEVICE int32_t residual_of(uint32_t token, uint32_t raw, uint32_t shift)
{
	uint32_t n = (token + 1) / 2, g = (n - 16) / 2 + 4;
	n = n < 16 ? n : 1u << (g & 31) | (n & 1) << ((g - 1) & 31) | raw >> shift;
	n = token & 1 ? n : 0 - n;
	return (int32_t)(token == escape ? raw : n << shift | (raw & ((1u << shift) - 1)));
}

// What is coded at a coefficient: its table, how many of its bits are raw, and whether there is anything.
struct Coded {
	uint32_t v;

	__device__ Coded(uint32_t table, uint32_t shift, bool coded) : v(table | shift << 16 | (uint32_t)coded << 31) {}
	__device__ Coded(uint32_t v) : v(v) {}
	__device__ uint32_t table() const { return v & 0xffff; }
	__device__ uint32_t shift() const { return v >> 16 & 15; }
	__device__ bool coded() const { return v >> 31; }
};

struct Decoded {
	uint32_t token, raw;
};

// Decodes the symbol that every state of a group is at. All threads of the warp call.
template <bool fast> DEVICE Decoded decode_symbol(const Lanes &k, WordReader &r, const SharedTables<fast> &tables, const Coded &of, uint32_t &state)
{
	bool coded = of.coded();
	uint32_t slot = state & 16383;
	Range range = tables.range(of.table(), slot, coded);
	uint32_t next = (range.end - range.start) * (state >> 14) + slot - range.start;
	state = coded ? next : state;
	Decoded d = {range.token, 0};
	uint32_t bits = (d.token >= 31 ? ((d.token + 1) >> 2) - 5 : 0) + of.shift();
	bits = !coded ? 0 : d.token == escape ? 32 : bits;
	uint32_t low = bits < 16 ? bits : 16, high = bits - low;
	d.raw = r.refill_around(k, coded, low, state);
	if (ballot(high > 0)) {
		d.raw |= (state & ((1u << high) - 1)) << 16;
		state >>= high;
		r.refill(k, coded && state < 1u << 16, state);
	}
	return d;
}

// Decodes the residuals of a piece. All threads of the warp call; inside says whether the thread has a coefficient. Every thread
// of a group has the state of its number mod K before and afterwards, and goes on with it for all coefficients that take this
// state: so no state waits for another thread.
template <bool fast>
DEVICE int32_t decode_symbols(const Lanes &k, WordReader &r, const SharedTables<fast> &tables, uint32_t fraction, uint32_t q, bool inside, uint32_t &state)
{
	uint32_t shift = q >= contexts ? (q - 40) >> 2 : 0, table = q >= contexts ? 40 + (q & 3) : q;
	Coded own((fast ? 0 : fraction * contexts) + table, shift, inside);
	r.provide(k);
	uint32_t steps = k.steps();
	if (steps == 1) {
		Decoded d = decode_symbol<fast>(k, r, tables, own, state);
		return residual_of(d.token, d.raw, shift);
	}
	Decoded mine = {0, 0};
	uint32_t from = k.base + k.state(), next = from_lane(own.v, from);
	for (uint32_t step = 0; step < steps; step++) {
		Coded of(next);
		from += 1u << k.log_lanes;
		next = from_lane(own.v, from & (warp_size - 1)); // before the chain needs it
		Decoded d = decode_symbol<fast>(k, r, tables, of, state);
		bool is_mine = k.step() == step;
		mine.token = is_mine ? d.token : mine.token;
		mine.raw = is_mine ? d.raw : mine.raw;
	}
	return residual_of(mine.token, mine.raw, shift);
}

// What is known of a coefficient before those in front of it are decoded (know.cuh).
struct KnownTerms {
	int32_t scale, sum;
	uint32_t kind;
};

// A tile of a group, and how far it is decoded.
struct TileState {
	uint32_t tx, ty;
	uint32_t mode, number; // number of raw indices before
	bool valid;
	uint32_t state;
};

// Of functions that share the registers of the loop around them.
#define INLINE __device__ __attribute__((always_inline))

// A band of a tile while it is decoded. b is the band, fast the kind of the file.
template <int b, bool fast> struct BandDecoder {
	const Model &m;
	const Lanes &k;
	WordReader &r;
	const SharedTables<fast> &tables;
	TileState &t;
	const Part<true> own;
	const ModelBand &f;
	uint32_t width, height; // of the largest part of the band in a tile
	uint32_t own_height;	// 0: the thread has no tile
	int32_t offset;
	TileRows rows;
	KnownTerms next; // of the piece that comes next
	bool wide;

	INLINE BandDecoder(const Model &m, const Lanes &k, WordReader &r, const SharedTables<fast> &tables, TileState &t, uint32_t *first)
		: m(m), k(k), r(r), tables(tables), t(t), own(band_of(m, b), m.side, t.tx, t.ty), f(band_of(m, b)), width(least(f.width, m.side)),
		  height(least(f.height, m.side)), own_height(t.valid ? own.height : 0), offset(m.offsets[b]), rows(k, first, m.side, own.width), next({0, 0, 0}), wide(false) {}

	INLINE bool inside(uint32_t x, uint32_t y) const { return y < own_height && x < own.width; }

	INLINE void load(uint32_t x, uint32_t y)
	{
		if (!inside(x, y))
			return;
		uint32_t at = own.row(y) + x;
		next.kind = global(f.kinds)[at];
		next.scale = global(f.scales)[at];
		if (!fast)
			next.sum = global(f.residuals)[at];
	}

	INLINE void decode()
	{
		// A part of less than four columns has others outside than those that know where they are needed.
		bool narrow = ballot(t.valid && own.width < 4) != 0;
		load(2 * k.thread, 0);
		for (uint32_t y = 0; y < height; y++) {
			half_row<0>(y, narrow);
			if (width > 1)
				half_row<1>(y, narrow);
			rows.advance();
		}
		if (wide)
			*m.wide = 1; // any thread, the same value
	}

	// Decodes columns parity, parity + 2 ... of a row.
	template <uint32_t parity> INLINE void half_row(uint32_t y, bool narrow)
	{
		uint32_t half = (width + 1 - parity) / 2, group = k.group();
		for (uint32_t first = 0; first < half; first += group) {
			KnownTerms now = next;
			uint32_t x = 2 * (first + k.thread) + parity;
			bool ends = first + group >= half, below = ends && (parity == 1 || width == 1);
			load(ends ? 2 * k.thread + (parity == 0 && width > 1) : x + 2 * group, y + below);
			coefficient<parity>(now, x, y, first);
		}
		sync_warp(); // the next half row, and the columns outside, look at this one
		if (narrow) {
			mirror_narrow();
			sync_warp(); // likewise
		}
	}

	template <uint32_t parity> INLINE void coefficient(const KnownTerms &known, uint32_t x, uint32_t y, uint32_t first)
	{
		bool in = inside(x, y), coded = in && t.mode == mode_coded;
		Prediction p(0, 0);
		uint32_t q = 0;
		if (in) {
			const uint32_t *n = rows.n + x, *nn = (y > 1 ? rows.nn : rows.n) + x, *o = rows.own + x;
			Neighbours v = {n[0], n[-1], n[1], n[-2], n[2], nn[0], nn[-1], nn[1], parity ? o[-1] : 0, parity ? o[1] : 0};
			uint32_t texture = fast ? 0 : known.kind & 127;
			q = context(scale_step(features<parity>(known, v, y, texture)), offset);
			if (!fast)
				p = Prediction(known.sum + taps<parity>(v, y, texture), m.qmin);
		}
		int32_t residual = decode_symbols<fast>(k, r, tables, p.fraction(), q, coded, t.state);
		if (!in)
			return;
		if (t.mode == mode_coded)
			residual = p.f < 0 ? -residual : residual;
		else
			residual = t.mode == mode_raw ? raw_index(r, t.number + y * own.width + (parity ? (own.width + 1) / 2 : 0) + first + k.thread, r.word(0)) - p.r : 0;
		int32_t value = value_of(residual + p.r, m.qmin);
		uint32_t at = own.row(y) + x;
		global(f.c)[at] = value;
		int16_t e = sat16(residual);
		global(f.e)[at] = e;
		wide = wide || is_wide(value) || limited(residual, most_magnitude + 1) > most_magnitude;
		rows.store(x, sat(value), magnitude_of(e));
	}

	// What is decoded around a coefficient, as rows have it.
	struct Neighbours {
		uint32_t n, nw, ne, nww, nee, nn, nnw, nne, w, e;
	};

	template <uint32_t parity> INLINE Features features(const KnownTerms &known, const Neighbours &v, uint32_t y, uint32_t texture) const
	{
		const int32_t *w = tables.weights->scale[(2 * (y > 0) + parity) * directions + texture / (textures / directions)];
		Features s = {known.scale, (int32_t)(known.kind >> 7)};
		s.add(w[0], magnitude_in(v.n));
		s.add(w[1], magnitude_in(v.nw) + magnitude_in(v.ne));
		s.add(w[2], magnitude_in(v.nn));
		bool later = m.variant > 0;
		if (fast || b < 2 || !later)
			s.add(w[4], magnitude_in(v.nww) + magnitude_in(v.nee));
		if (fast || b == 0 || !later)
			s.add(w[5], magnitude_in(v.nnw) + magnitude_in(v.nne));
		if (parity)
			s.add(w[3], magnitude_in(v.w) + magnitude_in(v.e));
		return s;
	}

	template <uint32_t parity> INLINE int32_t taps(const Neighbours &v, uint32_t y, uint32_t texture) const
	{
		uint32_t row = ((y == 0 ? 0 : 1 + (y & 1)) * 2 + parity) * textures + texture;
		TwoWords w = tables.weights->predict[row];
		int32_t sum = (int16_t)w.low * coefficient_of(v.n) + ((int32_t)w.low >> 16) * sat(coefficient_of(v.nw) + coefficient_of(v.ne));
		sum += (int16_t)w.high * coefficient_of(v.nn);
		if (b == 0)
			sum += (int16_t)tables.weights->far[row] * sat(coefficient_of(v.nww) + coefficient_of(v.nee));
		if (parity)
			sum += ((int32_t)w.high >> 16) * sat(coefficient_of(v.w) + coefficient_of(v.e));
		return sum;
	}

	// Columns outside of a part of less than four.
	INLINE void mirror_narrow()
	{
		if (!t.valid || k.thread >= 4 || own.width == 0)
			return;
		int32_t outside = k.thread < 2 ? (int32_t)k.thread - 2 : (int32_t)(own.width + k.thread - 2);
		rows.own[outside] = rows.own[own.column(outside)];
	}
};

// Decodes band b of the tiles of a level. A tile's record has its states and its place in the stream.
template <int b, bool fast> DEVICE void decode_tiles(const Model &m, const uint8_t *bytes)
{
	Lanes k(m);
	if ((blockIdx.x * blockDim.x) >> k.log_group >= m.tiles)
		return;
	SharedTables<fast> tables((uint8_t *)shared_memory);
	tables.template load<b>(m);
	uint32_t tile = k.tile();
	if (ballot(tile < m.tiles) == 0)
		return;
	TileState t;
	t.valid = tile < m.tiles;
	tile = t.valid ? tile : 0; // takes part with no coefficient
	t.tx = tile % m.across, t.ty = tile / m.across;
	uint32_t stride = m.side + 2 * row_margin, words = 4 * k.group() + 3 * stride; // of 32 bits that a group has
	uint32_t *own = (uint32_t *)((uint8_t *)shared_memory + SharedTables<fast>::bytes) + (threadIdx.x >> k.log_group) * words;
	uint32_t length = m.lengths[tile], states = 1u << k.log_lanes;
	uint32_t *record = m.states + (uint64_t)tile * record_words;
	t.mode = length == 0 || !t.valid ? mode_zero : length % 2 ? mode_raw : mode_coded;
	uint32_t at = b == 0 ? 2 * states : record[most_lanes];
	WordReader r(k, bytes + m.places[tile], t.mode == mode_coded || t.mode == mode_raw ? length / 2 : 0, (uint16_t *)own, at);
	if (b == 0)
		t.state = t.mode == mode_coded ? r.word(2 * k.state()) | r.word(2 * k.state() + 1) << 16 : 0;
	else
		t.state = record[k.state()];
	Part<true> hl(m.hl, m.side, t.tx, t.ty), lh(m.lh, m.side, t.tx, t.ty);
	t.number = b == 0 ? 0 : hl.width * hl.height + (b == 1 ? 0 : lh.width * lh.height);
	const ModelBand &f = band_of(m, b);
	if (f.width > 0 && f.height > 0)
		BandDecoder<b, fast>(m, k, r, tables, t, own + 4 * k.group()).decode();
	if (b < 2) {
		if (t.valid && k.thread < states)
			record[k.thread] = t.state;
		if (t.valid && k.thread == 0)
			record[most_lanes] = r.at;
	} else if (t.mode == mode_coded && ((k.thread < states && t.state != 1u << 16) || r.at != r.count)) {
		*m.error = error_tile; // any thread, the same value
	}
}

// A group of threads per tile; blockIdx.y is the level of a plane.
template <int b> DEVICE void decode_level(const Model *list, const uint8_t *bytes)
{
	const Model m = list[blockIdx.y]; // in registers: a load of a field would stand in the chain of every piece
	if (m.fast)
		decode_tiles<b, true>(m, bytes);
	else
		decode_tiles<b, false>(m, bytes);
}

// HL of all tiles of a level.
KERNEL __launch_bounds__(decoder_threads, 3) pcwt_decode_hl(const Model *__restrict__ list, const uint8_t *__restrict__ bytes) { decode_level<0>(list, bytes); }

KERNEL __launch_bounds__(decoder_threads, 3) pcwt_decode_lh(const Model *__restrict__ list, const uint8_t *__restrict__ bytes) { decode_level<1>(list, bytes); }

KERNEL __launch_bounds__(decoder_threads, 3) pcwt_decode_hh(const Model *__restrict__ list, const uint8_t *__restrict__ bytes) { decode_level<2>(list, bytes); }
