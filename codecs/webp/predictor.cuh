// The predictor transform (RFC 9649, 4.1).
#pragma once

#include "frame.cuh"

constexpr uint32_t strip = 4; // pixels of a row that a thread takes at a time: tiles are never narrower

// Adds to sums what the residual of pixel (x, y) costs by each mode, after the colour transform m.
DEVICE void price_modes(uint32_t *sums, const Frame &f, const uint16_t *table, uint32_t m, uint32_t x, uint32_t y)
{
	uint64_t i = (uint64_t)y * f.width + x;
	uint32_t v = f.argb[i];
	if (!inside(x, y)) {
		uint32_t same = literal_price(table, coloured(subtract(v, border(f.argb, i, f.width, x, y)), m), f.opaque);
#pragma unroll
		for (uint32_t k = 0; k < modes; k++)
			sums[k] += same;
		return;
	}
	Around n = around(f.argb, i, f.width);
#pragma unroll
	for (uint32_t k = 0; k < modes; k++)
		sums[k] += literal_price(table, coloured(subtract(v, predicted(k, n)), m), f.opaque);
}

// The mode of every tile of image blockIdx.y: the first of those whose residuals, in every skip-th row and after the
// colour transform, cost least with the mode's own price. All pixels of a tile lie in one group and in one tile of the colour transform. Adds to result
// how many tiles took each mode.
//
// A thread prices strips of four pixels by all modes in registers. 4 threads share a tile of 4 x 4, 16 one of 8 x 8, and a
// warp a larger one; they add up their prices by shuffles, and each of them holds the sums.
KERNEL __launch_bounds__(256) webp_predict(const Frame *__restrict__ list)
{
	__shared__ uint32_t s_counts[modes];
	const Frame &f = list[blockIdx.y];
	if (threadIdx.x < modes)
		s_counts[threadIdx.x] = 0;
	sync_block(); // all are zero
	uint32_t bits = f.mode_bits, across = (1u << bits) / strip; // strips
	uint32_t share = least(warp_size, across << bits);          // threads of a tile
	uint64_t tile = thread() / share;
	uint64_t all = (uint64_t)tiles(f.width, bits) * tiles(f.height, bits);
	bool some = tile < all; // the rest of the warp takes part in the shuffles
	Tile t(f, bits, some ? tile : 0);
	uint32_t sums[modes];
#pragma unroll
	for (uint32_t k = 0; k < modes; k++)
		sums[k] = 0;
	if (some) {
		const uint16_t *table = table_at(f, t.x, t.y);
		uint32_t m = f.multipliers == nullptr ? 0 : multipliers_at(f, t.x, t.y);
		for (uint32_t s = threadIdx.x % share; s < across << bits; s += share) {
			uint32_t y = s / across * f.skip, x = s % across * strip;
			if (y >= t.h)
				break;
			for (uint32_t end = least(t.w, x + strip); x < end; x++)
				price_modes(sums, f, table, m, t.x + x, t.y + y);
		}
	}
	for (uint32_t d = share / 2; d > 0; d /= 2) {
#pragma unroll
		for (uint32_t k = 0; k < modes; k++)
			sums[k] += exchange(sums[k], d);
	}
	uint32_t best = 0, lowest = 0;
#pragma unroll
	for (uint32_t k = 0; k < modes; k++) {
		uint32_t sum = sums[k] * f.skip + f.mode_prices[k];
		if (k == 0 || sum < lowest) {
			lowest = sum;
			best = k;
		}
	}
	if (some && threadIdx.x % share == 0) {
		f.modes[tile] = (uint8_t)best;
		add_to(&s_counts[best], 1);
	}
	sync_block(); // all are counted
	if (threadIdx.x < modes && s_counts[threadIdx.x] != 0)
		add_to(&f.result[threadIdx.x], s_counts[threadIdx.x]);
}

// The pixels of argb less their predictions, in residual. One thread per pixel of image blockIdx.y.
KERNEL webp_residuals(const Frame *__restrict__ list)
{
	const Frame &f = list[blockIdx.y];
	uint64_t i = thread();
	if (i >= (uint64_t)f.width * f.height)
		return;
	uint32_t x = (uint32_t)(i % f.width), y = (uint32_t)(i / f.width);
	uint32_t p;
	if (inside(x, y))
		p = predicted(f.modes[(uint64_t)(y >> f.mode_bits) * tiles(f.width, f.mode_bits) + (x >> f.mode_bits)],
		              around(f.argb, i, f.width));
	else
		p = border(f.argb, i, f.width, x, y);
	f.residual[i] = subtract(f.argb[i], p);
}
