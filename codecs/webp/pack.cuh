// From symbols to bits (RFC 9649, 5.2.1): of each literal green, red, blue and alpha.
#pragma once

#include "../../gpu/include/bits.cuh"
#include "../../gpu/include/scan.cuh"
#include "frame.cuh"

constexpr uint32_t pack_pixels = 4;   // of a thread, one after the other
constexpr uint32_t pack_threads = 256;

// Writes the codes of coded into result, words that the host set to zero, from bit first on. A block takes 1024 pixels of
// picture blockIdx.y, a thread four of them; where a block's bits begin is a running sum over the blocks in one pass
// (scan.cuh). Threads that share a word both OR into it.
KERNEL __launch_bounds__(pack_threads) webp_pack(const Frame *__restrict__ list)
{
	__shared__ uint64_t s_sums[most_warps];
	__shared__ uint32_t s_tile;
	const Frame &f = list[blockIdx.y];
	uint64_t all = (uint64_t)f.width * f.height;
	if ((uint64_t)blockIdx.x * pack_threads * pack_pixels >= all)
		return; // the picture has as many blocks as it has tiles, and the whole block leaves
	uint32_t tile = next_tile(f.state, &s_tile);
	uint64_t first = ((uint64_t)tile * pack_threads + threadIdx.x) * pack_pixels;
	uint32_t code[4 * pack_pixels];
	uint32_t length = 0;
#pragma unroll
	for (uint32_t p = 0; p < pack_pixels; p++) {
		uint64_t i = first + p;
		bool some = i < all;
		uint32_t v = some ? f.coded[i] : 0;
		const uint32_t *codes = f.codes;
		if (some)
			codes += (uint64_t)group_at(f, (uint32_t)(i % f.width), (uint32_t)(i / f.width)) * f.symbols;
		code[4 * p] = some ? codes[green_at + (v >> 8 & 255)] : 0;
		code[4 * p + 1] = some ? codes[red_at + (v >> 16 & 255)] : 0;
		code[4 * p + 2] = some ? codes[blue_at + (v & 255)] : 0;
		code[4 * p + 3] = some ? codes[alpha_at + (v >> 24)] : 0;
#pragma unroll
		for (uint32_t c = 0; c < 4; c++)
			length += code[4 * p + c] & 15;
	}
	uint64_t at = f.first + grid_sum_before(length, f.state, tile, s_sums);
	Span<uint32_t> words = {f.result, f.words};
	uint64_t word = at / 32, held = 0;
	uint32_t n = (uint32_t)(at % 32);
#pragma unroll
	for (uint32_t c = 0; c < 4 * pack_pixels; c++) {
		held |= (uint64_t)(code[c] >> 4) << n;
		n += code[c] & 15;
		if (n >= 32) {
			or_word(words, word++, (uint32_t)held);
			held >>= 32;
			n -= 32;
		}
	}
	or_word(words, word, (uint32_t)held);
}
