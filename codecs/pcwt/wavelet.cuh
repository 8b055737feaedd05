// Levels of the wavelet transform of four taps, forward and inverse (codecs/internal/wavelet); pairs.cuh has those of two. A block of
// threads computes a tile of samples in shared memory, with as many neighbours around it as the filter reaches, so that no
// tile waits for another.
//
// The steps of a filter are symmetric, and so is the extension of the signal. So the halo, loaded by mirrored
// coordinates, takes the same steps as the tile, and needs no rule of its own at borders.
#pragma once

#include "../../gpu/include/base.cuh"
#include "model.cuh"

constexpr uint32_t tile_samples = tile_width * tile_height;

// The coordinate in [0, n) that stands at x in the whole-sample symmetric extension.
DEVICE uint32_t mirrored(int32_t x, uint32_t n)
{
	if (n == 1)
		return 0;
	int32_t end = (int32_t)n - 1;
	while (x < 0 || x > end)
		x = x < 0 ? -x : 2 * end - x;
	return (uint32_t)x;
}

// 13/7-T.
struct FourTaps {
	static constexpr uint32_t halo = 6;
	static constexpr uint32_t reach = 3;

	static __device__ int32_t high(const int32_t *s, int32_t step)
	{
		return (s[-3 * step] + s[3 * step] - 9 * (s[-step] + s[step]) + 8) >> 4;
	}
	static __device__ int32_t low(const int32_t *s, int32_t step)
	{
		return (9 * (s[-step] + s[step]) - s[-3 * step] - s[3 * step] + 16) >> 5;
	}
};

// A tile with its halo. Rows have an even length, so that columns of one parity lie in one half of the banks' order.
template <class F> struct Tile {
	static constexpr uint32_t width = tile_width + 2 * F::halo;
	static constexpr uint32_t height = tile_height + 2 * F::halo;
	int32_t s[height * width];

	__device__ int32_t *at(uint32_t x, uint32_t y) { return &s[y * width + x]; }
};

// One lifting step along rows, for the samples of one parity that have all neighbours within margin of the ends. All
// threads of the block call.
template <class F, bool of_high, int32_t sign> DEVICE void lift_rows(Tile<F> &t, uint32_t margin)
{
	uint32_t first = margin + ((margin ^ of_high) & 1), count = (Tile<F>::width - margin - first + 1) / 2;
	for (uint32_t i = threadIdx.x; i < count * Tile<F>::height; i += blockDim.x) {
		int32_t *s = t.at(first + 2 * (i % count), i / count);
		*s += sign * (of_high ? F::high(s, 1) : F::low(s, 1));
	}
	sync_block();
}

// The same along columns.
template <class F, bool of_high, int32_t sign> DEVICE void lift_columns(Tile<F> &t, uint32_t margin)
{
	uint32_t first = margin + ((margin ^ of_high) & 1), count = (Tile<F>::height - margin - first + 1) / 2;
	for (uint32_t i = threadIdx.x; i < count * Tile<F>::width; i += blockDim.x) {
		int32_t *s = t.at(i % Tile<F>::width, first + 2 * (i / Tile<F>::width));
		*s += sign * (of_high ? F::high(s, Tile<F>::width) : F::low(s, Tile<F>::width));
	}
	sync_block();
}

// The coefficient of a level at the interleaved coordinates (x, y).
DEVICE int32_t *coefficient(const Level &l, uint32_t x, uint32_t y)
{
	uint64_t column = x / 2, row = y / 2;
	switch (2 * (y & 1) + (x & 1)) {
	case 0: return l.ll + row * l.low_stride + column;
	case 1: return l.hl + row * l.high_stride + column;
	case 2: return l.lh + row * l.stride + column;
	default: return l.hh + row * l.high_stride + column;
	}
}

DEVICE void store(const Level &l, int32_t *to, int32_t v)
{
	*to = v;
	if (l.wide && is_wide(v))
		*l.wide = 1; // any thread, the same value
}

template <class F> DEVICE void split(const Level &l, Tile<F> &t, uint32_t x0, uint32_t y0)
{
	for (uint32_t i = threadIdx.x; i < Tile<F>::width * Tile<F>::height; i += blockDim.x) {
		uint32_t x = mirrored((int32_t)(x0 + i % Tile<F>::width) - (int32_t)F::halo, l.extended_width);
		uint32_t y = mirrored((int32_t)(y0 + i / Tile<F>::width) - (int32_t)F::halo, l.extended_height);
		x = x < l.width ? x : l.width - 1;
		y = y < l.height ? y : l.height - 1;
		t.s[i] = l.samples[(uint64_t)y * l.width + x];
	}
	sync_block();
	lift_rows<F, true, 1>(t, F::reach);
	lift_rows<F, false, 1>(t, 2 * F::reach);
	lift_columns<F, true, 1>(t, F::reach);
	lift_columns<F, false, 1>(t, 2 * F::reach);
	// A quarter of the threads' iterations for each band, so that stores run along its rows.
	for (uint32_t i = threadIdx.x; i < tile_samples; i += blockDim.x) {
		uint32_t band = i / (tile_samples / 4), j = i % (tile_samples / 4);
		uint32_t x = 2 * (j % (tile_width / 2)) + (band & 1), y = 2 * (j / (tile_width / 2)) + (band >> 1);
		if (x0 + x < l.extended_width && y0 + y < l.extended_height)
			store(l, coefficient(l, x0 + x, y0 + y), *t.at(x + F::halo, y + F::halo));
	}
}

// Loads a tile with its halo, whose corner is at an even position of the level. A warp takes a row, and a thread a pair of
// neighbours, which come from two bands; all loads of a thread are under way at the same time.
template <class F> DEVICE void load_bands(const Level &l, Tile<F> &t, uint32_t x0, uint32_t y0)
{
	constexpr uint32_t warps = tile_threads / warp_size, pairs = Tile<F>::width / 2;
	constexpr uint32_t down = (Tile<F>::height + warps - 1) / warps, across = (pairs + warp_size - 1) / warp_size;
	static_assert(F::halo % 2 == 0, "a pair begins with an even column");
	uint32_t column[across][2], first = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
#pragma unroll
	for (uint32_t c = 0; c < across; c++)
#pragma unroll
		for (uint32_t i = 0; i < 2; i++)
			column[c][i] = mirrored((int32_t)(x0 + 2 * (lane + c * warp_size) + i) - (int32_t)F::halo, l.extended_width);
	int32_t v[down][across][2];
#pragma unroll
	for (uint32_t r = 0; r < down; r++) {
		uint32_t y = mirrored((int32_t)(y0 + first + r * warps) - (int32_t)F::halo, l.extended_height);
		const int32_t *low = y & 1 ? l.lh + (uint64_t)(y / 2) * l.stride : l.ll + (uint64_t)(y / 2) * l.low_stride;
		const int32_t *high = (y & 1 ? l.hh : l.hl) + (uint64_t)(y / 2) * l.high_stride;
#pragma unroll
		for (uint32_t c = 0; c < across; c++)
#pragma unroll
			for (uint32_t i = 0; i < 2; i++) {
				uint32_t x = column[c][i]; // an even one instead of an odd one where there is a single column
				bool wanted = first + r * warps < Tile<F>::height && lane + c * warp_size < pairs;
				v[r][c][i] = wanted ? (x & 1 ? high : low)[x / 2] : 0;
			}
	}
#pragma unroll
	for (uint32_t r = 0; r < down; r++)
#pragma unroll
		for (uint32_t c = 0; c < across; c++)
			if (first + r * warps < Tile<F>::height && lane + c * warp_size < pairs)
				for (uint32_t i = 0; i < 2; i++)
					*t.at(2 * (lane + c * warp_size) + i, first + r * warps) = v[r][c][i];
}

template <class F> DEVICE void join(const Level &l, Tile<F> &t, uint32_t x0, uint32_t y0)
{
	load_bands(l, t, x0, y0);
	sync_block();
	lift_columns<F, false, -1>(t, F::reach);
	lift_columns<F, true, -1>(t, 2 * F::reach);
	lift_rows<F, false, -1>(t, F::reach);
	lift_rows<F, true, -1>(t, 2 * F::reach);
	for (uint32_t i = threadIdx.x; i < tile_samples; i += blockDim.x) {
		uint32_t x = i % tile_width, y = i / tile_width;
		if (x0 + x < l.width && y0 + y < l.height)
			store(l, l.samples + (uint64_t)(y0 + y) * l.width + x0 + x, *t.at(x + F::halo, y + F::halo));
	}
}
