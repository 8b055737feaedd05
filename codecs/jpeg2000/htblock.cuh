// What encoding and decoding of High Throughput code-blocks (ISO/IEC 15444-15) share. The terms and the bits of a segment are
// those of codecs/jpeg2000/internal/ht.
#pragma once

#include "../../gpu/include/bits.cuh"
#include "../../gpu/include/warp.cuh"
#include "shared.cuh"

DEVICE uint32_t bit_length(uint32_t v) { return v == 0 ? 0 : 32 - (uint32_t)__builtin_clz(v); }

// log2 of the run that MEL expects, by its state: 0 0 0 1 1 1 2 2 2 3 3 4 5.
DEVICE uint32_t mel_exponent(uint32_t state)
{
	constexpr uint64_t all = 0x5433222111000ull;
	return (uint32_t)(all >> (4 * state)) & 15;
}
constexpr uint32_t mel_states = 13;

// ORs count bits, 0 to 32, of v into words of shared memory at bit position at.
DEVICE void or_bits(uint32_t *words, uint32_t at, uint32_t v, uint32_t count)
{
	uint64_t both = (uint64_t)low_bits(v, count) << (at % 32);
	if ((uint32_t)both != 0)
		__nvvm_atom_or_gen_i((int *)&words[at / 32], (int)(uint32_t)both);
	if ((uint32_t)(both >> 32) != 0)
		__nvvm_atom_or_gen_i((int *)&words[at / 32 + 1], (int)(uint32_t)(both >> 32));
}

// 32 bits of words from bit position at on.
DEVICE uint32_t read_bits(const uint32_t *words, uint32_t at) { return funnel_right(words[at / 32], words[at / 32 + 1], at % 32); }

// kappa of a quad with pattern rho; above is the OR of v|1 of the four samples above it.
DEVICE uint32_t predicted(uint32_t rho, uint32_t above)
{
	uint32_t e = bit_length(above);
	return (rho & (rho - 1)) == 0 || e < 2 ? 1 : e - 1;
}
