// Profile 1, encoding: residuals and scales of the coefficients of whole levels (README, "What a coefficient knows").
//
// All coefficients are known, so that a thread takes a position of the low band and its three coefficients, wherever they
// lie in their tiles. Neighbouring threads take neighbouring columns: rows of coefficients are read together, and the
// weights, which depend on the texture, come from the cache. blockIdx.y is the level of a plane in the list.
//
//	low, c, e of parents and earlier planes -> pcwt_predict -> e, residuals, kinds -> pcwt_scale -> steps
//
// pcwt_scale is a launch of its own because it looks at the residuals of neighbours, which other blocks write. Threads
// beyond the level, and bands that are smaller than the low band, are left out by a comparison of positions; nothing is
// shared between threads, so that there are no barriers.
#pragma once

#include "position.cuh"

// What encoding knows of a coefficient: its prediction.
template <int b, bool narrow, bool small> DEVICE void predict_band(const Model &m, const Low<small> &q, const Position &at, uint32_t texture)
{
	const ModelBand &f = band_of(m, b);
	if (at.px >= f.width || at.py >= f.height)
		return;
	uint32_t tx = at.px >> m.log_side, ty = at.py >> m.log_side;
	Part<narrow> own(f, m.side, tx, ty), h(m.hl, m.side, tx, ty), v(m.lh, m.side, tx, ty);
	Weights w(predict_weights(m, b, at.x, at.y, texture));
	Known<b, small> known(f, at.px, at.py);
	uint32_t y = at.y, n = y > 0 ? y - 1 : 0, nn = y > 1 ? y - 2 : 0;
	int32_t sum = known.taps(w, m.variant) + low_taps<b, small>(q, w) + earlier_taps<b, narrow, small>(h, v, w, (int32_t)at.x, (int32_t)y);
	using Row = CoefficientRow<narrow, small>;
	sum += own_taps<b>(Row(own, own.row(nn)), Row(own, own.row(n)), Row(own, own.row(y)), w, (int32_t)at.x, y);
	Prediction p(sum, m.qmin);
	int32_t e = index_of(f.c[known.at], m.qmin) - p.r;
	f.e[known.at] = sat16(e);
	if (small && limited(e, most_magnitude + 1) > most_magnitude)
		*m.wide = 1; // any thread, the same value
	f.residuals[known.at] = p.f < 0 ? -e : e;
	f.kinds[known.at] = (uint8_t)(texture / (textures / directions) | p.fraction() << 3);
}

template <bool narrow, bool small> DEVICE void predict_position(const Model &m, const Position &at)
{
	Low<small> q(m, at.px, at.py);
	uint32_t texture = q.texture(m.set);
	predict_band<0, narrow, small>(m, q, at, texture);
	predict_band<1, narrow, small>(m, q, at, texture);
	predict_band<2, narrow, small>(m, q, at, texture);
}

// Residuals of all coefficients of a level, from the coefficients. One thread per position; blockIdx.y is the level. The
// residuals of earlier planes are there.
KERNEL pcwt_predict(const Model *__restrict__ list)
{
	const Model &m = list[blockIdx.y];
	Position at(m);
	if (!at.inside)
		return;
	if (m.fast) {
		for (uint32_t b = 0; b < 3; b++) {
			const ModelBand &f = band_of(m, b);
			if (at.px >= f.width || at.py >= f.height)
				continue;
			uint64_t i = (uint64_t)at.py * f.width + at.px;
			int32_t e = index_of(f.c[i], m.qmin);
			f.residuals[i] = e;
			f.e[i] = sat16(e);
			f.kinds[i] = 0;
		}
		return;
	}
	if (is_narrow(m, at.px >> m.log_side))
		predict_position<true, false>(m, at);
	else if (*m.wide)
		predict_position<false, false>(m, at);
	else
		predict_position<false, true>(m, at);
}

template <int b, bool fast, bool narrow, bool small> DEVICE void scale_band(const Model &m, const Low<small> *q, const Position &at)
{
	const ModelBand &f = band_of(m, b);
	if (at.px >= f.width || at.py >= f.height)
		return;
	uint32_t tx = at.px >> m.log_side, ty = at.py >> m.log_side;
	bool later = m.variant > 0;
	Part<narrow> own(f, m.side, tx, ty), h(m.hl, m.side, tx, ty), v(m.lh, m.side, tx, ty);
	Known<b, small> known(f, at.px, at.py);
	uint32_t key = scale_key(m, b, at.x, at.y, f.kinds[known.at] & 7);
	Weights w(m.set->scale + 16 * key);
	Features s = {m.set->bias[key], 0};
	known.features(s, w, m.variant, fast, at.px, at.py);
	if (!fast)
		low_features<b, small>(s, *q, w, later, m.qmin);
	earlier_features<b, narrow, small>(s, h, v, w, fast, later, (int32_t)at.x, (int32_t)at.y);
	uint32_t y = at.y, n = y > 0 ? y - 1 : 0, nn = y > 1 ? y - 2 : 0;
	using Row = MagnitudeRow<narrow, small>;
	own_features<b>(s, Row(own, own.row(nn)), Row(own, own.row(n)), Row(own, own.row(y)), w, fast, later, (int32_t)at.x, y);
	f.steps[known.at] = (uint8_t)scale_step(s);
}

template <bool fast, bool narrow, bool small> DEVICE void scale_bands(const Model &m, const Low<small> *q, const Position &at)
{
	scale_band<0, fast, narrow, small>(m, q, at);
	scale_band<1, fast, narrow, small>(m, q, at);
	scale_band<2, fast, narrow, small>(m, q, at);
}

template <bool narrow, bool small> DEVICE void scale_position(const Model &m, const Position &at)
{
	if (m.fast) {
		scale_bands<true, narrow, small>(m, nullptr, at);
	} else {
		Low<small> q(m, at.px, at.py);
		scale_bands<false, narrow, small>(m, &q, at);
	}
}

// Steps of the scale of all coefficients of a level, from the residuals. One thread per position; blockIdx.y is the level.
KERNEL pcwt_scale(const Model *__restrict__ list)
{
	const Model &m = list[blockIdx.y];
	Position at(m);
	if (!at.inside)
		return;
	if (is_narrow(m, at.px >> m.log_side))
		scale_position<true, false>(m, at);
	else if (*m.wide)
		scale_position<false, false>(m, at);
	else
		scale_position<false, true>(m, at);
}
