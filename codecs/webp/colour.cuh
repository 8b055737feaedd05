// The colour transform (RFC 9649, 3.5.2).
#pragma once

#include "slot.cuh"

// The cost of every skip-th row of a tile's residuals with a candidate, without the candidate's own cost: of red with
// green-to-red a, or of blue with green-to-blue a and red-to-blue b. The threads of the warp call, and all hold the result.
template <bool blue> DEVICE uint32_t channel_cost(const Slot &image, const Tile &t, int32_t a, int32_t b)
{
	uint32_t sum = 0, rows = (t.h + image.skip - 1) / image.skip;
	for (uint32_t s = lane(); s < t.w * rows; s += warp_size) {
		uint32_t x = t.x + s % t.w, y = t.y + s / t.w * image.skip;
		uint32_t v = image.residual[(uint64_t)y * image.width + x];
		int32_t green = (int8_t)(v >> 8), red = (int8_t)(v >> 16);
		const uint16_t *table = table_at(image, x, y);
		if (blue)
			sum += table[blue_at + ((v - (uint32_t)(a * green >> 5) - (uint32_t)(b * red >> 5)) & 255)];
		else
			sum += table[red_at + (((v >> 16) - (uint32_t)(a * green >> 5)) & 255)];
	}
	return warp_total(sum) * image.skip;
}

DEVICE bool is_multiplier(int32_t v) { return v >= -128 && v <= 127; }

// Moves green-to-red of m by each step once down or, where that is no gain, up.
DEVICE uint32_t search_red(const Slot &image, const Tile &t, uint32_t m)
{
	const uint16_t *own = image.multiplier_costs + 2 * 256;
	int32_t a = (int8_t)m;
	uint32_t best = channel_cost<false>(image, t, a, 0) + own[a & 255];
	for (uint32_t i = 0; i < image.count; i++) {
		int32_t from = a, step = (int32_t)image.steps[i];
		for (int32_t k = 0; k < 2 && a == from; k++) {
			int32_t c = k == 0 ? from - step : from + step;
			if (!is_multiplier(c))
				continue;
			uint32_t sum = channel_cost<false>(image, t, c, 0) + own[c & 255];
			if (sum < best) {
				best = sum;
				a = c;
			}
		}
	}
	return (m & 0xffffff00) | (a & 255);
}

// Moves green-to-blue and red-to-blue of m by each step to the best of four neighbours, at most twice.
DEVICE uint32_t search_blue(const Slot &image, const Tile &t, uint32_t m)
{
	const uint16_t *red_costs = image.multiplier_costs, *green_costs = red_costs + 256;
	int32_t a = (int8_t)(m >> 8), b = (int8_t)(m >> 16);
	uint32_t best = channel_cost<true>(image, t, a, b) + green_costs[a & 255] + red_costs[b & 255];
	for (uint32_t i = 0; i < image.count; i++) {
		int32_t step = (int32_t)image.steps[i];
		for (uint32_t again = 0; again < 2; again++) {
			int32_t a0 = a, b0 = b;
			for (uint32_t k = 0; k < 4; k++) {
				int32_t d = k % 2 == 0 ? -step : step;
				int32_t c = k < 2 ? a0 + d : a0, e = k < 2 ? b0 : b0 + d;
				if (!is_multiplier(c) || !is_multiplier(e))
					continue;
				uint32_t sum = channel_cost<true>(image, t, c, e) + green_costs[c & 255] + red_costs[e & 255];
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
KERNEL webp_choose_multipliers(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t tile = thread() / warp_size;
	if (tile >= (uint64_t)tiles(image.width, image.colour_bits) * tiles(image.height, image.colour_bits))
		return;
	Tile t(image, image.colour_bits, tile);
	uint32_t m = search_red(image, t, image.multipliers[tile]);
	m = search_blue(image, t, m);
	if (lane() == 0)
		image.multipliers[tile] = m;
	else if (lane() <= 3)
		add_to(&image.result[256 * (lane() - 1) + (m >> 8 * (3 - lane()) & 255)], 1);
}

// The residuals after the colour transform, if there is one, in coded. One thread per pixel of image blockIdx.y.
KERNEL webp_apply_multipliers(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t i = thread();
	if (image.multipliers == nullptr || i >= (uint64_t)image.width * image.height)
		return;
	uint32_t x = (uint32_t)i % image.width, y = (uint32_t)i / image.width;
	image.coded[i] = apply_multipliers(image.residual[i], multipliers_at(image, x, y));
}
