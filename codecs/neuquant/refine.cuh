// Refinement: k-means over the occupied bins, with moves of entries that are missed least. One block a problem, which runs
// all passes without the host.
#pragma once

#include "bins.cuh"
#include "map.cuh"

// A sum of 64 bits for each entry, in halves: additions of 32 bits are what shared memory has.
struct Sums {
	uint32_t low[most_entries], high[most_entries];

	__device__ void clear(uint32_t i) { low[i] = 0, high[i] = 0; }
	__device__ uint64_t at(uint32_t i) const { return (uint64_t)high[i] << 32 | low[i]; }
	__device__ void add(uint32_t i, uint64_t v)
	{
		uint32_t part = (uint32_t)v, before = add_to(&low[i], part);
		uint32_t rest = (uint32_t)(v >> 32) + (before + part < before ? 1 : 0);
		if (rest != 0)
			add_to(&high[i], rest);
	}
};

// Rounded mean of w colours.
DEVICE uint32_t mean_of(const uint64_t (&sum)[4], uint32_t w)
{
	uint32_t v = 0;
#pragma unroll
	for (uint32_t t = 0; t < 4; t++)
		v |= (uint32_t)((sum[t] + w / 2) / w) << (8 * t);
	return v;
}

// Sum of component t of bin i.
DEVICE uint64_t bin_sum(const Problem &p, uint32_t i, uint32_t base, uint32_t w, uint32_t t)
{
	return (uint64_t)component(base, t) * w + p.rests[4 * (uint64_t)i + t];
}

// entries: refined by passes over the bins of the list. Threads 0 to k-1 have an entry each where entries are worked on,
// and all threads take bins in turn.
KERNEL __launch_bounds__(refine_threads) nq_refine(const Problem *list, uint32_t passes)
{
	__shared__ __attribute__((aligned(16))) words2 s_entries[most_entries];
	__shared__ uint32_t s_count[most_entries], s_few[most_entries];
	__shared__ Sums s_sum[4], s_err, s_loss;
	__shared__ Sums s_linear[4], s_square[4];
	__shared__ uint8_t s_low[most_entries], s_high[most_entries];       // entries by loss and by error
	__shared__ uint8_t s_low_rank[most_entries], s_high_rank[most_entries];
	__shared__ uint8_t s_axis[most_entries], s_at[most_entries];        // of the cuts
	__shared__ uint32_t s_warps[most_warps];
	const Problem &p = list[blockIdx.x];
	uint32_t k = p.k, n = p.counts[bin_parts], self = threadIdx.x;
	bool opaque = p.opaque != 0, mine = self < k;
	uint32_t filled = (k + 3) / 4 * 4;
	uint32_t entry = mine ? p.entries[self] : 0;
	for (uint32_t pass = 0; pass < passes; pass++) {
		if (self < most_entries) {
			s_entries[self] = palette_entry(entry, self, k);
			s_count[self] = 0;
			s_err.clear(self);
			s_loss.clear(self);
			for (uint32_t t = 0; t < 4; t++)
				s_sum[t].clear(self);
		}
		sync_block(); // the entries are there and the sums 0
		for (uint32_t i = self; i < n; i += 2 * refine_threads) {
			// Two bins at a time, so that an entry is read once for both.
			uint32_t at[2] = {i, i + refine_threads < n ? i + refine_threads : i};
			uint32_t x[2] = {p.colours[at[0]], p.colours[at[1]]};
			int32_t near[2] = {farthest, farthest}, next[2] = {farthest, farthest};
#pragma unroll 4
			for (uint32_t j = 0; j < filled; j++) {
				words2 e = s_entries[j];
#pragma unroll
				for (uint32_t b = 0; b < 2; b++) {
					int32_t key = palette_key(x[b], e.x, e.y);
					next[b] = greatest_signed(next[b], least_signed(near[b], key));
					near[b] = greatest_signed(near[b], key);
				}
			}
			for (uint32_t b = 0; b < 2; b++) {
				if (b == 1 && at[1] == at[0])
					break;
				uint32_t of = key_index(near[b]), w = p.weights[at[b]];
				int32_t own = (int32_t)dp4a(x[b], x[b], 0);
				uint32_t d1 = (uint32_t)(key_distance(near[b]) + own), d2 = (uint32_t)(key_distance(next[b]) + own);
				uint32_t base = bin_base(p.numbers[at[b]], opaque);
				p.nearest[at[b]] = (uint8_t)of;
				add_to(&s_count[of], w);
				s_err.add(of, (uint64_t)w * d1);
				s_loss.add(of, (uint64_t)w * (d2 - d1));
#pragma unroll
				for (uint32_t t = 0; t < 4; t++) {
					if (t < 3 || !opaque)
						s_sum[t].add(of, bin_sum(p, at[b], base, w, t));
				}
			}
		}
		sync_block(); // the sums are whole
		uint32_t count = mine ? s_count[self] : 0;
		uint64_t sum[4] = {0, 0, 0, 0};
		if (mine) {
#pragma unroll
			for (uint32_t t = 0; t < 4; t++) {
				if (t < 3 || !opaque)
					sum[t] = s_sum[t].at(self);
			}
			if (opaque)
				sum[3] = (uint64_t)count * 255;
			if (count > 0)
				entry = mean_of(sum, count);
			// Places in both orders, of equals the first before the second; entries out of use are missed least.
			uint64_t err = s_err.at(self), loss = count > 0 ? s_loss.at(self) + 1 : 0;
			uint32_t low = 0, high = 0;
			for (uint32_t j = 0; j < k; j++) {
				uint64_t e = s_err.at(j), l = s_count[j] > 0 ? s_loss.at(j) + 1 : 0;
				low += l < loss || (l == loss && j < self) ? 1 : 0;
				high += e > err || (e == err && j < self) ? 1 : 0;
			}
			s_low[low] = s_high[high] = (uint8_t)self;
			s_low_rank[self] = (uint8_t)low, s_high_rank[self] = (uint8_t)high;
		}
		sync_block(); // the orders are whole
		uint32_t most = pass + 1 < passes ? k >> (2 + least(pass, 29u)) : 0;
		uint32_t stop = k;
		if (mine) {
			// Thread i looks at pair i: the entry that is missed as the i-th least, and the i-th largest error.
			uint32_t from = s_low[self], to = s_high[self];
			uint64_t err = s_err.at(to);
			bool over = err == 0 || s_high_rank[from] <= self || s_low_rank[to] <= self ||
				(s_count[from] > 0 && (self >= most || 2 * s_loss.at(from) > err));
			stop = over ? self : k;
		}
		uint32_t taken = block_least(stop, s_warps);
		if (taken == 0)
			continue; // block_least has made everybody wait
		// Where to cut: linear and square sums of the bins' means, by pair.
		if (self < most_entries) {
			for (uint32_t t = 0; t < 4; t++)
				s_linear[t].clear(self), s_square[t].clear(self);
			s_few[self] = 0;
		}
		sync_block(); // they are 0
		for (uint32_t i = self; i < n; i += refine_threads) {
			uint32_t pair = s_high_rank[p.nearest[i]];
			if (pair >= taken)
				continue;
			uint32_t x = p.colours[i], w = p.weights[i];
#pragma unroll
			for (uint32_t t = 0; t < 4; t++) {
				if (t == 3 && opaque)
					break;
				uint32_t c = component(x, t);
				s_linear[t].add(pair, (uint64_t)w * c);
				s_square[t].add(pair, (uint64_t)w * (c * c));
			}
		}
		sync_block(); // the sums are whole
		if (self < taken) {
			uint32_t w = s_count[s_high[self]], axis = 0, at = 0;
			int64_t most_spread = -1;
#pragma unroll
			for (uint32_t t = 0; t < 4; t++) {
				if (t == 3 && opaque)
					break;
				uint64_t linear = s_linear[t].at(self), q = linear / w;
				int64_t spread = (int64_t)(s_square[t].at(self) - 2 * q * linear + w * q * q);
				if (spread > most_spread)
					axis = t, at = (uint32_t)q, most_spread = spread;
			}
			s_axis[self] = (uint8_t)axis, s_at[self] = (uint8_t)at;
			for (uint32_t t = 0; t < 4; t++)
				s_linear[t].clear(self); // from here on the sums of what is not beyond the cut
		}
		sync_block(); // the cuts are there
		for (uint32_t i = self; i < n; i += refine_threads) {
			uint32_t pair = s_high_rank[p.nearest[i]];
			if (pair >= taken || component(p.colours[i], s_axis[pair]) > s_at[pair])
				continue;
			uint32_t w = p.weights[i], base = bin_base(p.numbers[i], opaque);
			add_to(&s_few[pair], w);
#pragma unroll
			for (uint32_t t = 0; t < 4; t++) {
				if (t < 3 || !opaque)
					s_linear[t].add(pair, bin_sum(p, i, base, w, t));
			}
		}
		sync_block(); // the sums are whole
		if (mine) {
			// Both entries of a pair take their side.
			uint32_t grown = s_high_rank[self], left = s_low_rank[self];
			uint32_t pair = grown < taken ? grown : left;
			if (pair < taken) {
				uint32_t of = s_high[pair], w = s_few[pair], all = s_count[of];
				if (w > 0 && w < all) {
					uint64_t part[4];
#pragma unroll
					for (uint32_t t = 0; t < 4; t++) {
						if (t < 3 || !opaque)
							part[t] = s_linear[t].at(pair);
					}
					if (opaque)
						part[3] = (uint64_t)w * 255;
					if (grown >= taken) {
#pragma unroll
						for (uint32_t t = 0; t < 4; t++) {
							if (t < 3 || !opaque)
								part[t] = s_sum[t].at(of) - part[t];
						}
						w = all - w;
						if (opaque)
							part[3] = (uint64_t)w * 255;
					}
					entry = mean_of(part, w);
				}
			}
		}
		sync_block(); // before the sums are used again
	}
	if (mine)
		p.entries[self] = entry;
}
