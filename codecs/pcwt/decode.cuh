// Profile 1, decoding: what coefficients know, level after level, and the tiles' rANS streams.
#pragma once

#include "code.cuh"

template <int b> DEVICE void know_band(const Model &m, const Low &q, const Position &at, uint32_t texture)
{
	const ModelBand &f = band_of(m, b);
	if (at.px >= f.width || at.py >= f.height)
		return;
	Known<b> known(f, at.px, at.py);
	uint32_t key = scale_key(m, b, at.x, at.y, texture / (textures / directions));
	Weights w(m.set->scale + 16 * key);
	Features s = {m.set->bias[key], 0};
	known.features(s, w, m.variant, first_before<b>(m.fast), at.px, at.py);
	if (!m.fast) {
		low_features<b>(s, q, w, m.variant > 0, m.qmin);
		Weights p(predict_weights(m, b, at.x, at.y, texture));
		f.residuals[known.at] = known.taps(p, m.variant) + low_taps<b>(q, p);
	}
	f.scales[known.at] = s.sum;
	f.kinds[known.at] = (uint8_t)(texture | (s.any != 0) << 7);
}

// What decoding knows of a level's coefficients before any of them: the sums over terms outside the tile. One thread per
// position; blockIdx.y is the level.
KERNEL pcwt_know(const Model *__restrict__ list)
{
	const Model &m = list[blockIdx.y];
	Position at(m);
	if (!at.inside)
		return;
	Low q(m, at.px, at.py);
	uint32_t texture = m.fast ? 0 : q.texture(m.set);
	know_band<0>(m, q, at, texture);
	know_band<1>(m, q, at, texture);
	know_band<2>(m, q, at, texture);
}

// Reads the words of a tile. Behind the end they are 0. The warp holds 32 of them.
struct WordReader {
	const uint8_t *bytes;
	uint32_t count, at;
	uint32_t first, held; // word first + lane()

	__device__ uint32_t word(uint32_t i) const { return i < count ? bytes[2 * (uint64_t)i] | (uint32_t)bytes[2 * (uint64_t)i + 1] << 8 : 0; }
	__device__ void hold()
	{
		first = at;
		held = word(first + lane());
	}

	// All threads of the warp call; at most most of them have a state to fill up.
	__device__ void refill(uint32_t most, bool own, uint32_t &state)
	{
		bool wanted = own && state < 1u << 16;
		uint32_t with = ballot(wanted);
		if (with == 0)
			return;
		if (at + most > first + warp_size)
			hold();
		uint32_t v = from_lane(held, (at - first + ones(with & low_bits(whole_warp, lane()))) % warp_size);
		if (wanted)
			state = state << 16 | v;
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

// The shared memory of a block that decodes: the tables of its set, and for each warp the last three rows of a band in the
// tile, coefficients and then magnitudes, with room beside them for what stands for the columns outside.
constexpr uint32_t row_margin = 4;

struct SharedTables {
	uint16_t starts[table_count * starts_stride];
	uint8_t hints[table_count * hint_slots];
};
static_assert(sizeof(SharedTables) == shared_tables, "the host asks for that");

extern __shared__ uint32_t shared_memory[];

struct TileRows {
	int16_t *s;
	uint32_t stride;

	__device__ int16_t *c(uint32_t i) const { return s + i * stride + row_margin; }
	__device__ int16_t *m(uint32_t i) const { return s + (3 + i) * stride + row_margin; }
};

struct SharedRow {
	const int16_t *s;

	__device__ int32_t operator()(int32_t x) const { return s[x]; }
};

// All threads of the block call.
DEVICE void load_tables(SharedTables *to, const Set *set)
{
	const uint32_t *from = (const uint32_t *)set->tables;
	for (uint32_t i = threadIdx.x; i < sizeof(SharedTables) / 4; i += blockDim.x)
		((uint32_t *)to)[i] = from[i];
	sync_block();
}

// Decodes the residuals of up to 32 coefficients of a half row. All threads of the warp call; count is the number of
// coefficients. Thread i holds that of coefficient i.
DEVICE int32_t decode_symbols(const Lanes &k, WordReader &r, const SharedTables *tables, uint32_t fraction, uint32_t q, uint32_t count,
	uint32_t &state)
{
	uint32_t shift = 0, context = q, token = 0, raw = 0;
	if (context >= contexts) {
		shift = (context - 40) >> 2;
		context = 40 + (context & 3);
	}
	uint32_t table = fraction * contexts + context;
	const uint16_t *starts = tables->starts + table * starts_stride;
	const uint8_t *hints = tables->hints + table * hint_slots;
	uint32_t steps = (count + k.count - 1) / k.count;
	for (uint32_t step = 0; step < steps; step++) {
		if (step > 0)
			state = shuffle_up(state, k.count);
		bool own = lane() < count && k.step() == step;
		uint32_t raw_bits = 0;
		if (own) {
			uint32_t slot = state & 16383;
			token = hints[slot / (16384 / hint_slots)];
			uint32_t start = starts[token], end = starts[token + 1];
			while (slot >= end)
				start = end, end = starts[++token + 1];
			state = (end - start) * (state >> 14) + slot - start;
			uint32_t n = (token + 1) / 2;
			raw_bits = token == escape ? 32 : (n < 16 ? 0 : (n - 16) / 2 + 3) + shift;
		}
		r.refill(k.count, own, state);
		if (!ballot(raw_bits > 0))
			continue;
		uint32_t low = raw_bits < 16 ? raw_bits : 16, high = raw_bits - low;
		if (own) {
			raw = low_bits(state, low);
			state >>= low;
		}
		r.refill(k.count, own, state);
		if (!ballot(high > 0))
			continue;
		if (own) {
			raw |= low_bits(state, high) << 16;
			state >>= high;
		}
		r.refill(k.count, own, state);
	}
	state = from_lane(state, (steps - 1) * k.count + lane() % k.count);
	if (token == escape)
		return (int32_t)raw;
	int32_t n = (int32_t)(token + 1) / 2;
	if (n >= 16) {
		uint32_t g = (uint32_t)(n - 16) / 2 + 4;
		n = (int32_t)(1u << g | (uint32_t)((n - 16) & 1) << (g - 1) | raw >> shift);
	}
	return (int32_t)((uint32_t)(token & 1 ? n : -n) << shift | low_bits(raw, shift));
}

// Adds to what is known of a band's coefficients the terms of the tile's bands before it.
template <int b, bool narrow> DEVICE void know_earlier(const Model &m, const Part<true> &own, uint32_t tx, uint32_t ty)
{
	const ModelBand &f = own.f;
	Part<narrow> h(m.hl, m.side, tx, ty), v(m.lh, m.side, tx, ty);
	sync_warp(); // the bands before are written
	for (uint32_t y = 0; y < own.height; y++) {
		for (uint32_t x = lane(); x < own.width; x += warp_size) {
			uint64_t at = own.row(y) + x;
			uint32_t kind = f.kinds[at], texture = kind & 127;
			Features s = {f.scales[at], (int32_t)(kind >> 7)};
			earlier_features<b, narrow>(s, h, v, Weights(m.set->scale + 16 * scale_key(m, b, x, y, texture / (textures / directions))), m.fast, m.variant > 0,
				(int32_t)x, (int32_t)y);
			f.scales[at] = s.sum;
			f.kinds[at] = (uint8_t)(texture | (s.any != 0) << 7);
			if (!m.fast)
				f.residuals[at] += earlier_taps<b, narrow>(h, v, Weights(predict_weights(m, b, x, y, texture)), (int32_t)x, (int32_t)y);
		}
	}
	sync_warp();
}

// Where the coefficients of a half row are that a thread decodes: (2 j + parity, y). The half rows of a band follow each other
// in pieces of up to 32 coefficients.
struct HalfRow {
	uint32_t y, parity, first;

	// The next piece, behind the last row at the end.
	__device__ void advance(const Part<true> &own)
	{
		first += warp_size;
		if (first < (own.width + 1 - parity) / 2)
			return;
		first = 0;
		if (parity == 0 && own.width > 1) {
			parity = 1;
		} else {
			parity = 0;
			y++;
		}
	}
	__device__ uint32_t x() const { return 2 * (first + lane()) + parity; }
	__device__ bool inside(const Part<true> &own) const { return y < own.height && x() < own.width; }
};

// What is loaded for coefficients before those in front of them are decoded: of the next piece its known sums and its weights of
// the terms of the band itself, of the next but one what these depend on.
struct Ahead {
	HalfRow piece; // whose kind is loaded
	uint32_t kind;
	int32_t scale, any, sum;
	FourWords scale_weights;
	int32_t weights[2], far_weight;

	__device__ void load_kind(const Part<true> &own)
	{
		if (piece.inside(own))
			kind = own.f.kinds[own.row(piece.y) + piece.x()];
	}

	template <int b> __device__ void advance(const Model &m, const Part<true> &own)
	{
		if (piece.inside(own)) {
			uint32_t x = piece.x(), y = piece.y, texture = kind & 127;
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
		piece.advance(own);
		load_kind(own);
	}
};

template <int b>
DEVICE void decode_band(const Model &m, const Lanes &k, WordReader &r, const SharedTables *tables, uint32_t &state, uint32_t mode, uint32_t &number,
	const TileRows &rows, uint32_t tx, uint32_t ty)
{
	const ModelBand &f = band_of(m, b);
	Part<true> own(f, m.side, tx, ty);
	if (own.empty())
		return;
	if (b > 0 && is_narrow(m, tx))
		know_earlier<b, true>(m, own, tx, ty);
	else if (b > 0)
		know_earlier<b, false>(m, own, tx, ty);
	int32_t offset = m.offsets[b];
	Ahead ahead;
	ahead.piece = {0, 0, 0};
	ahead.load_kind(own);
	ahead.advance<b>(m, own);
	for (uint32_t y = 0; y < own.height; y++) {
		uint32_t i = y % 3, n = y > 0 ? (y - 1) % 3 : 0, nn = y > 1 ? (y - 2) % 3 : 0;
		SharedRow c[3] = {{rows.c(nn)}, {rows.c(n)}, {rows.c(i)}}, e[3] = {{rows.m(nn)}, {rows.m(n)}, {rows.m(i)}};
		uint64_t row = own.row(y);
		for (uint32_t parity = 0; parity < 2; parity++) {
			uint32_t count = (own.width + 1 - parity) / 2;
			for (uint32_t first = 0; first < count; first += warp_size) {
				uint32_t x = 2 * (first + lane()) + parity;
				bool inside = first + lane() < count;
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
				ahead.advance<b>(m, own);
				int32_t residual = 0;
				if (mode == mode_coded) {
					residual = decode_symbols(k, r, tables, p.fraction(), q, least(count - first, warp_size), state);
					residual = p.f < 0 ? -residual : residual;
				} else if (mode == mode_raw && inside) {
					uint32_t half = parity ? (own.width + 1) / 2 : 0;
					residual = raw_index(r, number + y * own.width + half + first + lane(), r.word(0)) - p.r;
				}
				if (inside) {
					int32_t value = value_of(residual + p.r, m.qmin);
					f.c[row + x] = value;
					f.e[row + x] = sat16(residual);
					rows.c(i)[x] = sat16(value);
					rows.m(i)[x] = (int16_t)magnitude_of(sat16(residual));
				}
			}
			sync_warp(); // the next half row looks at this one
			if (lane() < 4) {
				int32_t x = lane() < 2 ? (int32_t)lane() - 2 : (int32_t)(own.width + lane() - 2);
				uint32_t from = own.column(x);
				rows.c(i)[x] = rows.c(i)[from];
				rows.m(i)[x] = rows.m(i)[from];
			}
			sync_warp();
		}
	}
	number += own.width * own.height;
}

// The tiles of a level, once pcwt_know has run for it. One warp per tile; blockIdx.y is the level of a plane.
KERNEL __launch_bounds__(decoder_threads) pcwt_decode_tiles(const Model *__restrict__ list, const uint8_t *__restrict__ bytes)
{
	const Model &m = list[blockIdx.y];
	if (blockIdx.x * (decoder_threads / warp_size) >= m.tiles)
		return;
	SharedTables *tables = (SharedTables *)shared_memory;
	load_tables(tables, m.set);
	uint32_t tile = warp_tile();
	if (tile >= m.tiles)
		return;
	uint32_t stride = m.side + 2 * row_margin;
	TileRows rows = {(int16_t *)(tables + 1) + warp() * 6 * stride, stride};
	Lanes k = {1u << m.log_lanes};
	uint32_t tx = tile % m.across, ty = tile / m.across;
	uint32_t length = m.lengths[tile], mode = length == 0 ? mode_zero : length % 2 ? mode_raw : mode_coded;
	WordReader r = {bytes + m.places[tile], length / 2, 2 * k.count, 0, 0};
	r.hold();
	uint32_t i = 2 * (lane() % k.count), state = r.word(i) | r.word(i + 1) << 16, number = 0;
	decode_band<0>(m, k, r, tables, state, mode, number, rows, tx, ty);
	decode_band<1>(m, k, r, tables, state, mode, number, rows, tx, ty);
	decode_band<2>(m, k, r, tables, state, mode, number, rows, tx, ty);
	if (mode == mode_coded && (state != 1u << 16 || r.at != r.count))
		*m.error = error_tile; // any thread, the same value
}
