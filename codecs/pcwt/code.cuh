// Profile 1, encoding: the tiles' rANS streams (README, "Coding a coefficient", "rANS").
#pragma once

#include "../../gpu/include/bits.cuh"
#include "../../gpu/include/warp.cuh"
#include "position.cuh"

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

// The warps of a block work on a tile each. A thread takes a coefficient of a half row; lane i of the streams is thread i, and
// in the steps of a half row the states go on from thread to thread, count threads further.
struct Lanes {
	uint32_t count;

	__device__ uint32_t step() const { return lane() / count; }
};

DEVICE uint32_t ones(uint32_t v) { return (uint32_t)__builtin_popcount(v); }

// Value v of a lane.
DEVICE uint32_t from_lane(uint32_t v, uint32_t i) { return (uint32_t)__nvvm_shfl_sync_idx_i32(whole_warp, (int)v, (int)i, warp_size - 1); }

DEVICE uint32_t warp_or(uint32_t v)
{
	for (uint32_t d = 1; d < warp_size; d *= 2)
		v |= (uint32_t)__nvvm_shfl_sync_bfly_i32(whole_warp, (int)v, (int)d, warp_size - 1);
	return v;
}

DEVICE uint32_t warp_tile() { return (blockIdx.x * blockDim.x + threadIdx.x) / warp_size; }

// Writes words from the end of a tile's room towards its start.
struct WordWriter {
	uint16_t *room;
	int32_t at; // below 0: the room is too small

	// All threads of the warp call.
	__device__ void put(bool wanted, uint32_t &state)
	{
		uint32_t with = ballot(wanted);
		at -= (int32_t)ones(with);
		if (wanted) {
			int32_t i = at + (int32_t)ones(with & low_bits(whole_warp, lane()));
			if (i >= 0)
				room[i] = (uint16_t)state;
			state >>= 16;
		}
	}
};

// Codes the symbols of up to 32 coefficients of a half row, the last first. All threads of the warp call; count is the number of
// coefficients.
DEVICE void encode_symbols(const Lanes &k, WordWriter &w, const Symbol &s, uint32_t count, uint32_t &state)
{
	uint32_t low = s.raw_bits < 16 ? s.raw_bits : 16, high = s.raw_bits - low;
	bool inside = lane() < count;
	uint32_t raw = ballot(inside && low > 0), more = ballot(inside && high > 0);
	state = from_lane(state, lane() % k.count);
	for (uint32_t step = (count - 1) / k.count + 1; step-- > 0;) {
		bool own = inside && k.step() == step;
		uint32_t mask = low_bits(whole_warp, k.count) << (step * k.count);
		if (more & mask) {
			bool with = own && high > 0;
			w.put(with && (uint64_t)state >= 1ull << (32 - high), state);
			if (with)
				state = state << high | s.raw >> 16;
		}
		if (raw & mask) {
			bool with = own && low > 0;
			w.put(with && (uint64_t)state >= 1ull << (32 - low), state);
			if (with)
				state = state << low | low_bits(s.raw, low);
		}
		w.put(own && state >> 18 >= s.frequency, state);
		if (own) {
			uint32_t quotient = state / s.frequency;
			state = (quotient << 14) + state - quotient * s.frequency + s.start;
		}
		if (step > 0)
			state = shuffle_down(state, k.count);
	}
}

// The streams of all tiles. One warp per tile; blockIdx.y is the level of a plane.
KERNEL __launch_bounds__(coder_threads) pcwt_encode_tiles(const Model *__restrict__ list)
{
	const Model &m = list[blockIdx.y];
	uint32_t tile = warp_tile();
	if (tile >= m.tiles)
		return;
	Lanes k = {1u << m.log_lanes};
	uint32_t tx = tile % m.across, ty = tile / m.across;
	WordWriter w = {m.words + (uint64_t)tile * m.room, (int32_t)m.room};
	uint32_t state = 1u << 16, any = 0, width = 0, count = 0;
	for (int32_t b = 2; b >= 0; b--) {
		const ModelBand &f = band_of(m, (uint32_t)b);
		Part<true> part(f, m.side, tx, ty);
		if (part.empty())
			continue;
		count += part.height * part.width;
		int32_t offset = m.offsets[b];
		for (uint32_t y = part.height; y-- > 0;) {
			uint64_t row = part.row(y);
			for (uint32_t parity = 2; parity-- > 0;) {
				uint32_t n = (part.width + 1 - parity) / 2;
				for (uint32_t first = (n + warp_size - 1) / warp_size * warp_size; first > 0;) {
					first -= warp_size;
					Symbol s;
					if (first + lane() < n) {
						uint64_t at = row + 2 * (first + lane()) + parity;
						int32_t e = f.residuals[at], c = index_of(f.c[at], m.qmin);
						any |= (uint32_t)e;
						width |= (uint32_t)(c ^ c >> 31);
						s = Symbol(m.set, e, f.kinds[at] >> 3, context(f.steps[at], offset));
					}
					encode_symbols(k, w, s, least(n - first, warp_size), state);
				}
			}
		}
	}
	any = warp_or(any);
	width = warp_or(width);
	w.at -= (int32_t)(2 * k.count);
	if (w.at >= 0 && lane() < k.count) {
		w.room[w.at + (int32_t)(2 * lane())] = (uint16_t)state;
		w.room[w.at + (int32_t)(2 * lane()) + 1] = (uint16_t)(state >> 16);
	}
	if (lane() == 0) {
		uint32_t coded = m.room - (uint32_t)w.at; // right beyond the room too
		uint32_t raw_bits = width == 0 ? 1 : 33 - (uint32_t)__builtin_clz(width);
		uint32_t raw = (uint32_t)(1 + ((uint64_t)count * raw_bits + 15) / 16);
		m.lengths[tile] = any == 0 ? 0 : coded <= raw && w.at >= 0 ? 2 * coded : 2 * raw + 1;
		m.raw_bits[tile] = (uint8_t)raw_bits;
	}
}

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
