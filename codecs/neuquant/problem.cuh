// What the steps have in common: colours of a problem.
#pragma once

#include "shared.cuh"
#include "../../gpu/include/alllanes.cuh"

typedef uint32_t words2 __attribute__((ext_vector_type(2)));
typedef uint32_t words4 __attribute__((ext_vector_type(4)));

DEVICE uint32_t add_to(uint32_t *p, uint32_t v) { return (uint32_t)__nvvm_atom_add_gen_i((int *)p, (int)v); }

// Value v, which all lanes of the warp have, so that the compiler knows that they have the same.
DEVICE uint32_t same_for_all(uint32_t v) { return least_of_all(v); }

DEVICE uint32_t component(uint32_t v, uint32_t t) { return v >> (8 * t) & 255; }

// Colour i.
DEVICE uint32_t colour_at(const Problem &p, uint32_t i)
{
	if (p.samples == nullptr)
		return p.values[i];
	const uint8_t *s = p.samples + 3 * (uint64_t)i;
	return s[0] | (uint32_t)s[1] << 8 | (uint32_t)s[2] << 16 | opaque_alpha;
}

// Colours i to i+3; i is a multiple of 4.
DEVICE void four_colours(const Problem &p, uint32_t i, uint32_t (&x)[4])
{
	if (p.samples == nullptr) {
		words4 v = *(const words4 *)(p.values + i);
		x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
		return;
	}
	const uint32_t *s = (const uint32_t *)(p.samples + 3 * (uint64_t)i);
	uint32_t a = s[0], b = s[1], c = s[2];
	x[0] = a | opaque_alpha;
	x[1] = funnel_right(a, b, 24) | opaque_alpha;
	x[2] = funnel_right(b, c, 16) | opaque_alpha;
	x[3] = c >> 8 | opaque_alpha;
}
