// The reversible 5/3 transform (ISO/IEC 15444-1, F.3 and F.4), a level at a time. A block of threads takes a tile of 64 x 32
// samples with what it needs around, lifts it in shared memory and writes the parts of its four subbands.
//
// The subbands of all levels lie in one plane of the component's size, the low-pass one of each level in the upper left
// corner of where the level before had its own. Between two levels the low-pass one is in a buffer of its own.
//
//	 LL HL
//	 LH HH
#pragma once

#include "shared.cuh"

constexpr uint32_t around = 2; // samples that a low-pass coefficient depends on to each side

// A level of a component: the samples it is made of, [x0, x1) x [y0, y1) on its grid.
struct LevelOf {
	uint32_t width, height; // of the samples
	uint32_t odd_x, odd_y;	// 1: the first column or row is high-pass
	uint32_t low_width, low_height;

	__device__ LevelOf(const Plane &p, uint32_t level)
	{
		uint32_t x0 = up(p.x0, level - 1), x1 = up(p.x1, level - 1), y0 = up(p.y0, level - 1), y1 = up(p.y1, level - 1);
		width = x1 - x0, height = y1 - y0;
		odd_x = x0 & 1, odd_y = y0 & 1;
		low_width = up(x1, 1) - up(x0, 1), low_height = up(y1, 1) - up(y0, 1);
	}

	static __device__ uint32_t up(uint32_t v, uint32_t shift) { return (uint32_t)(((uint64_t)v + (1ull << shift) - 1) >> shift); }
};

// Position i of n as the symmetric extension has it; i is at most n + 2 * tile_width.
DEVICE uint32_t extended(int32_t i, uint32_t n)
{
	int32_t last = (int32_t)n - 1;
	i = i < 0 ? -i : i;
	i = i > last ? 2 * last - i : i;
	i = i < 0 ? -i : i;
	return (uint32_t)(i > last ? last : i);
}

// Where sample i of a line is among its coefficients: the low-pass ones come first.
DEVICE uint32_t deinterleaved(uint32_t i, uint32_t odd, uint32_t low) { return ((i + odd) & 1) == 0 ? (i + odd) / 2 - odd : low + (i + odd - 1) / 2; }

// Shared memory of a tile: sample (x, y) of the tile is at [y + margin][x + margin].
template <typename T, uint32_t margin> struct TileOf {
	T at[tile_height + 2 * margin][tile_width + 2 * margin + 1];
};

using Tile = TileOf<int32_t, around>;

// One lifting step of the tile's rows from first on, every other: all columns. All threads of the block call.
template <typename T, uint32_t margin, typename F> DEVICE void lift_rows(TileOf<T, margin> &s, int32_t first, int32_t end, F f)
{
	constexpr uint32_t columns = tile_width + 2 * margin;
	int32_t rows = (end - first + 1) / 2;
	for (uint32_t i = threadIdx.x; i < rows * columns; i += block_threads) {
		int32_t y = first + 2 * (int32_t)(i / columns) + (int32_t)margin, x = (int32_t)(i % columns);
		s.at[y][x] = f(s.at[y][x], s.at[y - 1][x], s.at[y + 1][x]);
	}
	sync_block();
}

// Likewise of its columns, in the rows from top to bottom - 1.
template <typename T, uint32_t margin, typename F> DEVICE void lift_columns(TileOf<T, margin> &s, int32_t first, int32_t end, int32_t top, int32_t bottom, F f)
{
	uint32_t columns = (uint32_t)((end - first + 1) / 2);
	for (uint32_t i = threadIdx.x; i < (uint32_t)(bottom - top) * columns; i += block_threads) {
		int32_t x = first + 2 * (int32_t)(i % columns) + (int32_t)margin, y = top + (int32_t)(i / columns) + (int32_t)margin;
		s.at[y][x] = f(s.at[y][x], s.at[y][x - 1], s.at[y][x + 1]);
	}
	sync_block();
}

DEVICE int32_t minus_half(int32_t v, int32_t a, int32_t b) { return v - ((a + b) >> 1); }
DEVICE int32_t plus_half(int32_t v, int32_t a, int32_t b) { return v + ((a + b) >> 1); }
DEVICE int32_t plus_quarter(int32_t v, int32_t a, int32_t b) { return v + ((a + b + 2) >> 2); }
DEVICE int32_t minus_quarter(int32_t v, int32_t a, int32_t b) { return v - ((a + b + 2) >> 2); }

// Transforms a level of the planes. source holds its samples, rows source_stride apart; low receives the low-pass subband
// unless the level is the last, and coefficients the others.
KERNEL __launch_bounds__(block_threads) jpeg2000_forward53(const Plane *__restrict__ planes, uint32_t level, uint32_t levels)
{
	__shared__ Tile s;
	const Plane p = planes[blockIdx.z];
	LevelOf l(p, level);
	int32_t left = (int32_t)(blockIdx.x * tile_width) - (int32_t)l.odd_x, top = (int32_t)(blockIdx.y * tile_height) - (int32_t)l.odd_y;
	if (left >= (int32_t)l.width || top >= (int32_t)l.height || l.width == 0 || l.height == 0)
		return;
	const int32_t *source = (level & 1) != 0 ? p.first : p.second;
	int32_t *low = (level & 1) != 0 ? p.second : p.first;
	constexpr uint32_t columns = tile_width + 2 * around, rows = tile_height + 2 * around;
	for (uint32_t i = threadIdx.x; i < rows * columns; i += block_threads) {
		int32_t x = left + (int32_t)(i % columns) - (int32_t)around, y = top + (int32_t)(i / columns) - (int32_t)around;
		s.at[i / columns][i % columns] = source[(uint64_t)extended(y, l.height) * l.width + extended(x, l.width)];
	}
	sync_block();
	if (l.height > 1) {
		lift_rows(s, -1, tile_height + 1, minus_half);
		lift_rows(s, 0, tile_height, plus_quarter);
	} else if (l.odd_y != 0) {
		lift_rows(s, 1, 2, [](int32_t v, int32_t, int32_t) { return 2 * v; });
	}
	if (l.width > 1) {
		lift_columns(s, -1, tile_width + 1, 0, tile_height, minus_half);
		lift_columns(s, 0, tile_width, 0, tile_height, plus_quarter);
	} else if (l.odd_x != 0) {
		lift_columns(s, 1, 2, 0, tile_height, [](int32_t v, int32_t, int32_t) { return 2 * v; });
	}
	for (uint32_t i = threadIdx.x; i < tile_height * tile_width; i += block_threads) {
		// Neighbouring threads write neighbours of a subband.
		uint32_t k = i % tile_width, across = k < tile_width / 2 ? 2 * k : 2 * (k - tile_width / 2) + 1;
		int32_t x = left + (int32_t)across, y = top + (int32_t)(i / tile_width);
		if (x < 0 || y < 0 || x >= (int32_t)l.width || y >= (int32_t)l.height)
			continue;
		int32_t v = s.at[i / tile_width + around][across + around];
		uint32_t cx = deinterleaved((uint32_t)x, l.odd_x, l.low_width), cy = deinterleaved((uint32_t)y, l.odd_y, l.low_height);
		if (cx < l.low_width && cy < l.low_height && level < levels)
			low[(uint64_t)cy * l.low_width + cx] = v;
		else
			p.coefficients[(uint64_t)cy * p.stride + cx] = v;
	}
}

// The inverse: joins the subbands of a level to its samples, which go to where the forward transform had them.
KERNEL __launch_bounds__(block_threads) jpeg2000_inverse53(const Plane *__restrict__ planes, uint32_t level, uint32_t levels)
{
	__shared__ Tile s;
	const Plane p = planes[blockIdx.z];
	LevelOf l(p, level);
	int32_t left = (int32_t)(blockIdx.x * tile_width) - (int32_t)l.odd_x, top = (int32_t)(blockIdx.y * tile_height) - (int32_t)l.odd_y;
	if (left >= (int32_t)l.width || top >= (int32_t)l.height || l.width == 0 || l.height == 0)
		return;
	int32_t *to = (level & 1) != 0 ? p.first : p.second;
	const int32_t *low = (level & 1) != 0 ? p.second : p.first;
	constexpr uint32_t columns = tile_width + 2 * around, rows = tile_height + 2 * around;
	for (uint32_t i = threadIdx.x; i < rows * columns; i += block_threads) {
		int32_t x = left + (int32_t)(i % columns) - (int32_t)around, y = top + (int32_t)(i / columns) - (int32_t)around;
		uint32_t cx = deinterleaved(extended(x, l.width), l.odd_x, l.low_width), cy = deinterleaved(extended(y, l.height), l.odd_y, l.low_height);
		bool between = cx < l.low_width && cy < l.low_height && level < levels;
		s.at[i / columns][i % columns] = between ? low[(uint64_t)cy * l.low_width + cx] : p.coefficients[(uint64_t)cy * p.stride + cx];
	}
	sync_block();
	if (l.width > 1) {
		lift_columns(s, 0, tile_width + 1, -1, tile_height + 2, minus_quarter);
		lift_columns(s, 1, tile_width, -1, tile_height + 2, plus_half);
	} else if (l.odd_x != 0) {
		lift_columns(s, 1, 2, -1, tile_height + 2, [](int32_t v, int32_t, int32_t) { return v >> 1; });
	}
	if (l.height > 1) {
		lift_rows(s, 0, tile_height + 1, minus_quarter);
		lift_rows(s, 1, tile_height, plus_half);
	} else if (l.odd_y != 0) {
		lift_rows(s, 1, 2, [](int32_t v, int32_t, int32_t) { return v >> 1; });
	}
	for (uint32_t i = threadIdx.x; i < tile_height * tile_width; i += block_threads) {
		int32_t x = left + (int32_t)(i % tile_width), y = top + (int32_t)(i / tile_width);
		if (x >= 0 && y >= 0 && x < (int32_t)l.width && y < (int32_t)l.height)
			to[(uint64_t)y * l.width + (uint32_t)x] = s.at[i / tile_width + around][i % tile_width + around];
	}
}
