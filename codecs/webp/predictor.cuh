// The predictor transform (RFC 9649, 3.5.1).
#pragma once

#include "slot.cuh"

// Adds to sums what the residual of pixel (x, y) costs by each mode, after the colour transform m.
DEVICE void add_mode_costs(uint32_t *sums, const Slot &image, const uint16_t *table, uint32_t m, uint32_t x, uint32_t y)
{
	uint64_t i = (uint64_t)y * image.width + x;
	uint32_t v = image.argb[i];
	if (!inside(x, y)) {
		uint32_t same = literal_cost(table, apply_multipliers(subtract(v, border(image.argb, i, image.width, x, y)), m), image.opaque);
#pragma unroll
		for (uint32_t k = 0; k < mode_count; k++)
			sums[k] += same;
		return;
	}
	Around n = around(image.argb, i, image.width);
#pragma unroll
	for (uint32_t k = 0; k < mode_count; k++)
		sums[k] += literal_cost(table, apply_multipliers(subtract(v, predicted(k, n)), m), image.opaque);
}

// The mode of every tile of image blockIdx.y: the first of those whose residuals, in every skip-th row and after the
// colour transform, cost least with the mode's own cost. All pixels of a tile lie in one group and in one tile of the colour transform. Adds to result
// how many tiles took each mode.
//
// A thread costs strips of four pixels by all modes in registers. 4 threads share a tile of 4 x 4, 16 one of 8 x 8, and a
// warp a larger one; they add up their costs by shuffles, and each of them holds the sums.
KERNEL __launch_bounds__(256) webp_choose_modes(const Slot *__restrict__ slots)
{
	__shared__ uint32_t s_counts[mode_count];
	const Slot &image = slots[blockIdx.y];
	if (threadIdx.x < mode_count)
		s_counts[threadIdx.x] = 0;
	sync_block(); // all are zero
	uint32_t bits = image.mode_bits, across = (1u << bits) / strip_pixels; // strips
	uint32_t share = least(warp_size, across << bits);          // threads of a tile
	uint64_t tile = thread() / share;
	uint64_t all = (uint64_t)tiles(image.width, bits) * tiles(image.height, bits);
	bool some = tile < all; // the rest of the warp takes part in the shuffles
	Tile t(image, bits, some ? tile : 0);
	uint32_t sums[mode_count];
#pragma unroll
	for (uint32_t k = 0; k < mode_count; k++)
		sums[k] = 0;
	if (some) {
		const uint16_t *table = table_at(image, t.x, t.y);
		uint32_t m = image.multipliers == nullptr ? 0 : multipliers_at(image, t.x, t.y);
		for (uint32_t s = threadIdx.x % share; s < across << bits; s += share) {
			uint32_t y = s / across * image.skip, x = s % across * strip_pixels;
			if (y >= t.h)
				break;
			for (uint32_t end = least(t.w, x + strip_pixels); x < end; x++)
				add_mode_costs(sums, image, table, m, t.x + x, t.y + y);
		}
	}
	for (uint32_t d = share / 2; d > 0; d /= 2) {
#pragma unroll
		for (uint32_t k = 0; k < mode_count; k++)
			sums[k] += exchange(sums[k], d);
	}
	uint32_t best = 0, lowest = 0;
#pragma unroll
	for (uint32_t k = 0; k < mode_count; k++) {
		uint32_t sum = sums[k] * image.skip + image.mode_costs[k];
		if (k == 0 || sum < lowest) {
			lowest = sum;
			best = k;
		}
	}
	if (some && threadIdx.x % share == 0) {
		image.modes[tile] = (uint8_t)best;
		add_to(&s_counts[best], 1);
	}
	sync_block(); // all are counted
	if (threadIdx.x < mode_count && s_counts[threadIdx.x] != 0)
		add_to(&image.result[threadIdx.x], s_counts[threadIdx.x]);
}

// The pixels of argb less their predictions, in residual. One thread per pixel of image blockIdx.y.
KERNEL webp_residuals(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t i = thread();
	if (i >= (uint64_t)image.width * image.height)
		return;
	uint32_t x = (uint32_t)i % image.width, y = (uint32_t)i / image.width;
	uint32_t p;
	if (inside(x, y))
		p = predicted(image.modes[(uint64_t)(y >> image.mode_bits) * tiles(image.width, image.mode_bits) + (x >> image.mode_bits)],
		              around(image.argb, i, image.width));
	else
		p = border(image.argb, i, image.width, x, y);
	image.residual[i] = subtract(image.argb[i], p);
}
