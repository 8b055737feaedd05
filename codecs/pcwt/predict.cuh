// Profile 1, encoding: residuals and scales of the coefficients of whole levels (README, "What a coefficient knows").
//
// All coefficients are known, so that a thread takes positions of the low band and the three coefficients of each, wherever they
// lie in their tiles. A block takes a region, whose LL and bands it has in shared memory (regions.cuh); the weights, which depend
// on the texture, come from the cache. blockIdx.y is the level of a plane in the list.
//
//	low, c, e of parents and earlier planes -> pcwt_predict -> e, residuals, kinds -> pcwt_scale -> steps
//
// pcwt_scale is a launch of its own because it looks at the residuals of neighbours, which other blocks write.
#pragma once

#include "regions.cuh"

// What a block has of its region.
struct RegionMemory {
	int16_t low[low_rows * staged_stride];
	int16_t bands[3][band_rows * staged_stride];
};

// What encoding knows of a coefficient: its prediction.
template <int b, bool small>
DEVICE void predict_band(const Model &m, const RegionMemory &r, const Region &g, const Low<small> &q, const Position &at, const Known<b, small, true, false> &known, int32_t c, uint32_t texture)
{
	const ModelBand &f = known.f;
	if (!known.inside)
		return;
	Staged<small> own(r.bands[b], g, at), h(r.bands[0], g, at), v(r.bands[1], g, at);
	Weights w(predict_weights(m, b, at.x, at.y, texture));
	int32_t x = (int32_t)at.x & 1; // of the column, which counts from the position or from the one before
	int32_t sum = known.taps(w, m.variant) + low_taps<b, small>(q, w) + earlier_taps<b>(h, v, w, x);
	sum += own_taps<b>(own.row(-2), own.row(-1), own.row(0), w, x, at.y);
	Prediction p(sum, m.qmin);
	int32_t e = index_of(c, m.qmin) - p.r;
	f.e[known.at] = sat16(e);
	if (small && limited(e, most_magnitude + 1) > most_magnitude)
		*m.wide = 1; // any thread, the same value
	f.residuals[known.at] = p.f < 0 ? -e : e;
	f.kinds[known.at] = (uint8_t)(texture / (textures / directions) | p.fraction() << 3);
}

template <bool small> DEVICE void predict_region(const Model &m, const Region &g, RegionMemory &r)
{
	stage_low<small>(r.low, m, g);
	stage_band<false, small>(r.bands[0], m, m.hl, g);
	stage_band<false, small>(r.bands[1], m, m.lh, g);
	stage_band<false, small>(r.bands[2], m, m.hh, g);
	sync_block(); // every thread reads what others have loaded
	for (uint32_t j = threadIdx.x / region_width; j < region_height; j += region_threads / region_width) {
		Position at(m, g.px + threadIdx.x % region_width, g.py + j);
		if (!at.inside)
			return;
		Known<0, small, true, false> hl(m.hl, at.px, at.py);
		Known<1, small, true, false> lh(m.lh, at.px, at.py);
		Known<2, small, true, false> hh(m.hh, at.px, at.py);
		int32_t c[3] = {hl.inside ? m.hl.c[hl.at] : 0, lh.inside ? m.lh.c[lh.at] : 0, hh.inside ? m.hh.c[hh.at] : 0};
		Low<small> q(r.low + staged_place(g, at), staged_stride);
		uint32_t texture = q.texture(m.set);
		predict_band<0, small>(m, r, g, q, at, hl, c[0], texture);
		predict_band<1, small>(m, r, g, q, at, lh, c[1], texture);
		predict_band<2, small>(m, r, g, q, at, hh, c[2], texture);
	}
}

// Fast files have no predictions: residuals are indices.
DEVICE void no_predictions(const Model &m, const Region &g)
{
	constexpr uint32_t down = region_threads / region_width, count = region_height / down;
	uint32_t px = g.px + threadIdx.x % region_width, py = g.py + threadIdx.x / region_width;
	for (uint32_t b = 0; b < 3; b++) {
		const ModelBand &f = band_of(m, b);
		int32_t c[count] = {}; // all are loaded at the same time
#pragma unroll
		for (uint32_t i = 0; i < count; i++)
			if (px < f.width && py + i * down < f.height)
				c[i] = f.c[(py + i * down) * f.width + px];
#pragma unroll
		for (uint32_t i = 0; i < count; i++)
			if (px < f.width && py + i * down < f.height) {
				uint32_t at = (py + i * down) * f.width + px;
				int32_t e = index_of(c[i], m.qmin);
				f.residuals[at] = e;
				f.e[at] = sat16(e);
				f.kinds[at] = 0;
			}
	}
}

// Residuals of all coefficients of a level, from the coefficients. A block per region; blockIdx.y is the level. The residuals of
// earlier planes are there.
KERNEL __launch_bounds__(region_threads, 3) pcwt_predict(const Model *__restrict__ list)
{
	const Model &m = list[blockIdx.y];
	Region g(m);
	if (!g.inside)
		return;
	__shared__ RegionMemory r;
	if (m.fast)
		no_predictions(m, g);
	else if (region_is_wide(m))
		predict_region<false>(m, g, r);
	else
		predict_region<true>(m, g, r);
}

template <int b, bool fast, bool small>
DEVICE void scale_band(const Model &m, const RegionMemory &r, const Region &g, const Low<small> *q, const Position &at, const Known<b, small, false, true> &known, uint32_t kind)
{
	const ModelBand &f = known.f;
	if (!known.inside)
		return;
	bool later = m.variant > 0;
	int32_t x = (int32_t)at.x & 1;
	Staged<small> own(r.bands[b], g, at), h(r.bands[0], g, at), v(r.bands[1], g, at);
	uint32_t key = scale_key(m, b, at.x, at.y, kind & 7);
	Weights w(m.set->scale + 16 * key);
	Features s = {m.set->bias[key], 0};
	known.features(s, w, m.variant, fast, at.px, at.py);
	if (!fast)
		low_features<b, small>(s, *q, w, later, m.qmin);
	earlier_features<b>(s, h, v, w, fast, later, x);
	own_features<b>(s, own.row(-2), own.row(-1), own.row(0), w, fast, later, x, at.y);
	f.steps[known.at] = (uint8_t)scale_step(s);
}

template <bool fast, bool small> DEVICE void scale_region(const Model &m, const Region &g, RegionMemory &r)
{
	if (!fast)
		stage_low<small>(r.low, m, g);
	stage_band<true, small>(r.bands[0], m, m.hl, g);
	stage_band<true, small>(r.bands[1], m, m.lh, g);
	stage_band<true, small>(r.bands[2], m, m.hh, g);
	sync_block(); // every thread reads what others have loaded
	for (uint32_t j = threadIdx.x / region_width; j < region_height; j += region_threads / region_width) {
		Position at(m, g.px + threadIdx.x % region_width, g.py + j);
		if (!at.inside)
			return;
		Known<0, small, false, true> hl(m.hl, at.px, at.py);
		Known<1, small, false, true> lh(m.lh, at.px, at.py);
		Known<2, small, false, true> hh(m.hh, at.px, at.py);
		uint32_t kind[3] = {};
		if (!fast) // whose directions are all 0
			kind[0] = hl.inside ? m.hl.kinds[hl.at] : 0, kind[1] = lh.inside ? m.lh.kinds[lh.at] : 0, kind[2] = hh.inside ? m.hh.kinds[hh.at] : 0;
		Low<small> q(r.low + staged_place(g, at), staged_stride); // loads only what is looked at
		scale_band<0, fast, small>(m, r, g, &q, at, hl, kind[0]);
		scale_band<1, fast, small>(m, r, g, &q, at, lh, kind[1]);
		scale_band<2, fast, small>(m, r, g, &q, at, hh, kind[2]);
	}
}

// Steps of the scale of all coefficients of a level, from the residuals. A block per region; blockIdx.y is the level.
KERNEL __launch_bounds__(region_threads, 3) pcwt_scale(const Model *__restrict__ list)
{
	const Model &m = list[blockIdx.y];
	Region g(m);
	if (!g.inside)
		return;
	__shared__ RegionMemory r;
	bool wide = region_is_wide(m);
	if (m.fast && wide)
		scale_region<true, false>(m, g, r);
	else if (m.fast)
		scale_region<true, true>(m, g, r);
	else if (wide)
		scale_region<false, false>(m, g, r);
	else
		scale_region<false, true>(m, g, r);
}
