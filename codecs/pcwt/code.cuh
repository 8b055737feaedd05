// Profile 1, encoding: the tiles' rANS streams (README, "Coding a coefficient", "rANS") and the bodies of files.
//
// pcwt_encode_tiles codes every tile from its end to its start, as states and words come in the other order than in decoding:
// lanes.cuh says how warps share tiles. What a coefficient takes from memory is loaded two pieces ahead, and its range in the
// tables one piece ahead, because a piece takes less time than a load. Words go to the end of the tile's room, room words for
// each tile, so that no tile waits for another; tiles that do not fit are raw ones. pcwt_pack_tiles copies words, or indices in
// raw tiles, to their places in the files, once the host has those from the lengths.
//
//	residuals, kinds, steps, c -> pcwt_encode_tiles -> words, lengths, raw_bits -> (places) -> pcwt_pack_tiles -> bytes
//
// There are no barriers: the threads of a warp meet in votes and shuffles only.
#pragma once

#include "lanes.cuh"

// A residual as it is coded.
struct Symbol {
	uint32_t start, frequency;
	uint32_t raw, raw_bits;

	// e has the sign that the fraction of the prediction gives it.
	__device__ Symbol(const Set *set, int32_t e, uint32_t fraction, uint32_t q)
	{
		uint32_t k = 0;
		int32_t u = e;
		raw = 0;
		if (q >= contexts) {
			k = (q - 40) >> 2;
			q = 40 + (q & 3);
			raw = low_bits((uint32_t)e, k);
			u = e >> k;
		}
		raw_bits = k;
		uint32_t n = (uint32_t)(u < 0 ? -u : u), token;
		if (n < 16) {
			token = 2 * n - (u > 0);
		} else if (n < 1u << 18) {
			uint32_t g = 31 - (uint32_t)__builtin_clz(n);
			token = 2 * (16 + 2 * (g - 4) + (n >> (g - 1) & 1)) - (u > 0);
			raw |= low_bits(n, g - 1) << k;
			raw_bits += g - 1;
		} else {
			token = escape, raw = (uint32_t)e, raw_bits = 32;
		}
		uint32_t range = set->ranges[(fraction * contexts + q) * tokens + token];
		start = range & 0xffff;
		frequency = range >> 16;
	}
	__device__ Symbol() : start(0), frequency(1), raw(0), raw_bits(0) {}
};

// The index of coefficient number i of a tile in the order of coding.
struct Order {
	Part<true> hl, lh, hh;

	__device__ Order(const Model &m, uint32_t tx, uint32_t ty)
		: hl(m.hl, m.side, tx, ty), lh(m.lh, m.side, tx, ty), hh(m.hh, m.side, tx, ty) {}

	__device__ uint32_t count() const { return hl.width * hl.height + lh.width * lh.height + hh.width * hh.height; }

	__device__ int32_t *at(uint32_t i) const
	{
		uint32_t n = hl.width * hl.height;
		if (i < n)
			return in(hl, i);
		i -= n, n = lh.width * lh.height;
		return i < n ? in(lh, i) : in(hh, i - n);
	}

	__device__ int32_t *in(const Part<true> &p, uint32_t i) const
	{
		uint32_t y = i / p.width, j = i % p.width, even = (p.width + 1) / 2;
		return p.f.c + (uint64_t)(p.y0 + y) * p.f.width + p.x0 + (j < even ? 2 * j : 2 * (j - even) + 1);
	}
};

// Writes words from the end of a tile's room towards its start.
struct WordWriter {
	uint16_t *room;
	int32_t at; // below 0: the room is too small

	// All threads of the warp call.
	__device__ void put(const Lanes &k, bool wanted, uint32_t &state)
	{
		uint32_t with = k.own(ballot(wanted));
		at -= (int32_t)ones(with);
		if (wanted) {
			int32_t i = at + (int32_t)k.before(with);
			if (i >= 0)
				room[i] = (uint16_t)state;
			state >>= 16;
		}
	}
};

// Codes the symbols of a piece, the last first. All threads of the warp call; inside says whether the thread has one. State i of
// a group is with its thread i, before and afterwards.
DEVICE void encode_symbols(const Lanes &k, WordWriter &w, const Symbol &s, bool inside, uint32_t &state)
{
	uint32_t low = s.raw_bits < 16 ? s.raw_bits : 16, high = s.raw_bits - low;
	bool raw = ballot(inside && low > 0) != 0, more = ballot(inside && high > 0) != 0;
	uint32_t steps = k.steps();
	if (steps > 1)
		state = from_lane(state, k.base + k.state());
	for (uint32_t step = steps; step-- > 0;) {
		if (step + 1 < steps) {
			uint32_t later = shuffle_down(state, 1u << k.log_lanes);
			state = k.step() == step ? later : state;
		}
		bool own = inside && k.step() == step;
		if (more) {
			bool with = own && high > 0;
			w.put(k, with && (uint64_t)state >= 1ull << (32 - high), state);
			if (with)
				state = state << high | s.raw >> 16;
		}
		if (raw) {
			bool with = own && low > 0;
			w.put(k, with && (uint64_t)state >= 1ull << (32 - low), state);
			if (with)
				state = state << low | low_bits(s.raw, low);
		}
		w.put(k, own && state >> 18 >= s.frequency, state);
		if (own) {
			uint32_t quotient = state / s.frequency;
			state = (quotient << 14) + state - quotient * s.frequency + s.start;
		}
	}
}

// What a coefficient is coded from.
struct Site {
	int32_t e, c;
	uint32_t kind, step;
	bool inside;

	__device__ Site(const Part<true> &part, const Piece &piece, const Lanes &k, bool valid) : e(0), c(0), kind(0), step(scale_zero)
	{
		inside = valid && piece.inside(part, k);
		if (inside) {
			uint32_t at = part.row(piece.y) + piece.x(k);
			e = part.f.residuals[at], c = part.f.c[at];
			kind = part.f.kinds[at], step = part.f.steps[at];
		}
	}
};

// What is known of a tile once all its coefficients were seen.
struct Seen {
	uint32_t any;	// residuals, joined by or
	uint32_t width; // magnitudes of indices, likewise
};

template <int b> DEVICE void encode_band(const Model &m, const Lanes &k, WordWriter &w, Seen &seen, uint32_t &state, uint32_t tx, uint32_t ty, bool valid)
{
	const ModelBand &f = band_of(m, b);
	if (f.width == 0 || f.height == 0)
		return;
	Part<true> part(f, m.side, tx, ty);
	int32_t offset = m.offsets[b];
	Piece piece(m, f, k);
	uint32_t n = piece.count();
	piece.last();
	Site next(part, piece, k, valid);
	piece.retreat();
	Symbol symbol;
	bool inside = false;
	// The first round makes the first symbol only.
	for (uint32_t i = 0; i <= n; i++) {
		Symbol now = symbol;
		bool coded = inside;
		inside = next.inside;
		if (inside) {
			int32_t index = index_of(next.c, m.qmin);
			seen.any |= (uint32_t)next.e;
			seen.width |= (uint32_t)(index ^ index >> 31);
			symbol = Symbol(m.set, next.e, next.kind >> 3, context(next.step, offset));
		}
		next = Site(part, piece, k, valid && i + 1 < n);
		piece.retreat();
		if (i > 0)
			encode_symbols(k, w, now, coded, state);
	}
}

// The streams of all tiles. A group of threads per tile; blockIdx.y is the level of a plane.
KERNEL __launch_bounds__(coder_threads) pcwt_encode_tiles(const Model *__restrict__ list)
{
	const Model m = list[blockIdx.y]; // in registers: a load of a field would stand in the chain of every piece
	Lanes k(m);
	uint32_t tile = k.tile();
	if (ballot(tile < m.tiles) == 0)
		return;
	bool valid = tile < m.tiles;
	tile = valid ? tile : 0; // takes part with no coefficient
	uint32_t tx = tile % m.across, ty = tile / m.across, states = 1u << k.log_lanes;
	WordWriter w = {m.words + (uint64_t)tile * m.room, (int32_t)m.room};
	uint32_t state = 1u << 16;
	Seen seen = {0, 0};
	encode_band<2>(m, k, w, seen, state, tx, ty, valid);
	encode_band<1>(m, k, w, seen, state, tx, ty, valid);
	encode_band<0>(m, k, w, seen, state, tx, ty, valid);
	uint32_t any = k.any(seen.any), width = k.any(seen.width);
	if (!valid)
		return;
	w.at -= (int32_t)(2 * states);
	if (w.at >= 0 && k.thread < states) {
		w.room[w.at + (int32_t)(2 * k.thread)] = (uint16_t)state;
		w.room[w.at + (int32_t)(2 * k.thread) + 1] = (uint16_t)(state >> 16);
	}
	if (k.thread == 0) {
		uint32_t coded = m.room - (uint32_t)w.at; // right beyond the room too
		uint32_t count = Order(m, tx, ty).count();
		uint32_t raw_bits = width == 0 ? 1 : 33 - (uint32_t)__builtin_clz(width);
		uint32_t raw = (uint32_t)(1 + ((uint64_t)count * raw_bits + 15) / 16);
		m.lengths[tile] = any == 0 ? 0 : coded <= raw && w.at >= 0 ? 2 * coded : 2 * raw + 1;
		m.raw_bits[tile] = (uint8_t)raw_bits;
	}
}

// Copies the bodies of all tiles of a level to their places in the files. One block per tile; blockIdx.y is the level.
KERNEL __launch_bounds__(coder_threads) pcwt_pack_tiles(const Model *__restrict__ list, uint8_t *__restrict__ bytes)
{
	const Model &m = list[blockIdx.y];
	uint32_t tile = blockIdx.x;
	if (tile >= m.tiles || m.lengths[tile] == 0)
		return;
	uint32_t n = m.lengths[tile] / 2;
	uint8_t *out = bytes + m.places[tile];
	if (m.lengths[tile] % 2 == 0) {
		const uint16_t *from = m.words + (uint64_t)tile * m.room + m.room - n;
		for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
			out[2 * i] = (uint8_t)from[i];
			out[2 * i + 1] = (uint8_t)(from[i] >> 8);
		}
		return;
	}
	Order order(m, tile % m.across, tile / m.across);
	uint32_t count = order.count(), bits = m.raw_bits[tile];
	if (threadIdx.x == 0)
		out[0] = (uint8_t)bits, out[1] = 0;
	for (uint32_t i = threadIdx.x; i < n - 1; i += blockDim.x) {
		// Word i has bits 16 i to 16 i + 15.
		uint32_t word = 0;
		uint64_t first = 16ull * i;
		for (uint32_t k = (uint32_t)(first / bits); k < count && (uint64_t)k * bits < first + 16; k++) {
			int64_t shift = (int64_t)(first + 16) - (int64_t)((uint64_t)(k + 1) * bits); // of the last bit, to the left
			uint32_t v = low_bits((uint32_t)index_of(*order.at(k), m.qmin), bits);
			word |= shift >= 0 ? v << shift : v >> -shift;
		}
		out[2 + 2 * i] = (uint8_t)word;
		out[3 + 2 * i] = (uint8_t)(word >> 8);
	}
}
