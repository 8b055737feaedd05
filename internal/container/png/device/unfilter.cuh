// Unfilters the rows of the images of a batch (PNG specification, 9.2), a warp for each.
//
// A lane has a row, and lane i is i pixels behind lane i-1: so the pixel above is what its neighbour wrote in the step before,
// the one above left what it used in its own step before, and the one to the left its own. The pixels of a warp's first
// row are unfiltered from memory, where the warp has written the row before.
//
//   step t:  lane 0  pixel t     of row y
//            lane 1  pixel t-1   of row y+1
//            lane 2  pixel t-2   of row y+2
#pragma once

#include "shared.cuh"

constexpr uint32_t filter_none = 0, filter_sub = 1, filter_up = 2, filter_average = 3, filter_paeth = 4;

// The pixel of size bytes, 1 to 4, at a place, the first byte lowest.
DEVICE uint32_t load_pixel(const uint8_t *at, uint32_t size)
{
	uint32_t v = at[0];
	if (size > 1)
		v |= (uint32_t)at[1] << 8;
	if (size > 2)
		v |= (uint32_t)at[2] << 16;
	if (size > 3)
		v |= (uint32_t)at[3] << 24;
	return v;
}

DEVICE void store_pixel(uint8_t *at, uint32_t size, uint32_t v)
{
	at[0] = (uint8_t)v;
	if (size > 1)
		at[1] = (uint8_t)(v >> 8);
	if (size > 2)
		at[2] = (uint8_t)(v >> 16);
	if (size > 3)
		at[3] = (uint8_t)(v >> 24);
}

DEVICE uint32_t distance_of(int32_t v) { return (uint32_t)(v < 0 ? -v : v); }

// What a filter predicts of a byte from those to the left, above and above left; 0 for what lies outside of the image.
DEVICE int32_t predicted(uint32_t filter, int32_t a, int32_t b, int32_t c)
{
	uint32_t pa = distance_of(b - c), pb = distance_of(a - c), pc = distance_of(a + b - 2 * c);
	int32_t paeth = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
	return filter == filter_paeth ? paeth : filter == filter_average ? (a + b) / 2 : filter == filter_up ? b : filter == filter_sub ? a : 0;
}

// The pixel of its residual v, by bytes.
DEVICE uint32_t unfiltered(uint32_t filter, uint32_t v, uint32_t left, uint32_t up, uint32_t up_left)
{
	uint32_t r = 0;
#pragma unroll
	for (uint32_t k = 0; k < 32; k += 8) {
		int32_t p = predicted(filter, (int32_t)(left >> k & 255), (int32_t)(up >> k & 255), (int32_t)(up_left >> k & 255));
		r |= ((v >> k) + (uint32_t)p & 255u) << k;
	}
	return r;
}

// All threads of a warp call. Lane 0 holds the result: whether all filters exist.
DEVICE bool unfilter(const Image &m)
{
	uint32_t size = m.pixel_bytes, width = m.row_bytes / size;
	uint32_t bad = 0;
	for (uint32_t y0 = 0; y0 < m.height; y0 += warp_size) {
		uint32_t y = y0 + lane();
		bool inside = y < m.height;
		const uint8_t *row = m.raw + (uint64_t)y * (1 + m.row_bytes) + 1;
		uint8_t *to = m.samples + (uint64_t)y * m.row_bytes;
		uint32_t filter = inside ? row[-1] : filter_none;
		bad |= filter > filter_paeth;
		uint32_t left = 0, up_left = 0, mine = 0;
		bool first = y0 == 0 && lane() == 0;
		uint32_t ahead[ahead_pixels], above[ahead_pixels];
		uint32_t steps = (width + warp_size - 1 + ahead_pixels - 1) / ahead_pixels * ahead_pixels;
		for (uint32_t t0 = 0; t0 < steps; t0 += ahead_pixels) {
			// Loads of several steps at once wait for memory together.
#pragma unroll
			for (uint32_t k = 0; k < ahead_pixels; k++) {
				uint32_t x = t0 + k - lane();
				bool is = inside && x < width;
				ahead[k] = is ? load_pixel(row + (uint64_t)x * size, size) : 0;
				above[k] = lane() == 0 && y0 > 0 && is ? load_pixel(to + (uint64_t)x * size - m.row_bytes, size) : 0;
			}
#pragma unroll
			for (uint32_t k = 0; k < ahead_pixels; k++) {
				uint32_t x = t0 + k - lane();
				uint32_t up = shuffle_up(mine, 1);
				if (lane() == 0)
					up = first ? 0 : above[k];
				if (inside && x < width) {
					mine = unfiltered(filter, ahead[k], left, up, up_left);
					left = mine;
					up_left = up;
					store_pixel(to + (uint64_t)x * size, size, mine);
				}
			}
		}
		sync_warp(); // lane 0 reads what lane 31 has written
	}
	return ballot(bad != 0) == 0;
}
