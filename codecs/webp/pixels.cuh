// Pixels as 0xAARRGGBB and what the transforms do to them (RFC 9649, 3.5). Any thread calls, each for itself.
#pragma once

#include "../../gpu/include/alllanes.cuh"
#include "../../gpu/include/atomic.cuh"
#include "shared.cuh"

// a - b in every channel.
DEVICE uint32_t subtract(uint32_t a, uint32_t b)
{
	uint32_t ag = 0x00ff00ff + (a & 0xff00ff00) - (b & 0xff00ff00);
	uint32_t rb = 0xff00ff00 + (a & 0x00ff00ff) - (b & 0x00ff00ff);
	return (ag & 0xff00ff00) | (rb & 0x00ff00ff);
}

// (a + b) / 2 in every channel, rounded down.
DEVICE uint32_t average(uint32_t a, uint32_t b) { return (((a ^ b) & 0xfefefefe) >> 1) + (a & b); }

DEVICE int32_t channel(uint32_t v, uint32_t shift) { return (int32_t)(v >> shift & 255); }
DEVICE uint32_t clamp(int32_t v) { return (uint32_t)(v < 0 ? 0 : v > 255 ? 255 : v); }
DEVICE int32_t distance(int32_t a, int32_t b) { return a < b ? b - a : a - b; }

// The neighbours of a pixel: left, top, top right, top left.
struct Around {
	uint32_t l, t, r, x;
};

// The one of left and top that is nearer to left + top - top left, and top where they are equally near (mode 11).
DEVICE uint32_t select(Around n)
{
	int32_t d = 0;
#pragma unroll
	for (uint32_t s = 0; s < 32; s += 8)
		d += distance(channel(n.t, s), channel(n.x, s)) - distance(channel(n.l, s), channel(n.x, s));
	return d < 0 ? n.l : n.t;
}

// left + top - top left, clamped (mode 12).
DEVICE uint32_t gradient(Around n)
{
	uint32_t v = 0;
#pragma unroll
	for (uint32_t s = 0; s < 32; s += 8)
		v |= clamp(channel(n.l, s) + channel(n.t, s) - channel(n.x, s)) << s;
	return v;
}

// a + (a - top left) / 2 with a the average of left and top, clamped (mode 13). The division rounds towards zero.
DEVICE uint32_t half_gradient(Around n)
{
	uint32_t a = average(n.l, n.t), v = 0;
#pragma unroll
	for (uint32_t s = 0; s < 32; s += 8)
		v |= clamp(channel(a, s) + (channel(a, s) - channel(n.x, s)) / 2) << s;
	return v;
}

// What mode predicts of a pixel that lies in neither the first row nor the first column.
DEVICE uint32_t predicted(uint32_t mode, Around n)
{
	switch (mode) {
	case 0: return opaque_black;
	case 1: return n.l;
	case 2: return n.t;
	case 3: return n.r;
	case 4: return n.x;
	case 5: return average(average(n.l, n.r), n.t);
	case 6: return average(n.l, n.x);
	case 7: return average(n.l, n.t);
	case 8: return average(n.x, n.t);
	case 9: return average(n.t, n.r);
	case 10: return average(average(n.l, n.x), average(n.t, n.r));
	case 11: return select(n);
	case 12: return gradient(n);
	default: return half_gradient(n);
	}
}

// The neighbours of the pixel at column x of row y, with number i in the whole, so that every mode predicts what the
// format has for the first row (left) and the first column (top), and opaque_black for the first pixel of all. The neighbour
// to the top right of the last column is the first pixel of the own row.
DEVICE bool inside(uint32_t x, uint32_t y) { return x > 0 && y > 0; }

DEVICE uint32_t border(const uint32_t *argb, uint64_t i, uint32_t width, uint32_t x, uint32_t y)
{
	return y > 0 ? argb[i - width] : x > 0 ? argb[i - 1] : opaque_black;
}

DEVICE Around around(const uint32_t *argb, uint64_t i, uint32_t width)
{
	return {argb[i - 1], argb[i - width], argb[i - width + 1], argb[i - width - 1]};
}

// Multipliers of a tile as the colour transform's data holds them: red-to-blue in red, green-to-blue in green and
// green-to-red in blue, each a signed byte.
DEVICE uint32_t apply_multipliers(uint32_t v, uint32_t multipliers)
{
	int32_t g = (int8_t)(v >> 8), r = (int8_t)(v >> 16);
	int32_t green_red = (int8_t)multipliers, green_blue = (int8_t)(multipliers >> 8), red_blue = (int8_t)(multipliers >> 16);
	uint32_t red = (v >> 16) - (uint32_t)(green_red * g >> 5);
	uint32_t blue = v - (uint32_t)(green_blue * g >> 5) - (uint32_t)(red_blue * r >> 5);
	return (v & 0xff00ff00) | (red & 255) << 16 | (blue & 255);
}

DEVICE uint32_t add_to(uint32_t *p, uint32_t v) { return (uint32_t)__nvvm_atom_add_gen_i((int *)p, (int)v); }
DEVICE void add_to(uint64_t *p, uint64_t v) { __nvvm_atom_add_gen_ll((long long *)p, (long long)v); }
