// Profile 1, decoding: what the coefficients of a level know before they are decoded (README, "What a coefficient knows").
//
// pcwt_know adds up the terms that lie outside of the tile, once the level's LL is there: LL itself, parents and earlier
// planes. The terms of HL are added for LH, and those of both for HH, once these bands are decoded: pcwt_know_lh and
// pcwt_know_hh. So the decoder of a tile, which is a chain, has the terms of the band itself left. One thread per position,
// neighbouring threads in neighbouring columns; blockIdx.y is the level of a plane. Nothing is shared, so that there are no
// barriers.
//
//	per coefficient: residuals is the sum of the prediction, scales that of the scale, kinds the texture and whether a
//	feature is not 0
#pragma once

#include "regions.cuh"

template <int b, bool small> DEVICE void know_band(const Model &m, const Low<small> &q, const Position &at, uint32_t texture)
{
	const ModelBand &f = band_of(m, b);
	if (at.px >= f.width || at.py >= f.height)
		return;
	Known<b, small> known(f, at.px, at.py);
	uint32_t key = scale_key(m, b, at.x, at.y, texture / (textures / directions));
	Weights w(m.set->scale + 16 * key);
	Features s = {m.set->bias[key], 0};
	known.features(s, w, m.variant, m.fast, at.px, at.py);
	if (!m.fast) {
		low_features<b, small>(s, q, w, m.variant > 0, m.qmin);
		Weights p(predict_weights(m, b, at.x, at.y, texture));
		f.residuals[known.at] = known.taps(p, m.variant) + low_taps<b, small>(q, p);
	}
	f.scales[known.at] = s.sum;
	f.kinds[known.at] = (uint8_t)(texture | (s.any != 0) << 7);
}

template <bool small> DEVICE void know_region(const Model &m, const Region &g, int16_t *low)
{
	if (!m.fast) {
		stage_low<small>(low, m, g);
		sync_block(); // every thread reads what others have loaded
	}
	for (uint32_t j = threadIdx.x / region_width; j < region_height; j += region_threads / region_width) {
		Position at(m, g.px + threadIdx.x % region_width, g.py + j);
		if (!at.inside)
			return;
		Low<small> q(low + staged_place(g, at), staged_stride);
		uint32_t texture = m.fast ? 0 : q.texture(m.set);
		know_band<0, small>(m, q, at, texture);
		know_band<1, small>(m, q, at, texture);
		know_band<2, small>(m, q, at, texture);
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
	if (region_is_wide(m))
		know_region<false>(m, g, low);
	else
		know_region<true>(m, g, low);
}

// Adds to what is known of a band's coefficients the terms of the tile's bands before it.
template <int b, bool narrow> DEVICE void know_earlier(const Model &m, const Position &at)
{
	const ModelBand &f = band_of(m, b);
	uint32_t tx = at.px >> m.log_side, ty = at.py >> m.log_side;
	Part<narrow> h(m.hl, m.side, tx, ty), v(m.lh, m.side, tx, ty);
	uint64_t i = (uint64_t)at.py * f.width + at.px;
	uint32_t kind = f.kinds[i], texture = kind & 127;
	Features s = {f.scales[i], (int32_t)(kind >> 7)};
	Weights w(m.set->scale + 16 * scale_key(m, b, at.x, at.y, texture / (textures / directions)));
	int32_t y = (int32_t)at.y;
	earlier_features<b>(s, Magnitudes<narrow>{h, y}, Magnitudes<narrow>{v, y}, w, m.fast, m.variant > 0, (int32_t)at.x);
	f.scales[i] = s.sum;
	f.kinds[i] = (uint8_t)(texture | (s.any != 0) << 7);
	if (!m.fast)
		f.residuals[i] += earlier_taps<b>(Coefficients<narrow>{h, y}, Coefficients<narrow>{v, y}, Weights(predict_weights(m, b, at.x, at.y, texture)), (int32_t)at.x);
}

template <int b> DEVICE void know_earlier(const Model &m)
{
	const ModelBand &f = band_of(m, b);
	Position at(m);
	if (!at.inside || at.px >= f.width || at.py >= f.height)
		return;
	if (is_narrow(m, at.px >> m.log_side))
		know_earlier<b, true>(m, at);
	else
		know_earlier<b, false>(m, at);
}

// For LH, once HL is decoded. One thread per position; blockIdx.y is the level.
KERNEL pcwt_know_lh(const Model *__restrict__ list) { know_earlier<1>(list[blockIdx.y]); }

// For HH, once HL and LH are decoded.
KERNEL pcwt_know_hh(const Model *__restrict__ list) { know_earlier<2>(list[blockIdx.y]); }
