// Writing and reading bits. Any threads call, each for itself.
//
// Two orders are in use. "low": the first bit is the least of the first byte (PNG's deflate, WebP). "high": the first bit
// is the greatest of the first byte (JPEG 2000, our own formats). A value of count bits goes out with its least bit
// first in "low" and its greatest bit first in "high" order.
//
// Writers merge into words of 32 bits that the host set to zero, by atomic OR, so that neighbours share words and their
// order does not matter. words holds n words; bits beyond them are dropped.
#pragma once

#include "base.cuh"

DEVICE void or_word(Span<uint32_t> words, uint64_t i, uint32_t v)
{
	if (v != 0 && i < words.n)
		__nvvm_atom_or_gen_i((int *)&words.at[i], (int)v);
}

// The least count bits, 0 to 32.
DEVICE uint32_t low_bits(uint32_t v, uint32_t count) { return count >= 32 ? v : v & ((1u << count) - 1); }

// Writes count bits, 0 to 32, of v at bit position at.
DEVICE void put_low(Span<uint32_t> words, uint64_t at, uint32_t v, uint32_t count)
{
	uint32_t shift = at % 32;
	uint64_t both = (uint64_t)low_bits(v, count) << shift;
	or_word(words, at / 32, (uint32_t)both);
	or_word(words, at / 32 + 1, (uint32_t)(both >> 32));
}

DEVICE void put_high(Span<uint32_t> words, uint64_t at, uint32_t v, uint32_t count)
{
	if (count == 0)
		return;
	uint32_t shift = at % 32;
	uint64_t both = (uint64_t)low_bits(v, count) << (64 - count) >> shift;
	or_word(words, at / 32, swap_bytes((uint32_t)(both >> 32)));
	or_word(words, at / 32 + 1, swap_bytes((uint32_t)both));
}

// Reads count bits, 0 to 32, at bit position at; bits beyond the words are 0.
DEVICE uint32_t get_low(Span<const uint32_t> words, uint64_t at, uint32_t count)
{
	uint32_t low = words.load(at / 32, 0), high = words.load(at / 32 + 1, 0);
	return low_bits(funnel_right(low, high, at % 32), count);
}

DEVICE uint32_t get_high(Span<const uint32_t> words, uint64_t at, uint32_t count)
{
	if (count == 0)
		return 0;
	uint32_t high = swap_bytes(words.load(at / 32, 0)), low = swap_bytes(words.load(at / 32 + 1, 0));
	return funnel_left(low, high, at % 32) >> (32 - count);
}
