// Logarithms of integers, as in log2.go. Any thread calls, each for itself.
#pragma once

#include "shared.cuh"

// at[i] is log2(1 + i/256) in 1/65536.
struct Log2Table {
	uint32_t at[257];

	constexpr Log2Table() : at()
	{
		for (uint32_t i = 0; i < 256; i++) {
			uint64_t x = (uint64_t)(256 + i) << 23; // 1.31 fixed point, 1 <= x < 2
			uint32_t v = 0;
			for (uint32_t k = 0; k <= log2_bits; k++) {
				x = x * x >> 31;
				v <<= 1;
				if (x >= 1ull << 32) {
					v |= 1;
					x >>= 1;
				}
			}
			at[i] = (v + 1) >> 1;
		}
		at[256] = 1 << log2_bits;
	}
};

// Not constant: lanes that read different places of constant memory wait for each other.
static __attribute__((device)) Log2Table log2_table = Log2Table();

// The binary logarithm of v, at least 1, times 65536.
DEVICE uint32_t log2(uint64_t v)
{
	uint32_t n = 63 - (uint32_t)__builtin_clzll(v);
	uint64_t m = v << (63 - n); // 1.63 fixed point
	uint32_t i = (uint32_t)(m >> 55) & 255;
	uint64_t f = m >> 39 & 0xffff;
	uint64_t a = log2_table.at[i], b = log2_table.at[i + 1];
	return (n << log2_bits) + (uint32_t)(a + (((b - a) * f + (1 << 15)) >> 16));
}

// What a symbol that occurs own times of all costs in an ideal code, in 1/256 bit.
DEVICE uint32_t ideal_cost(uint64_t own, uint32_t log2_of_all)
{
	uint32_t o = log2(own == 0 ? 1 : 3 * own);
	return least((log2_of_all - o + (1 << (log2_bits - cost_bits - 1))) >> (log2_bits - cost_bits), max_cost);
}
