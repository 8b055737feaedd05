// Profile 1: where a thread stands in a level, and coefficients and their indices.
#pragma once

#include "model.cuh"

DEVICE const ModelBand &band_of(const Model &m, uint32_t b) { return b == 0 ? m.hl : b == 1 ? m.lh : m.hh; }

// A position of a level's low band, of thread() of the grid.
struct Position {
	uint32_t px, py; // in the bands
	uint32_t x, y;	 // in the tile
	bool inside;

	__device__ Position(const Model &m, uint32_t px, uint32_t py)
		: px(px), py(py), x(px & (m.side - 1)), y(py & (m.side - 1)), inside(px < m.width && py < m.height) {}

	__device__ Position(const Model &m)
	{
		uint32_t i = (uint32_t)thread(); // a band has less than 2^30 positions
		inside = i < m.width * m.height;
		px = i % m.width, py = i / m.width;
		x = px & (m.side - 1), y = py & (m.side - 1);
	}
};

DEVICE int16_t sat16(int32_t v) { return (int16_t)sat(v); }

// A coefficient from its index.
DEVICE int32_t value_of(int32_t i, uint32_t qmin)
{
	if (qmin == 0 || i == 0)
		return i;
	int32_t m = (int32_t)((uint32_t)(i < 0 ? -i : i) << qmin) + (1 << (qmin - 1));
	return i < 0 ? -m : m;
}

// The index of a coefficient, which value_of gave.
DEVICE int32_t index_of(int32_t c, uint32_t qmin) { return c < 0 ? -(-c >> qmin) : c >> qmin; }
