// Levels of the wavelet transforms of two taps, in registers: 5/3 and the one without update.
//
// A thread takes a pair of neighbouring columns, an even and an odd one, of pair_rows rows. It has what these rows need above and
// below, and the columns beside come from the threads beside, so that there is no shared memory and no barrier. The first
// and the last thread of a warp have their pairs only for those beside.
//
//	lane      0         1         2    ...    30        31
//	columns   2p-2 -1   2p 2p+1   ...         ... +59   2p+60 +61      p = 30 x number of the warp in its rows
//	written             <------------------------->
#pragma once

#include "../../gpu/include/warp.cuh"
#include "wavelet.cuh"

constexpr uint32_t pair_rows = 8;
constexpr uint32_t pair_lanes = warp_size - 2;

// The pairs of a warp. Blocks take them in turns.
struct Pairs {
	uint32_t across, count; // warps in a row, and in all rows

	__device__ Pairs(const Level &l)
	{
		across = ((l.extended_width + 1) / 2 + pair_lanes - 1) / pair_lanes;
		count = across * ((l.extended_height + pair_rows - 1) / pair_rows);
	}
	__device__ static uint32_t first() { return blockIdx.x * (tile_threads / warp_size) + warp(); }
	__device__ static uint32_t step() { return gridDim.x * (tile_threads / warp_size); }
	// The first column of the thread's pair, at least -2, and the first row.
	__device__ int32_t column(uint32_t i) const { return 2 * (int32_t)(i % across * pair_lanes + lane()) - 2; }
	__device__ uint32_t row(uint32_t i) const { return i / across * pair_rows; }
	__device__ static bool writes() { return lane() - 1 < pair_lanes; }
};

struct Pair {
	int32_t even, odd;
};

// Sums of neighbours as the steps take them.
DEVICE int32_t high_step(int32_t a, int32_t b) { return (a + b) >> 1; }
template <bool update> DEVICE int32_t low_step(int32_t a, int32_t b) { return update ? (a + b + 2) >> 2 : 0; }

// Steps along a row. All threads of the warp call.
template <bool update> DEVICE Pair split_row(const Pair &v)
{
	Pair r;
	r.odd = v.odd - high_step(v.even, (int32_t)shuffle_down((uint32_t)v.even, 1));
	r.even = v.even + low_step<update>((int32_t)shuffle_up((uint32_t)r.odd, 1), r.odd);
	return r;
}

template <bool update> DEVICE Pair join_row(const Pair &v)
{
	Pair r;
	r.even = v.even - low_step<update>((int32_t)shuffle_up((uint32_t)v.odd, 1), v.odd);
	r.odd = v.odd + high_step(r.even, (int32_t)shuffle_down((uint32_t)r.even, 1));
	return r;
}

template <bool update> DEVICE void split_pairs(const Level &l)
{
	constexpr uint32_t half = pair_rows / 2;
	Pairs p(l);
	bool wide = false;
	for (uint32_t i = Pairs::first(); i < p.count; i += Pairs::step()) {
		int32_t x = p.column(i), y = (int32_t)p.row(i);
		uint32_t left = least(mirrored(x, l.extended_width), l.width - 1), right = least(mirrored(x + 1, l.extended_width), l.width - 1);
		Pair v[pair_rows + 3]; // from row y - 2 on
#pragma unroll
		for (uint32_t j = 0; j < pair_rows + 3; j++) {
			const int32_t *row = l.samples + (uint64_t)least(mirrored(y - 2 + (int32_t)j, l.extended_height), l.height - 1) * l.width;
			v[j] = {row[left], row[right]};
		}
#pragma unroll
		for (uint32_t j = 0; j < pair_rows + 3; j++)
			v[j] = split_row<update>(v[j]);
#pragma unroll
		for (uint32_t j = 1; j < pair_rows + 2; j += 2)
			v[j].even -= high_step(v[j - 1].even, v[j + 1].even), v[j].odd -= high_step(v[j - 1].odd, v[j + 1].odd);
#pragma unroll
		for (uint32_t j = 2; j < pair_rows + 2; j += 2)
			v[j].even += low_step<update>(v[j - 1].even, v[j + 1].even), v[j].odd += low_step<update>(v[j - 1].odd, v[j + 1].odd);
		if (!Pairs::writes() || x >= (int32_t)l.extended_width)
			continue;
		uint32_t column = (uint32_t)x / 2, row = (uint32_t)y / 2;
		bool odd = (uint32_t)x + 1 < l.extended_width;
#pragma unroll
		for (uint32_t j = 0; j < half; j++) {
			const Pair &low = v[2 * j + 2], &high = v[2 * j + 3];
			if (2 * (row + j) < l.extended_height) {
				l.ll[(uint64_t)(row + j) * l.low_stride + column] = low.even;
				if (odd)
					l.hl[(uint64_t)(row + j) * l.high_stride + column] = low.odd;
				wide = wide || is_wide(low.even) || (odd && is_wide(low.odd));
			}
			if (2 * (row + j) + 1 < l.extended_height) {
				l.lh[(uint64_t)(row + j) * l.stride + column] = high.even;
				if (odd)
					l.hh[(uint64_t)(row + j) * l.high_stride + column] = high.odd;
				wide = wide || is_wide(high.even) || (odd && is_wide(high.odd));
			}
		}
	}
	if (l.wide && wide)
		*l.wide = 1; // any thread, the same value
}

template <bool update> DEVICE void join_pairs(const Level &l)
{
	constexpr uint32_t half = pair_rows / 2;
	Pairs p(l);
	bool wide = false;
	for (uint32_t i = Pairs::first(); i < p.count; i += Pairs::step()) {
		int32_t x = p.column(i), y = (int32_t)p.row(i);
		uint32_t left = mirrored(x, l.extended_width) / 2, right = mirrored(x + 1, l.extended_width) / 2;
		Pair low[half + 1], high[half + 2]; // from rows y and y - 1 on
#pragma unroll
		for (uint32_t j = 0; j < half + 1; j++) {
			uint64_t row = mirrored(y + 2 * (int32_t)j, l.extended_height) / 2;
			low[j] = {l.ll[row * l.low_stride + left], l.hl[row * l.high_stride + right]};
		}
#pragma unroll
		for (uint32_t j = 0; j < half + 2; j++) {
			uint64_t row = mirrored(y - 1 + 2 * (int32_t)j, l.extended_height) / 2;
			high[j] = {l.lh[row * l.stride + left], l.hh[row * l.high_stride + right]};
		}
#pragma unroll
		for (uint32_t j = 0; j < half + 1; j++)
			low[j].even -= low_step<update>(high[j].even, high[j + 1].even), low[j].odd -= low_step<update>(high[j].odd, high[j + 1].odd);
#pragma unroll
		for (uint32_t j = 0; j < half; j++)
			high[j + 1].even += high_step(low[j].even, low[j + 1].even), high[j + 1].odd += high_step(low[j].odd, low[j + 1].odd);
#pragma unroll
		for (uint32_t j = 0; j < pair_rows; j++) {
			Pair v = join_row<update>(j % 2 ? high[j / 2 + 1] : low[j / 2]);
			if (!Pairs::writes() || (uint32_t)y + j >= l.height)
				continue;
			int32_t *to = l.samples + (uint64_t)((uint32_t)y + j) * l.width;
			if (x < (int32_t)l.width)
				to[x] = v.even, wide = wide || is_wide(v.even);
			if (x + 1 < (int32_t)l.width)
				to[x + 1] = v.odd, wide = wide || is_wide(v.odd);
		}
	}
	if (l.wide && wide)
		*l.wide = 1; // any thread, the same value
}

// A level. blockIdx.y is the level in the list, of which a block takes pairs or, with four taps, tiles.
template <bool forward> DEVICE void transform(const Level &l)
{
	__shared__ Tile<FourTaps> tile;
	switch (l.filter) {
	case filter_53:
		forward ? split_pairs<true>(l) : join_pairs<true>(l);
		return;
	case filter_2:
		forward ? split_pairs<false>(l) : join_pairs<false>(l);
		return;
	}
	uint32_t across = (l.extended_width + tile_width - 1) / tile_width;
	uint32_t x0 = blockIdx.x % across * tile_width, y0 = blockIdx.x / across * tile_height;
	if (y0 < l.extended_height)
		forward ? split(l, tile, x0, y0) : join(l, tile, x0, y0);
}

// Forward.
KERNEL __launch_bounds__(tile_threads) pcwt_split(const Level *__restrict__ list) { transform<true>(list[blockIdx.y]); }

// Inverse.
KERNEL __launch_bounds__(tile_threads) pcwt_join(const Level *__restrict__ list) { transform<false>(list[blockIdx.y]); }
