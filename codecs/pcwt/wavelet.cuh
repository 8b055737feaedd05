// Levels of the wavelet transform, forward and inverse (codecs/internal/wavelet). A block of threads computes a tile of
// samples in shared memory, with as many neighbours around it as the filter reaches, so that no tile waits for another.
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

// 5/3: high -= (a + b) >> 1, low += (a + b + 2) >> 2, and without update.
template <bool update> struct TwoTaps {
	static constexpr uint32_t halo = 2;
	static constexpr uint32_t reach = 1;

	static __device__ int32_t high(const int32_t *s, int32_t step) { return -((s[-step] + s[step]) >> 1); }
	static __device__ int32_t low(const int32_t *s, int32_t step) { return update ? (s[-step] + s[step] + 2) >> 2 : 0; }
};

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

template <class F> DEVICE void join(const Level &l, Tile<F> &t, uint32_t x0, uint32_t y0)
{
	for (uint32_t i = threadIdx.x; i < Tile<F>::width * Tile<F>::height; i += blockDim.x) {
		uint32_t x = mirrored((int32_t)(x0 + i % Tile<F>::width) - (int32_t)F::halo, l.extended_width);
		uint32_t y = mirrored((int32_t)(y0 + i / Tile<F>::width) - (int32_t)F::halo, l.extended_height);
		t.s[i] = *coefficient(l, x, y);
	}
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

// A level, forward. One block per tile; blockIdx.y is the level in the list.
template <bool forward> DEVICE void transform(const Level &l)
{
	__shared__ union {
		Tile<TwoTaps<true>> two;
		Tile<TwoTaps<false>> plain;
		Tile<FourTaps> four;
	} t;
	uint32_t across = (l.extended_width + tile_width - 1) / tile_width;
	uint32_t x0 = blockIdx.x % across * tile_width, y0 = blockIdx.x / across * tile_height;
	if (y0 >= l.extended_height)
		return;
	switch (l.filter) {
	case filter_53:
		forward ? split(l, t.two, x0, y0) : join(l, t.two, x0, y0);
		break;
	case filter_137:
		forward ? split(l, t.four, x0, y0) : join(l, t.four, x0, y0);
		break;
	default:
		forward ? split(l, t.plain, x0, y0) : join(l, t.plain, x0, y0);
	}
}

KERNEL __launch_bounds__(tile_threads) pcwt_split(const Level *__restrict__ list) { transform<true>(list[blockIdx.y]); }

// A level, inverse.
KERNEL __launch_bounds__(tile_threads) pcwt_join(const Level *__restrict__ list) { transform<false>(list[blockIdx.y]); }
