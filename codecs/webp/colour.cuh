// The colour transform (RFC 9649, 4.2).
#pragma once

#include "frame.cuh"

// The price of every skip-th row of a tile's residuals with a candidate, without the candidate's own price: of red with
// green-to-red a, or of blue with green-to-blue a and red-to-blue b. The threads of the warp call, and all hold the result.
template <bool blue> DEVICE uint32_t price_tile(const Frame &f, const Tile &t, int32_t a, int32_t b)
{
	uint32_t sum = 0, rows = (t.h + f.skip - 1) / f.skip;
	for (uint32_t s = lane(); s < t.w * rows; s += warp_size) {
		uint32_t x = t.x + s % t.w, y = t.y + s / t.w * f.skip;
		uint32_t v = f.residual[(uint64_t)y * f.width + x];
		int32_t green = (int8_t)(v >> 8), red = (int8_t)(v >> 16);
		const uint16_t *table = table_at(f, x, y);
		if (blue)
			sum += table[blue_at + ((v - (uint32_t)(a * green >> 5) - (uint32_t)(b * red >> 5)) & 255)];
		else
			sum += table[red_at + (((v >> 16) - (uint32_t)(a * green >> 5)) & 255)];
	}
	return warp_total(sum) * f.skip;
}

DEVICE bool is_multiplier(int32_t v) { return v >= -128 && v <= 127; }

// Moves green-to-red of m by each step once down or, where that is no gain, up.
DEVICE uint32_t search_red(const Frame &f, const Tile &t, uint32_t m)
{
	const uint16_t *own = f.multiplier_prices + 2 * 256;
	int32_t a = (int8_t)m;
	uint32_t best = price_tile<false>(f, t, a, 0) + own[a & 255];
	for (uint32_t i = 0; i < f.count; i++) {
		int32_t from = a, step = (int32_t)f.steps[i];
		for (int32_t k = 0; k < 2 && a == from; k++) {
			int32_t c = k == 0 ? from - step : from + step;
			if (!is_multiplier(c))
				continue;
			uint32_t sum = price_tile<false>(f, t, c, 0) + own[c & 255];
			if (sum < best) {
				best = sum;
				a = c;
			}
		}
	}
	return (m & 0xffffff00) | (a & 255);
}

// Moves green-to-blue and red-to-blue of m by each step to the best of four neighbours, at most twice.
DEVICE uint32_t search_blue(const Frame &f, const Tile &t, uint32_t m)
{
	const uint16_t *red_own = f.multiplier_prices, *green_own = red_own + 256;
	int32_t a = (int8_t)(m >> 8), b = (int8_t)(m >> 16);
	uint32_t best = price_tile<true>(f, t, a, b) + green_own[a & 255] + red_own[b & 255];
	for (uint32_t i = 0; i < f.count; i++) {
		int32_t step = (int32_t)f.steps[i];
		for (uint32_t again = 0; again < 2; again++) {
			int32_t a0 = a, b0 = b;
			for (uint32_t k = 0; k < 4; k++) {
				int32_t d = k % 2 == 0 ? -step : step;
				int32_t c = k < 2 ? a0 + d : a0, e = k < 2 ? b0 : b0 + d;
				if (!is_multiplier(c) || !is_multiplier(e))
					continue;
				uint32_t sum = price_tile<true>(f, t, c, e) + green_own[c & 255] + red_own[e & 255];
				if (sum < best) {
					best = sum;
					a = c;
					b = e;
				}
			}
			if (a == a0 && b == b0)
				break;
		}
	}
	return (m & 0xff0000ff) | (uint32_t)(b & 255) << 16 | (uint32_t)(a & 255) << 8;
}

// Better multipliers for every tile of image blockIdx.y, from those it has. A warp takes a tile; all its lanes take the
// same way through the search, because all hold the same sums. Adds to result, 3 x 256, how many tiles took each value of
// red-to-blue, green-to-blue and green-to-red.
KERNEL webp_colours(const Frame *__restrict__ list)
{
	const Frame &f = list[blockIdx.y];
	uint64_t tile = thread() / warp_size;
	if (tile >= (uint64_t)tiles(f.width, f.colour_bits) * tiles(f.height, f.colour_bits))
		return;
	Tile t(f, f.colour_bits, tile);
	uint32_t m = search_red(f, t, f.multipliers[tile]);
	m = search_blue(f, t, m);
	if (lane() == 0)
		f.multipliers[tile] = m;
	else if (lane() <= 3)
		add_to(&f.result[256 * (lane() - 1) + (m >> 8 * (3 - lane()) & 255)], 1);
}

// The residuals after the colour transform, if there is one, in coded. One thread per pixel of image blockIdx.y.
KERNEL webp_transform_colours(const Frame *__restrict__ list)
{
	const Frame &f = list[blockIdx.y];
	uint64_t i = thread();
	if (f.multipliers == nullptr || i >= (uint64_t)f.width * f.height)
		return;
	uint32_t x = (uint32_t)(i % f.width), y = (uint32_t)(i / f.width);
	f.coded[i] = coloured(f.residual[i], multipliers_at(f, x, y));
}
