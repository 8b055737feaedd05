// Groups put together while that makes the stream smaller (mergeGroups in cluster.go), and the answer of a choice of
// groups, whose other kernels are in cluster.cuh.
#pragma once

#include "cluster.cuh"

// The description of n unused symbols in a row (unusedSize in cluster.go).
DEVICE uint64_t unused_symbols_size(uint32_t n)
{
	return n < 3 ? (uint64_t)n * unused_size : unused_run_size + (uint64_t)(n / unused_run) * unused_run_size;
}

// About what a code for the n counts of a and, unless it is null, b takes (codeSize). some becomes true where there are
// any. The threads of the warp call, and all hold the result.
DEVICE uint64_t code_size(const uint32_t *a, const uint32_t *b, uint32_t n, bool &some)
{
	uint64_t total = 0, bits = 0, description = 0;
	uint32_t used = 0, last = first_digits; // binary digits of the last count that is not 0
	int32_t at = -1;             // its place
	for (uint32_t from = 0; from < n; from += warp_size) {
		uint32_t i = from + lane();
		uint32_t v = i < n ? a[i] : 0;
		if (b != nullptr && i < n)
			v += b[i];
		uint32_t mask = ballot(v != 0);
		if (mask == 0)
			continue;
		uint32_t length = bit_length(v), below = mask & ((1u << lane()) - 1);
		uint32_t before = below == 0 ? 0 : bit_length(below) - 1;
		// Every lane takes part in the exchange.
		uint32_t length_before = (uint32_t)__nvvm_shfl_sync_idx_i32(whole_warp, (int)length, (int)before, warp_size - 1);
		int32_t at_before = (int32_t)(from + before);
		if (below == 0) {
			length_before = last;
			at_before = at;
		}
		if (v != 0) {
			int32_t d = (int32_t)length - (int32_t)length_before;
			uint32_t step = d == 0 ? same_length_size : d == 1 || d == -1 ? next_length_size : other_length_size;
			description += unused_symbols_size((uint32_t)((int32_t)i - at_before - 1)) + step;
			total += v;
			bits += (uint64_t)v * log2(v);
		}
		used += (uint32_t)__builtin_popcount(mask);
		uint32_t top = bit_length(mask) - 1;
		at = (int32_t)(from + top);
		last = broadcast(length, top);
	}
	some = some || used > 0;
	if (used < 2)
		return lone_symbol_size;
	total = warp_total(total);
	bits = warp_total(bits);
	uint64_t whole = total * log2(total);
	return (whole > bits ? whole - bits : 0) + warp_total(description) + description_size;
}

// The five codes of a group (groupSize).
DEVICE uint64_t group_size(const uint32_t *a, const uint32_t *b, uint32_t symbols, bool &some)
{
	uint64_t sum = 0;
	for (uint32_t k = 0; k < 5; k++) {
		uint32_t lo = code_at(k, symbols);
		sum += code_size(a + lo, b == nullptr ? nullptr : b + lo, code_at(k + 1, symbols) - lo, some);
	}
	return sum;
}

// Lets tiles without symbols be in the group of the last one before that has some, or in the first. The threads of the
// block call; s is a word of shared memory for each warp and one more.
DEVICE void follow(const Slot &image, const Clusters &c, uint32_t *s)
{
	uint32_t before = 0; // one more than the last tile with symbols
	for (uint32_t from = 0; from < c.tiles; from += blockDim.x) {
		uint32_t t = from + threadIdx.x;
		uint32_t last = t < c.tiles && c.size[t] > 0 ? t + 1 : 0;
		for (uint32_t d = 1; d < warp_size; d *= 2) {
			uint32_t v = shuffle_up(last, d);
			if (lane() >= d && v > last)
				last = v;
		}
		if (lane() == warp_size - 1)
			s[warp()] = last;
		sync_block(); // s is what each warp ends with
		uint32_t own = before;
		for (uint32_t w = 0; w < blockDim.x / warp_size; w++) {
			if (w < warp() && s[w] > own)
				own = s[w];
			if (s[w] > before)
				before = s[w];
		}
		if (last > own)
			own = last;
		if (t < c.tiles && c.size[t] == 0)
			image.groups[t] = own == 0 ? 0 : image.groups[own - 1];
		sync_block(); // before s is used again
	}
}

// What the codes of each two groups of image blockIdx.y would take together, in sizes, of the first and the later one;
// of one group alone, where both are the same; 0 of a group without symbols. A warp takes two groups.
KERNEL webp_cluster_pairs(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	Clusters c(image);
	uint64_t p = thread() / warp_size;
	uint32_t a = (uint32_t)(p / max_start_groups), b = (uint32_t)(p % max_start_groups), n = c.head[0];
	if (n < 2 || a > b || b >= n)
		return;
	bool some = false;
	const uint32_t *first = c.hist + (uint64_t)a * c.symbols, *second = c.hist + (uint64_t)b * c.symbols;
	uint64_t size = group_size(first, a == b ? nullptr : second, c.symbols, some);
	if (lane() == 0)
		c.sizes[p] = some ? size : 0;
}

// Puts groups of image blockIdx.y together while that makes the stream smaller (mergeGroups), and numbers those that
// are left by the first tile. A block takes the image; a warp finds the size of two groups together.
KERNEL __launch_bounds__(image_block) webp_cluster_merge(const Slot *__restrict__ slots)
{
	__shared__ uint64_t s_sums[most_warps];
	__shared__ int64_t s_gain[max_start_groups * max_start_groups]; // of the first and the second, which is later
	__shared__ uint64_t s_size[max_start_groups];
	__shared__ uint64_t s_pair[max_start_groups];
	__shared__ uint32_t s_live[max_start_groups], s_to[max_start_groups], s_first[max_start_groups], s_words[most_warps];
	const Slot &image = slots[blockIdx.y];
	Clusters c(image);
	uint32_t n = c.head[0], warps = blockDim.x / warp_size;
	if (n < 2)
		return; // the whole block
	follow(image, c, s_words);
	if (threadIdx.x < n) {
		uint32_t k = threadIdx.x;
		s_size[k] = c.sizes[k * max_start_groups + k];
		s_live[k] = s_size[k] != 0;
		s_to[k] = k;
		s_first[k] = ~0u;
	}
	sync_block(); // sizes are known
	uint32_t lead = 0; // the first group that has symbols
	while (lead + 1 < n && s_live[lead] == 0)
		lead++;
	for (uint32_t p = threadIdx.x; p < max_start_groups * max_start_groups; p += blockDim.x) {
		uint32_t a = p / max_start_groups, b = p % max_start_groups;
		if (a < b && b < n)
			s_gain[p] = (int64_t)(s_size[a] + s_size[b]) - (int64_t)c.sizes[p];
	}
	sync_block(); // gains are known
	for (;;) {
		uint32_t p = threadIdx.x, a = p / max_start_groups, b = p % max_start_groups;
		uint64_t key = ~0ull;
		if (a < b && b < n && s_live[a] != 0 && s_live[b] != 0 && s_gain[p] > 0)
			key = ~(uint64_t)s_gain[p];
		uint64_t best = block_least(key, s_sums);
		if (best == ~0ull)
			break; // all threads
		p = (uint32_t)block_least((uint64_t)(key == best ? p : ~0u), s_sums);
		uint32_t x = p / max_start_groups, y = p % max_start_groups;
		uint32_t *to = c.hist + (uint64_t)x * c.symbols;
		for (uint32_t i = threadIdx.x; i < c.symbols; i += blockDim.x)
			to[i] += c.hist[(uint64_t)y * c.symbols + i];
		if (threadIdx.x == 0)
			s_live[y] = 0;
		if (threadIdx.x < n && s_to[threadIdx.x] == y)
			s_to[threadIdx.x] = x;
		sync_block(); // the groups are one
		for (uint32_t k = warp(); k < n; k += warps) {
			if (s_live[k] == 0)
				continue;
			bool some = false;
			uint64_t size = group_size(to, k == x ? nullptr : c.hist + (uint64_t)k * c.symbols, c.symbols, some);
			if (lane() == 0)
				s_pair[k] = size;
		}
		sync_block(); // sizes with it are known
		if (threadIdx.x < n && threadIdx.x != x && s_live[threadIdx.x] != 0) {
			uint32_t k = threadIdx.x;
			s_gain[least(k, x) * max_start_groups + (k < x ? x : k)] = (int64_t)(s_size[k] + s_pair[x]) - (int64_t)s_pair[k];
		}
		if (threadIdx.x == 0)
			s_size[x] = s_pair[x]; // no other thread reads it here
		sync_block(); // gains are known
	}
	if (threadIdx.x < n && s_live[s_to[threadIdx.x]] == 0)
		s_to[threadIdx.x] = lead;
	sync_block(); // s_to is whole
	for (uint32_t t = threadIdx.x; t < c.tiles; t += blockDim.x)
		least_at(&s_first[s_to[image.groups[t]]], t);
	sync_block(); // so is s_first
	for (uint32_t t = threadIdx.x; t < c.tiles; t += blockDim.x) {
		uint32_t k = s_to[image.groups[t]], rank = 0;
		for (uint32_t j = 0; j < n; j++)
			rank += s_first[j] < s_first[k];
		image.groups[t] = (uint16_t)rank;
	}
	if (threadIdx.x == 0) {
		uint32_t left = 0;
		for (uint32_t k = 0; k < n; k++)
			left += s_first[k] != ~0u;
		c.head[0] = left;
	}
}

// The groups of image blockIdx.y in result: how many, then by tile as 16 bits. Fewer than two are one of all tiles. A
// block takes the image.
KERNEL __launch_bounds__(image_block) webp_cluster_result(const Slot *__restrict__ slots)
{
	__shared__ uint32_t s_words[most_warps];
	const Slot &image = slots[blockIdx.y];
	Clusters c(image);
	uint32_t n = c.head[0];
	if (n >= 2)
		follow(image, c, s_words);
	sync_block(); // groups are whole
	for (uint32_t t = threadIdx.x; t < c.tiles; t += blockDim.x) {
		if (n < 2)
			image.groups[t] = 0;
		((uint16_t *)(image.result + 1))[t] = image.groups[t];
	}
	if (threadIdx.x == 0)
		image.result[0] = n;
}
