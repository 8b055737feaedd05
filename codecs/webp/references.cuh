// Pixels coded by backward references and a colour cache (RFC 9649, 3.6.2.2 and 3.6.2.3).
#pragma once

#include "slot.cuh"

DEVICE uint32_t bit_length(uint32_t v) { return v == 0 ? 0 : 32 - (uint32_t)__builtin_clz(v); }
DEVICE uint32_t cache_hash(uint32_t v) { return v * 0x1e35a7bdu >> (32 - max_cache_bits); }

// The symbol of a length or distance code, and its extra bits, n of them (3.6.2.2).
struct Prefix {
	uint32_t symbol, extra, n;
};

DEVICE Prefix prefix(uint32_t v)
{
	v--;
	if (v < 4)
		return {v, 0, 0};
	uint32_t h = bit_length(v) - 1, n = h - 1;
	return {2 * h + (v >> n & 1), v & ((1u << n) - 1), n};
}

// What a pixel is coded by: up to four symbols of its group, or no_symbol.
constexpr uint32_t no_symbol = 0xffff;
struct Symbols {
	uint32_t low, high; // two each, the first in the low half
};

// The symbols of pixel i; alpha only where it is asked for. some false: none.
DEVICE Symbols symbols_of(const Slot &image, uint64_t i, bool some, bool alpha)
{
	constexpr uint32_t none = no_symbol << 16 | no_symbol;
	uint32_t l = some ? image.length[i] : covered;
	if (l == covered)
		return {none, none};
	if (l == 0) {
		uint32_t v = image.coded[i];
		return {(red_at + (v >> 16 & 255)) | (green_at + (v >> 8 & 255)) << 16,
		        (blue_at + (v & 255)) | (alpha ? alpha_at + (v >> 24) : no_symbol) << 16};
	}
	if (l == cached)
		return {(cache_at + image.value[i]) | no_symbol << 16, none};
	return {(length_at + prefix(l).symbol) | (distance_at + prefix(image.value[i]).symbol) << 16, none};
}

constexpr uint32_t nowhere = ~0u;

// Adds one to to[at], unless at is nowhere. The threads of the warp call; those that add to the same place as the first
// add together, because some symbols are in nearly every pixel.
DEVICE void count_at(uint32_t *to, uint32_t at)
{
	uint32_t some = ballot(at != nowhere);
	if (some == 0)
		return;
	uint32_t first = (uint32_t)__builtin_ctz(some), common = broadcast(at, first);
	uint32_t same = ballot(at == common);
	if (lane() == first)
		add_to(&to[at], (uint32_t)__builtin_popcount(same));
	else if (at != nowhere && at != common)
		add_to(&to[at], 1);
}

// Counts symbols in to. The threads of the warp call.
DEVICE void count_symbols(uint32_t *to, Symbols s, uint32_t offset)
{
	uint32_t list[4] = {s.low & 0xffff, s.low >> 16, s.high & 0xffff, s.high >> 16};
#pragma unroll
	for (uint32_t k = 0; k < 4; k++)
		count_at(to, list[k] == no_symbol ? nowhere : offset + list[k]);
}

// Forgets the parse of image blockIdx.y where there is a new one. One thread per pixel.
KERNEL webp_clear_parse(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t i = thread();
	if (image.references != nullptr && i < (uint64_t)image.width * image.height)
		image.length[i] = 0;
}

// Puts backward references into the parse of image blockIdx.y where there is a new one. A warp takes a backward reference, whose pixels no other has.
KERNEL webp_place_references(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t k = thread() / warp_size, all = (uint64_t)image.width * image.height;
	if (image.references == nullptr || k >= image.reference_count)
		return;
	uint32_t at = image.references[2 * k], both = image.references[2 * k + 1], length = both & 0xfff;
	for (uint32_t i = lane(); i < length && at + i < all; i += warp_size)
		image.length[at + i] = (uint16_t)(i == 0 ? length : covered);
	if (lane() == 0 && at < all)
		image.value[at] = (both >> 12) + 1;
}

// Gives the parse of image blockIdx.y, length and value, a cache of cache_bits; backward references stay. One thread per pixel.
KERNEL webp_set_cache(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t i = thread();
	if (i >= (uint64_t)image.width * image.height)
		return;
	uint32_t l = image.length[i];
	if (l != 0 && l != cached)
		return;
	if (image.hits[i] <= image.cache_bits) {
		image.length[i] = (uint16_t)cached;
		image.value[i] = cache_hash(image.coded[i]) >> (max_cache_bits - image.cache_bits);
	} else {
		image.length[i] = 0;
	}
}

// Counts what the choice of a cache takes of the parse of image blockIdx.y, in counts (cacheCounts in cache.go): of
// pixels that are not in backward references, by the bits of the smallest cache that has them, alpha, red, blue and green, 12 x 4 x 256,
// and hashes, 12 x 2048; and the symbols of lengths. One thread per pixel.
KERNEL webp_cache_counts(const Slot *__restrict__ slots)
{
	constexpr uint32_t hashes_at = 12 * 4 * 256, lengths_at = hashes_at + (12 << max_cache_bits);
	const Slot &image = slots[blockIdx.y];
	uint64_t i = thread(), all = (uint64_t)image.width * image.height;
	if (i - lane() >= all)
		return; // the whole warp
	uint32_t l = i < all ? image.length[i] : covered;
	bool own = l == 0 || l == cached;
	uint32_t v = own ? image.coded[i] : 0;
	uint32_t m = own ? image.hits[i] : 0;
	if (m > max_cache_bits)
		m = 0;
	uint32_t at[6] = {nowhere, nowhere, nowhere, nowhere, nowhere, nowhere};
	if (own) {
		at[0] = m * 1024 + (v >> 24);
		at[1] = m * 1024 + 256 + (v >> 16 & 255);
		at[2] = m * 1024 + 512 + (v & 255);
		at[3] = m * 1024 + 768 + (v >> 8 & 255);
		if (m > 0)
			at[4] = hashes_at + (m << max_cache_bits) + cache_hash(v);
	} else if (l != covered) {
		at[5] = lengths_at + prefix(l).symbol;
	}
#pragma unroll
	for (uint32_t k = 0; k < 6; k++)
		count_at(image.counts, at[k]);
}

// Counts the symbols of each group of image blockIdx.y in counts, n tables. One thread per pixel.
KERNEL webp_count_symbols(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t i = thread(), all = (uint64_t)image.width * image.height;
	if (i - lane() >= all)
		return; // the whole warp
	bool some = i < all;
	uint32_t group = some ? group_at(image, (uint32_t)(i % image.width), (uint32_t)(i / image.width)) : 0;
	count_symbols(image.counts, symbols_of(image, i, some, true), group * image.symbols);
}
