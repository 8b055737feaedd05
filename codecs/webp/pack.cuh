// From symbols to bits (RFC 9649, 3.6.2.1): of each literal green, red, blue and alpha.
#pragma once

#include "../../gpu/include/bits.cuh"
#include "../../gpu/include/scan.cuh"
#include "references.cuh"

// Writes count pieces, bits << 5 | length each, into words from bit at on.
template <uint32_t count> DEVICE void write_pieces(Span<uint32_t> words, uint64_t at, const uint32_t *piece)
{
	uint64_t word = at / 32, held = 0;
	uint32_t n = (uint32_t)(at % 32);
#pragma unroll
	for (uint32_t c = 0; c < count; c++) {
		held |= (uint64_t)(piece[c] >> 5) << n;
		n += piece[c] & 31;
		if (n >= 32) {
			or_word(words, word++, (uint32_t)held);
			held >>= 32;
			n -= 32;
		}
	}
	or_word(words, word, (uint32_t)held);
}

// A code as Go has it, bits << 4 | length, as a piece.
DEVICE uint32_t piece_of(uint32_t code) { return code >> 4 << 5 | (code & 15); }

// Writes the codes of a parse of coded into result, like webp_pack_literals: a literal's four codes, a backward reference's length and distance
// with their extra bits, or the index in the cache.
KERNEL __launch_bounds__(block_threads) webp_pack_references(const Slot *__restrict__ slots)
{
	__shared__ uint64_t s_sums[most_warps];
	__shared__ uint32_t s_tile;
	const Slot &image = slots[blockIdx.y];
	uint64_t all = (uint64_t)image.width * image.height;
	if ((uint64_t)blockIdx.x * block_threads * pack_pixels >= all)
		return; // the image has as many blocks as it has tiles, and the whole block leaves
	uint32_t tile = next_tile(image.scratch, &s_tile);
	uint64_t first = ((uint64_t)tile * block_threads + threadIdx.x) * pack_pixels;
	uint32_t piece[4 * pack_pixels] = {};
	uint32_t length = 0;
#pragma unroll
	for (uint32_t p = 0; p < pack_pixels; p++) {
		uint64_t i = first + p;
		uint32_t l = i < all ? image.length[i] : covered;
		if (l != covered) {
			const uint32_t *codes = image.codes;
			codes += (uint64_t)group_at(image, (uint32_t)(i % image.width), (uint32_t)(i / image.width)) * image.symbols;
			if (l == 0) {
				uint32_t v = image.coded[i];
				piece[4 * p] = piece_of(codes[green_at + (v >> 8 & 255)]);
				piece[4 * p + 1] = piece_of(codes[red_at + (v >> 16 & 255)]);
				piece[4 * p + 2] = piece_of(codes[blue_at + (v & 255)]);
				piece[4 * p + 3] = piece_of(codes[alpha_at + (v >> 24)]);
			} else if (l == cached) {
				piece[4 * p] = piece_of(codes[cache_at + image.value[i]]);
			} else {
				Prefix a = prefix(l), b = prefix(image.value[i]);
				piece[4 * p] = piece_of(codes[length_at + a.symbol]);
				piece[4 * p + 1] = a.extra << 5 | a.n;
				piece[4 * p + 2] = piece_of(codes[distance_at + b.symbol]);
				piece[4 * p + 3] = b.extra << 5 | b.n;
			}
		}
#pragma unroll
		for (uint32_t c = 0; c < 4; c++)
			length += piece[4 * p + c] & 31;
	}
	uint64_t at = image.first + grid_sum_before(length, image.scratch, tile, s_sums);
	write_pieces<4 * pack_pixels>({image.result, image.words}, at, piece);
}

// Writes the codes of coded into result, words that were zero before, from bit first on. A block takes 1024 pixels of
// image blockIdx.y, a thread four of them; where a block's bits begin is a running sum over the blocks in one pass
// (scan.cuh). Threads that share a word both OR into it.
KERNEL __launch_bounds__(block_threads) webp_pack_literals(const Slot *__restrict__ slots)
{
	__shared__ uint64_t s_sums[most_warps];
	__shared__ uint32_t s_tile;
	const Slot &image = slots[blockIdx.y];
	uint64_t all = (uint64_t)image.width * image.height;
	if ((uint64_t)blockIdx.x * block_threads * pack_pixels >= all)
		return; // the image has as many blocks as it has tiles, and the whole block leaves
	uint32_t tile = next_tile(image.scratch, &s_tile);
	uint64_t first = ((uint64_t)tile * block_threads + threadIdx.x) * pack_pixels;
	uint32_t code[4 * pack_pixels];
	uint32_t length = 0;
#pragma unroll
	for (uint32_t p = 0; p < pack_pixels; p++) {
		uint64_t i = first + p;
		bool some = i < all;
		uint32_t v = some ? image.coded[i] : 0;
		const uint32_t *codes = image.codes;
		if (some)
			codes += (uint64_t)group_at(image, (uint32_t)(i % image.width), (uint32_t)(i / image.width)) * image.symbols;
		code[4 * p] = some ? codes[green_at + (v >> 8 & 255)] : 0;
		code[4 * p + 1] = some ? codes[red_at + (v >> 16 & 255)] : 0;
		code[4 * p + 2] = some ? codes[blue_at + (v & 255)] : 0;
		code[4 * p + 3] = some ? codes[alpha_at + (v >> 24)] : 0;
#pragma unroll
		for (uint32_t c = 0; c < 4; c++)
			length += code[4 * p + c] & 15;
	}
	uint64_t at = image.first + grid_sum_before(length, image.scratch, tile, s_sums);
	Span<uint32_t> words = {image.result, image.words};
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
