// Bins: how many colours lie in each and the sums of the bits that its number lacks, by atomic additions, whose order does
// not matter; then a list of those in which any lie.
//
//   bins      two words a bin: colours | reds << 32, greens | blues << 32
//   alphas    one word a bin, where not all is opaque
//   occupied  one bit a bin: whether a colour lies in it
//
// A problem has less than 2^27 colours, so that no sum reaches 2^32. All are zero before, and the list leaves them so.
#pragma once

#include "../../gpu/include/atomic.cuh"
#include "problem.cuh"

constexpr uint32_t bin_part = (1u << bin_bits) / bin_parts; // bins that a warp takes: a word of occupied for each lane
static_assert(bin_part == warp_size * warp_size, "a lane has a word");

DEVICE uint32_t bin_of(uint32_t v, bool opaque)
{
	if (opaque)
		return (v << 10 & 63u << 12) | (v >> 4 & 63u << 6) | (v >> 18 & 63u);
	return (v << 10 & 31u << 13) | (v >> 3 & 31u << 8) | (v >> 16 & 31u << 3) | v >> 29;
}

// The least components of a bin.
DEVICE uint32_t bin_base(uint32_t number, bool opaque)
{
	if (opaque)
		return (number >> 10 & 0xfc) | (number << 4 & 0xfc00) | (number << 18 & 0xfc0000) | opaque_alpha;
	return (number >> 10 & 0xf8) | (number << 3 & 0xf800) | (number << 16 & 0xf80000) | number << 29;
}

DEVICE void set_global(uint32_t *p, uint32_t bits)
{
	asm volatile("red.global.or.b32 [%0], %1;" : : "l"(p), "r"(bits) : "memory");
}

// Adds to a bin: colours | reds << 16, greens | blues << 16, and alphas.
DEVICE void add_to_bin(const Problem &p, uint32_t number, uint32_t first, uint32_t second, uint32_t alpha)
{
	uint64_t *bin = p.bins + 2 * (uint64_t)number;
	add_global(bin, (first & 0xffff) | (uint64_t)(first >> 16) << 32);
	if (second != 0)
		add_global(bin + 1, (second & 0xffff) | (uint64_t)(second >> 16) << 32);
	if (alpha != 0)
		add_global(p.alphas + number, alpha);
	set_global(p.occupied + number / warp_size, 1u << number % warp_size);
}

// What lies in one bin of the colours that a thread has seen, at most four.
struct Run {
	uint32_t number;
	uint32_t first, second; // colours | reds << 16, greens | blues << 16
	uint32_t alpha;

	__device__ void start(uint32_t n) { number = n, first = 0, second = 0, alpha = 0; }
	__device__ void take(uint32_t rest)
	{
		first += 1 | (rest & 255) << 16;
		second += (rest >> 8 & 255) | (rest & 0xff0000);
		alpha += rest >> 24;
	}
	__device__ void add(const Problem &p) const { add_to_bin(p, number, first, second, alpha); }
};

constexpr uint32_t table_bits = 12, table_size = 1u << table_bits;
constexpr uint32_t no_bin = ~0u;
constexpr uint32_t most_probes = 16; // places of a table that a bin may have
static_assert(bin_threads * bin_colours * 3 < 65536, "the sums of a block fit 16 bits");

// The bins of a block's opaque colours, in shared memory: neighbours have few, and many of the same. A bin that finds no
// place goes to global memory at once.
struct BinTable {
	uint32_t number[table_size];
	uint32_t first[table_size], second[table_size]; // colours | reds << 16, greens | blues << 16

	__device__ void add(const Problem &p, const Run &run)
	{
		uint32_t at = run.number * 0x9e3779b1u >> (32 - table_bits);
		for (uint32_t i = 0; i < most_probes; i++) {
			uint32_t there = number[at];
			if (there == no_bin)
				there = (uint32_t)__nvvm_atom_cas_gen_i((int *)&number[at], (int)no_bin, (int)run.number);
			if (there == no_bin || there == run.number) {
				add_to(&first[at], run.first);
				if (run.second != 0)
					add_to(&second[at], run.second);
				return;
			}
			at = (at + 1) % table_size;
		}
		run.add(p);
	}
};

// Adds a run to a table, or to its bin where alphas have no room there.
DEVICE void add(BinTable &table, const Problem &p, const Run &run)
{
	if (p.opaque != 0)
		table.add(p, run);
	else
		run.add(p);
}

// bins, alphas, occupied: counts and sums. A block of bin_threads takes bin_colours for each, a thread four that lie side by
// side at a time, of which equal bins in a row are added together; blockIdx.y is the problem.
KERNEL __launch_bounds__(bin_threads) nq_bins(const Problem *list)
{
	__shared__ BinTable s_table;
	const Problem &p = list[blockIdx.y];
	uint32_t begin = blockIdx.x * bin_threads * bin_colours, n = p.n;
	if (begin >= n)
		return;
	bool opaque = p.opaque != 0;
	uint32_t lacking = opaque ? 0x00030303u : 0x1f070707u;
	for (uint32_t i = threadIdx.x; i < table_size; i += bin_threads)
		s_table.number[i] = no_bin, s_table.first[i] = 0, s_table.second[i] = 0;
	sync_block(); // the table is empty
	for (uint32_t g = 0; g < bin_colours / 4; g++) {
		uint32_t i = begin + 4 * (g * bin_threads + threadIdx.x);
		if (i >= n)
			break;
		uint32_t x[4];
		four_colours(p, i, x);
		Run run;
		run.start(bin_of(x[0], opaque));
#pragma unroll
		for (uint32_t q = 0; q < 4; q++) {
			uint32_t number = i + q < n ? bin_of(x[q], opaque) : run.number;
			if (number != run.number) {
				add(s_table, p, run);
				run.start(number);
			}
			if (i + q < n)
				run.take(x[q] & lacking);
		}
		add(s_table, p, run);
	}
	sync_block(); // the table is whole
	for (uint32_t i = threadIdx.x; i < table_size; i += bin_threads) {
		uint32_t number = s_table.number[i];
		if (number != no_bin)
			add_to_bin(p, number, s_table.first[i], s_table.second[i], 0);
	}
}

// counts: occupied bins of each part. A warp takes a part, blockIdx.y is the problem.
KERNEL nq_count_bins(const Problem *list)
{
	const Problem &p = list[blockIdx.y];
	uint32_t part = (uint32_t)(thread() / warp_size);
	if (part >= bin_parts)
		return;
	uint32_t n = warp_sum((uint32_t)__builtin_popcount(p.occupied[part * warp_size + lane()]));
	if (lane() == 0)
		p.counts[part] = n;
}

// colours, weights, numbers, rests and the last of counts; bins, alphas and occupied are zero again. A warp takes a part,
// whose bins follow those of all parts before it; blockIdx.y is the problem.
KERNEL nq_list_bins(const Problem *list)
{
	const Problem &p = list[blockIdx.y];
	uint32_t part = (uint32_t)(thread() / warp_size);
	if (part >= bin_parts)
		return;
	bool opaque = p.opaque != 0;
	uint32_t before = 0;
	for (uint32_t i = lane(); i < part; i += warp_size)
		before += p.counts[i];
	before = broadcast(warp_sum(before), 0);
	uint32_t *words = p.occupied + part * warp_size, own = words[lane()];
	words[lane()] = 0;
	for (uint32_t word = 0; word < warp_size; word++) {
		uint32_t there = broadcast(own, word);
		if (there >> lane() & 1) {
			uint32_t number = part * bin_part + word * warp_size + lane();
			uint64_t *bin = p.bins + 2 * (uint64_t)number, a = bin[0], b = bin[1];
			bin[0] = bin[1] = 0;
			uint32_t w = (uint32_t)a, rests[4] = {(uint32_t)(a >> 32), (uint32_t)b, (uint32_t)(b >> 32), 0};
			if (!opaque) {
				rests[3] = p.alphas[number];
				p.alphas[number] = 0;
			}
			uint32_t at = before + (uint32_t)__builtin_popcount(there & ((1u << lane()) - 1));
			uint32_t mean = bin_base(number, opaque);
#pragma unroll
			for (uint32_t t = 0; t < 4; t++) {
				mean += (rests[t] + w / 2) / w << (8 * t);
				p.rests[4 * (uint64_t)at + t] = rests[t];
			}
			p.colours[at] = mean;
			p.weights[at] = w;
			p.numbers[at] = number;
		}
		before += (uint32_t)__builtin_popcount(there);
	}
	if (part == bin_parts - 1 && lane() == 0)
		p.counts[bin_parts] = before;
}
