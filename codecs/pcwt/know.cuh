// Profile 1, decoding: what the coefficients of a level know before they are decoded (README, "What a coefficient knows").
//
// pcwt_know adds up the terms that lie outside of the tile, once the level's LL is there: LL itself, parents and earlier
// planes. The terms of HL are added for LH, and those of both for HH, once these bands are decoded: pcwt_know_lh and
// pcwt_know_hh. So the decoder of a tile, which is a chain, has the terms of the band itself left. A block takes a region and has
// LL, or the bands before, in shared memory (regions.cuh); blockIdx.y is the level of a plane.
//
//	per coefficient: residuals is the sum of the prediction, scales that of the scale, kinds the texture and whether a
//	feature is not 0
#pragma once

#include "regions.cuh"

template <int b, bool small> DEVICE void know_band(const Model &m, const Low<small> &q, const Position &at, const Known<b, small, true, true> &known, uint32_t texture)
{
	const ModelBand &f = known.f;
	if (!known.inside)
		return;
	uint32_t key = scale_key(m, b, at.x, at.y, texture / (textures / directions));
	Weights w(m.set->scale + 16 * key);
	Features s = {m.set->bias[key], 0};
	known.features(s, w, m.variant, false, at.px, at.py);
	low_features<b, small>(s, q, w, m.variant > 0, m.qmin);
	Weights p(predict_weights(m, b, at.x, at.y, texture));
	f.residuals[known.at] = known.taps(p, m.variant) + low_taps<b, small>(q, p);
	f.scales[known.at] = s.sum;
	f.kinds[known.at] = (uint8_t)(texture | (s.any != 0) << 7);
}

template <bool small> DEVICE void know_region(const Model &m, const Region &g, int16_t *low)
{
	stage_low<small>(low, m, g);
	sync_block(); // every thread reads what others have loaded
	for (uint32_t j = threadIdx.x / region_width; j < region_height; j += region_threads / region_width) {
		Position at(m, g.px + threadIdx.x % region_width, g.py + j);
		if (!at.inside)
			return;
		Known<0, small, true, true> hl(m.hl, at.px, at.py);
		Known<1, small, true, true> lh(m.lh, at.px, at.py);
		Known<2, small, true, true> hh(m.hh, at.px, at.py);
		Low<small> q(low + staged_place(g, at), staged_stride);
		uint32_t texture = q.texture(m.set);
		know_band<0, small>(m, q, at, hl, texture);
		know_band<1, small>(m, q, at, lh, texture);
		know_band<2, small>(m, q, at, hh, texture);
	}
}

// Files with the flag fast do not look at LL. All positions of a thread load what they look at before any stores.
template <int b> DEVICE void know_fast(const Model &m, const Region &g)
{
	constexpr uint32_t down = region_threads / region_width, count = region_height / down;
	const ModelBand &f = band_of(m, b);
	uint32_t px = g.px + threadIdx.x % region_width, py = g.py + threadIdx.x / region_width;
	Known<b, false, false, true> known[count] = {{f, px, py}, {f, px, py + down}, {f, px, py + 2 * down}, {f, px, py + 3 * down}};
	static_assert(count == 4, "as many as there are");
#pragma unroll
	for (uint32_t i = 0; i < count; i++) {
		if (!known[i].inside)
			continue;
		Position at(m, px, py + i * down);
		uint32_t key = scale_key(m, b, at.x, at.y, 0);
		Features s = {m.set->bias[key], 0};
		known[i].features(s, Weights(m.set->scale + 16 * key), m.variant, true, at.px, at.py);
		f.scales[known[i].at] = s.sum;
		f.kinds[known[i].at] = (uint8_t)((s.any != 0) << 7);
	}
}

// What decoding knows of a level's coefficients before any of them: the sums over terms outside the tile. A block per region;
// blockIdx.y is the level.
KERNEL __launch_bounds__(region_threads, 3) pcwt_know(const Model *__restrict__ list)
{
	const Model &m = list[blockIdx.y];
	Region g(m);
	if (!g.inside)
		return;
	__shared__ int16_t low[low_rows * staged_stride];
	if (m.fast) {
		know_fast<0>(m, g);
		know_fast<1>(m, g);
		know_fast<2>(m, g);
		return;
	}
	if (region_is_wide(m))
		know_region<false>(m, g, low);
	else
		know_region<true>(m, g, low);
}

// What a block has of its region of the bands before: magnitudes and coefficients of HL, and of LH.
struct EarlierMemory {
	int16_t magnitudes[2][band_rows * staged_stride];
	int16_t coefficients[2][band_rows * staged_stride];
};

// What was known before.
struct KnownBefore {
	bool inside;
	uint32_t at, kind;
	int32_t scale, sum;

	__device__ KnownBefore() : inside(false), at(0), kind(0), scale(0), sum(0) {}
	__device__ KnownBefore(const ModelBand &f, const Position &p, bool fast) : inside(p.px < f.width && p.py < f.height), at(p.py * f.width + p.px), kind(0), scale(0), sum(0)
	{
		if (!inside)
			return;
		kind = f.kinds[at], scale = f.scales[at];
		if (!fast)
			sum = f.residuals[at];
	}
};

// Adds to what is known of a band's coefficients the terms of the tile's bands before it.
template <int b, bool fast> DEVICE void know_earlier(const Model &m, const Region &g, EarlierMemory &r)
{
	constexpr uint32_t down = region_threads / region_width, count = region_height / down;
	const ModelBand &f = band_of(m, b);
	uint32_t px = g.px + threadIdx.x % region_width, py = g.py + threadIdx.x / region_width;
	KnownBefore before[count]; // all are loaded at the same time
#pragma unroll
	for (uint32_t i = 0; i < count; i++)
		before[i] = KnownBefore(f, Position(m, px, py + i * down), fast);
	for (uint32_t e = 0; e < b; e++) {
		stage_band<true, false>(r.magnitudes[e], m, band_of(m, e), g);
		if (!fast)
			stage_band<false, false>(r.coefficients[e], m, band_of(m, e), g);
	}
	sync_block(); // every thread reads what others have loaded
#pragma unroll
	for (uint32_t i = 0; i < count; i++) {
		KnownBefore &k = before[i];
		if (!k.inside)
			continue;
		Position at(m, px, py + i * down);
		int32_t x = (int32_t)at.x & 1; // of the column, which counts from the position or from the one before
		uint32_t texture = fast ? 0 : k.kind & 127;
		Features s = {k.scale, (int32_t)(k.kind >> 7)};
		Weights w(m.set->scale + 16 * scale_key(m, b, at.x, at.y, texture / (textures / directions)));
		earlier_features<b>(s, Staged<false>(r.magnitudes[0], g, at), Staged<false>(r.magnitudes[1], g, at), w, fast, m.variant > 0, x);
		f.scales[k.at] = s.sum;
		f.kinds[k.at] = (uint8_t)(texture | (s.any != 0) << 7);
		if (!fast)
			f.residuals[k.at] = k.sum + earlier_taps<b>(Staged<false>(r.coefficients[0], g, at), Staged<false>(r.coefficients[1], g, at),
				Weights(predict_weights(m, b, at.x, at.y, texture)), x);
	}
}

template <int b> DEVICE void know_earlier(const Model &m)
{
	Region g(m);
	if (!g.inside)
		return;
	__shared__ EarlierMemory r;
	if (m.fast)
		know_earlier<b, true>(m, g, r);
	else
		know_earlier<b, false>(m, g, r);
}

// For LH, once HL is decoded. A block per region; blockIdx.y is the level.
KERNEL __launch_bounds__(region_threads, 4) pcwt_know_lh(const Model *__restrict__ list) { know_earlier<1>(list[blockIdx.y]); }

// For HH, once HL and LH are decoded.
KERNEL __launch_bounds__(region_threads, 4) pcwt_know_hh(const Model *__restrict__ list) { know_earlier<2>(list[blockIdx.y]); }
