// The symbols of deflate (RFC 1951, 3.2.5), and tokens: a literal from bit 16 up, or match_bit, from bit 16 up the length of a match
// less 3, and below it its distance less 1.
#pragma once

#include "shared.cuh"

constexpr uint32_t least_match = 3, longest_match = 258;
constexpr uint32_t match_bit = 1u << 24;

DEVICE uint32_t greatest(uint32_t a, uint32_t b) { return a > b ? a : b; }

// The symbol of a distance less 1, and of a length, less 257, with their extra bits (RFC 1951, 3.2.5).
DEVICE uint32_t distance_symbol(uint32_t d)
{
	if (d < 4)
		return d;
	uint32_t n = 31 - (uint32_t)__builtin_clz(d);
	return 2 * n + (d >> (n - 1) & 1);
}
DEVICE uint32_t distance_extra(uint32_t symbol) { return symbol < 4 ? 0 : symbol / 2 - 1; }
DEVICE uint32_t length_symbol(uint32_t length)
{
	uint32_t l = length - least_match;
	if (l < 8 || length == longest_match)
		return l < 8 ? l : 28;
	uint32_t n = 31 - (uint32_t)__builtin_clz(l);
	return 4 * (n - 1) + (l >> (n - 2) & 3);
}
DEVICE uint32_t length_extra(uint32_t symbol) { return symbol < 8 || symbol == 28 ? 0 : symbol / 4 - 1; }
