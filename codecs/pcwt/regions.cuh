// Profile 1: the positions of a level in regions, and what a block of threads has of one in shared memory.
//
// The terms of neighbouring coefficients are of the same neighbours. So a block loads LL and the bands of its region once, with a
// margin around it in which stands what terms see there: of LL the nearest sample, of bands the column that the mirror gives and
// the nearest row of the tile's part. Then a term is one load from a place that is known when this is compiled. A region lies in
// one tile. All threads of a block call what loads; other functions have no barriers.
//
//	column  -2  0 ... 63  66
//	row -2  +------------+
//	        | 64 x 16    |    thread t takes column t mod 64 of rows t / 64, t / 64 + 4, ...
//	row 18  +------------+
#pragma once

#include "position.cuh"

constexpr uint32_t region_margin = 2;
constexpr uint32_t staged_width = region_width + 5;
constexpr uint32_t staged_stride = region_width + 6;
constexpr uint32_t low_rows = region_height + 5;
constexpr uint32_t band_rows = region_height + 4;

// A region of a level of the list.
struct Region {
	uint32_t px, py; // in the bands
	uint32_t tx, ty; // its tile
	bool inside;

	__device__ Region(const Model &m)
	{
		uint32_t across = (m.width + region_width - 1) / region_width;
		px = blockIdx.x % across * region_width, py = blockIdx.x / across * region_height;
		tx = px >> m.log_side, ty = py >> m.log_side;
		inside = py < m.height;
	}
};

// Whether sums of the region's picture have to be limited, the same for all threads: other blocks may say so meanwhile.
DEVICE bool region_is_wide(const Model &m)
{
	__shared__ uint32_t wide;
	if (threadIdx.x == 0)
		wide = *m.wide;
	sync_block(); // every thread reads it
	return wide;
}

// Fills rows of shared memory with what load gives for a row and a column. All loads of a thread are under way at the same time.
template <class Load> DEVICE void stage(int16_t *to, uint32_t rows, const Load &load)
{
	constexpr uint32_t warps = region_threads / warp_size, down = (low_rows + warps - 1) / warps, across = (staged_width + warp_size - 1) / warp_size;
	int32_t v[down][across];
#pragma unroll
	for (uint32_t r = 0; r < down; r++)
#pragma unroll
		for (uint32_t c = 0; c < across; c++) {
			uint32_t j = warp() + r * warps, i = lane() + c * warp_size;
			v[r][c] = j < rows && i < staged_width ? load(j, i) : 0;
		}
#pragma unroll
	for (uint32_t r = 0; r < down; r++)
#pragma unroll
		for (uint32_t c = 0; c < across; c++) {
			uint32_t j = warp() + r * warps, i = lane() + c * warp_size;
			if (j < rows && i < staged_width)
				to[j * staged_stride + i] = (int16_t)v[r][c];
		}
}

// Loads LL.
template <bool small> DEVICE void stage_low(int16_t *to, const Model &m, const Region &g)
{
	stage(to, low_rows, [&](uint32_t j, uint32_t i) {
		const int32_t *row = m.low + (uint64_t)nearest((int32_t)(g.py + j - region_margin), m.height) * m.width;
		return sat<small>(row[nearest((int32_t)(g.px + i - region_margin), m.width)]);
	});
}

// Loads the part of a band in the region's tile: coefficients, or magnitudes of residuals.
template <bool magnitudes, bool small> DEVICE void stage_band(int16_t *to, const Model &m, const ModelBand &f, const Region &g)
{
	Part<true> part(f, m.side, g.tx, g.ty);
	int32_t x0 = (int32_t)(g.px - part.x0 - region_margin), y0 = (int32_t)(g.py - part.y0 - region_margin);
	stage(to, band_rows, [&](uint32_t j, uint32_t i) {
		int32_t x = x0 + (int32_t)i;
		if (part.empty() || x >= (int32_t)part.width + 3)
			return 0;
		uint32_t at = part.earlier_row(y0 + (int32_t)j) + part.column(x);
		return magnitudes ? magnitude_of<small>(f.e[at]) : sat<small>(f.c[at]);
	});
}

// Where a position stands.
DEVICE uint32_t staged_place(const Region &g, const Position &at)
{
	return (at.py - g.py + region_margin) * staged_stride + at.px - g.px + region_margin;
}

// A row in shared memory.
template <bool small> struct StagedRow {
	static constexpr bool is_small = small;
	const int16_t *s;

	__device__ int32_t operator()(int32_t x) const { return s[x]; }
};

// A band around a position, whose column is 0 or, if it is an odd one of the tile, 1.
template <bool small> struct Staged {
	const int16_t *s; // column 0
	using Row = StagedRow<small>;

	__device__ Staged(const int16_t *band, const Region &g, const Position &at)
		: s(band + staged_place(g, at) - (at.px & 1)) {}

	static constexpr bool empty() { return false; } // there are zeros
	__device__ Row row(int32_t below) const { return {s + below * (int32_t)staged_stride}; }
};
