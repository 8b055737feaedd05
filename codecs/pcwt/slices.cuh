// Profile 1: levels along the slices of a volume (README, "Samples to planes", 3), and indices of coefficients with qmin.
//
// Both go over arrays in their place, a thread for each number, neighbouring threads for neighbouring numbers. A launch has
// the odd slices, or the even ones, of a level: each takes its own and the two beside it, which that launch leaves as they
// are. So no barriers are needed.
#pragma once

#include "position.cuh"

// A step of lifting on one slice: to += sign * high(before, after), or low. blockIdx.y is the step.
KERNEL pcwt_lift(const Lift *__restrict__ list)
{
	const Lift l = list[blockIdx.y];
	uint64_t i = thread();
	if (i >= l.count)
		return;
	int32_t sum = (int32_t)((uint32_t)l.before[i] + (uint32_t)l.after[i]);
	int32_t v = l.of_low ? (sum + 2) >> 2 : -(sum >> 1);
	l.to[i] += l.sign * v;
}

// Coefficients of a level become what their indices stand for, as the decoder has them. One thread for each position;
// blockIdx.y is the level.
KERNEL pcwt_round(const Model *__restrict__ list)
{
	const Model &m = list[blockIdx.y];
	Position at(m);
	if (!at.inside)
		return;
	for (uint32_t b = 0; b < 3; b++) {
		const ModelBand &f = band_of(m, b);
		if (at.px >= f.width || at.py >= f.height)
			continue;
		int32_t *c = f.c + (uint64_t)at.py * f.width + at.px;
		int32_t v = value_of(index_of(*c, m.qmin), m.qmin);
		*c = v;
		if (is_wide(v))
			*m.wide = 1; // any thread, the same value
	}
}
