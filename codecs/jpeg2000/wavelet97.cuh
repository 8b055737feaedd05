// The irreversible 9/7 transform (ISO/IEC 15444-1, F.3 and F.4), a level at a time, laid out as the 5/3 transform is. Every
// sum and product is rounded to float32, in the order of package wavelet, and none are fused: the same numbers on every
// machine.
#pragma once

#include "wavelet53.cuh"

constexpr uint32_t around97 = 4; // samples that a coefficient depends on to each side

using Tile97 = TileOf<float, around97>;

// A constant of the header.
DEVICE float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }

// Position i of n as the symmetric extension has it.
DEVICE uint32_t mirrored(int32_t i, uint32_t n)
{
	if (n == 1)
		return 0;
	uint32_t period = 2 * (n - 1), at = (uint32_t)(i < 0 ? -i : i) % period;
	return least(at, period - at);
}

// Adds the product of k and the sum of two neighbours.
template <uint32_t k, bool minus> DEVICE float add_product(float v, float a, float b)
{
	float factor = minus ? -float_of(k) : float_of(k);
	float sum = a + b, product = factor * sum;
	return v + product;
}

// Multiplies the rows from first to end - 1, all columns: those of even numbers by even, the others by odd. All threads of the
// block call.
DEVICE void scale_rows(Tile97 &s, int32_t first, int32_t end, float even, float odd)
{
	constexpr uint32_t columns = tile_width + 2 * around97;
	for (uint32_t i = threadIdx.x; i < (uint32_t)(end - first) * columns; i += block_threads) {
		int32_t y = first + (int32_t)(i / columns) + (int32_t)around97;
		s.at[y][i % columns] *= ((y & 1) == 0 ? even : odd);
	}
	sync_block();
}

// Likewise the columns of the rows from top to bottom - 1.
DEVICE void scale_columns(Tile97 &s, int32_t top, int32_t bottom, float even, float odd)
{
	constexpr uint32_t columns = tile_width + 2 * around97;
	for (uint32_t i = threadIdx.x; i < (uint32_t)(bottom - top) * columns; i += block_threads) {
		int32_t y = top + (int32_t)(i / columns) + (int32_t)around97;
		uint32_t x = i % columns;
		s.at[y][x] *= ((x & 1) == 0 ? even : odd);
	}
	sync_block();
}

// Transforms a level of the planes, see jpeg2000_forward53.
KERNEL __launch_bounds__(block_threads) jpeg2000_forward97(const Plane *__restrict__ planes, uint32_t level, uint32_t levels)
{
	__shared__ Tile97 s;
	const Plane p = planes[blockIdx.z];
	LevelOf l(p, level);
	int32_t left = (int32_t)(blockIdx.x * tile_width) - (int32_t)l.odd_x, top = (int32_t)(blockIdx.y * tile_height) - (int32_t)l.odd_y;
	if (left >= (int32_t)l.width || top >= (int32_t)l.height || l.width == 0 || l.height == 0)
		return;
	const float *source = (const float *)((level & 1) != 0 ? p.first : p.second);
	float *low = (float *)((level & 1) != 0 ? p.second : p.first);
	constexpr uint32_t columns = tile_width + 2 * around97, rows = tile_height + 2 * around97;
	constexpr int32_t height = tile_height, width = tile_width;
	for (uint32_t i = threadIdx.x; i < rows * columns; i += block_threads) {
		int32_t x = left + (int32_t)(i % columns) - (int32_t)around97, y = top + (int32_t)(i / columns) - (int32_t)around97;
		s.at[i / columns][i % columns] = source[(uint64_t)mirrored(y, l.height) * l.width + mirrored(x, l.width)];
	}
	sync_block();
	if (l.height > 1) {
		lift_rows(s, -3, height + 2, add_product<alpha97, false>);
		lift_rows(s, -2, height + 1, add_product<beta97, false>);
		lift_rows(s, -1, height, add_product<gamma97, false>);
		lift_rows(s, 0, height, add_product<delta97, false>);
		scale_rows(s, 0, height, float_of(low97), float_of(high97));
	} else if (l.odd_y != 0) {
		scale_rows(s, 1, 2, 2, 2);
	}
	if (l.width > 1) {
		lift_columns(s, -3, width + 2, 0, height, add_product<alpha97, false>);
		lift_columns(s, -2, width + 1, 0, height, add_product<beta97, false>);
		lift_columns(s, -1, width, 0, height, add_product<gamma97, false>);
		lift_columns(s, 0, width, 0, height, add_product<delta97, false>);
		scale_columns(s, 0, height, float_of(low97), float_of(high97));
	} else if (l.odd_x != 0) {
		scale_columns(s, 0, height, 2, 2);
	}
	for (uint32_t i = threadIdx.x; i < tile_height * tile_width; i += block_threads) {
		// Neighbouring threads write neighbours of a subband.
		uint32_t k = i % tile_width, across = k < tile_width / 2 ? 2 * k : 2 * (k - tile_width / 2) + 1;
		int32_t x = left + (int32_t)across, y = top + (int32_t)(i / tile_width);
		if (x < 0 || y < 0 || x >= (int32_t)l.width || y >= (int32_t)l.height)
			continue;
		float v = s.at[i / tile_width + around97][across + around97];
		uint32_t cx = deinterleaved((uint32_t)x, l.odd_x, l.low_width), cy = deinterleaved((uint32_t)y, l.odd_y, l.low_height);
		if (cx < l.low_width && cy < l.low_height && level < levels)
			low[(uint64_t)cy * l.low_width + cx] = v;
		else
			((float *)p.coefficients)[(uint64_t)cy * p.stride + cx] = v;
	}
}

// The inverse, see jpeg2000_inverse53.
KERNEL __launch_bounds__(block_threads) jpeg2000_inverse97(const Plane *__restrict__ planes, uint32_t level, uint32_t levels)
{
	__shared__ Tile97 s;
	const Plane p = planes[blockIdx.z];
	LevelOf l(p, level);
	int32_t left = (int32_t)(blockIdx.x * tile_width) - (int32_t)l.odd_x, top = (int32_t)(blockIdx.y * tile_height) - (int32_t)l.odd_y;
	if (left >= (int32_t)l.width || top >= (int32_t)l.height || l.width == 0 || l.height == 0)
		return;
	float *to = (float *)((level & 1) != 0 ? p.first : p.second);
	const float *low = (const float *)((level & 1) != 0 ? p.second : p.first);
	constexpr uint32_t columns = tile_width + 2 * around97, rows = tile_height + 2 * around97;
	constexpr int32_t height = tile_height, width = tile_width, first = -(int32_t)around97, end = height + (int32_t)around97;
	for (uint32_t i = threadIdx.x; i < rows * columns; i += block_threads) {
		int32_t x = left + (int32_t)(i % columns) - (int32_t)around97, y = top + (int32_t)(i / columns) - (int32_t)around97;
		uint32_t cx = deinterleaved(mirrored(x, l.width), l.odd_x, l.low_width), cy = deinterleaved(mirrored(y, l.height), l.odd_y, l.low_height);
		bool between = cx < l.low_width && cy < l.low_height && level < levels;
		s.at[i / columns][i % columns] = between ? low[(uint64_t)cy * l.low_width + cx] : ((const float *)p.coefficients)[(uint64_t)cy * p.stride + cx];
	}
	sync_block();
	if (l.width > 1) {
		scale_columns(s, first, end, float_of(high97), float_of(low97));
		lift_columns(s, -2, width + 3, first, end, add_product<delta97, true>);
		lift_columns(s, -1, width + 2, first, end, add_product<gamma97, true>);
		lift_columns(s, 0, width + 1, first, end, add_product<beta97, true>);
		lift_columns(s, 1, width, first, end, add_product<alpha97, true>);
	} else if (l.odd_x != 0) {
		scale_columns(s, first, end, 0.5f, 0.5f);
	}
	if (l.height > 1) {
		scale_rows(s, first, end, float_of(high97), float_of(low97));
		lift_rows(s, -2, height + 3, add_product<delta97, true>);
		lift_rows(s, -1, height + 2, add_product<gamma97, true>);
		lift_rows(s, 0, height + 1, add_product<beta97, true>);
		lift_rows(s, 1, height, add_product<alpha97, true>);
	} else if (l.odd_y != 0) {
		scale_rows(s, 1, 2, 0.5f, 0.5f);
	}
	for (uint32_t i = threadIdx.x; i < tile_height * tile_width; i += block_threads) {
		int32_t x = left + (int32_t)(i % tile_width), y = top + (int32_t)(i / tile_width);
		if (x >= 0 && y >= 0 && x < (int32_t)l.width && y < (int32_t)l.height)
			to[(uint64_t)y * l.width + (uint32_t)x] = s.at[i / tile_width + around97][i % tile_width + around97];
	}
}
