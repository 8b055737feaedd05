// Codewords move from where they matter least to where they are missed most: see shift in shift.go.
#pragma once

#include "train.cuh"

// The nearest other codeword of every codeword, of several the first, and what it costs to dissolve a cell into that of the
// other. There are at least two codewords. One warp per codeword.
KERNEL vq_nearest(const Training *__restrict__ list, uint32_t most)
{
	const Training &t = list[blockIdx.y];
	uint32_t i = (uint32_t)(thread() / warp_size), w = t.k / 4, n = cells_of(t, most);
	if (i >= n)
		return;
	const uint32_t *words = (const uint32_t *)t.words;
	uint64_t best = ~0ull;
	for (uint32_t j = lane(); j < n; j += warp_size) {
		if (j == i)
			continue;
		uint32_t distance = 0;
		for (uint32_t s = 0; s < w; s++) {
			uint32_t u = words[i * w + s], v = words[j * w + s];
			// Modulo 2^32; the whole is not negative.
			distance += dp4a(u, u, 0) + dp4a(v, v, 0) - 2 * dp4a(u, v, 0);
		}
		best = least(best, (uint64_t)distance << index_bits | j);
	}
	best = warp_least(best);
	if (lane() == 0) {
		t.others[i] = best;
		t.costs[i] = ward(t.counts[i], t.counts[below((uint32_t)best & index_mask, n)], (uint32_t)(best >> index_bits));
	}
}

// The cells in the order of their costs, unless that is not asked for, and of their gains; equals by index. One thread per
// cell counts those before its own.
KERNEL vq_order(OrderParams params)
{
	const Training &t = params.list[blockIdx.y];
	uint32_t n = cells_of(t, params.most), i = (uint32_t)thread(), cheap = 0, dear = 0;
	if (i >= n)
		return;
	uint64_t gain = t.gains[i];
	for (uint32_t j = 0; j < n; j++)
		dear += t.gains[j] > gain || (t.gains[j] == gain && j < i) ? 1 : 0;
	t.dear[dear] = (uint16_t)i;
	if (params.costs == 0)
		return;
	uint64_t cost = t.costs[i];
	for (uint32_t j = 0; j < n; j++)
		cheap += t.costs[j] < cost || (t.costs[j] == cost && j < i) ? 1 : 0;
	t.cheap[cheap] = (uint16_t)i;
}

constexpr uint32_t shift_near = 512; // costs and gains that are at hand for the matching, the others seldom count
constexpr uint32_t most_moves = most_codewords / 3; // of three cells each

// Shifts cells as long as bold/over times the gain exceeds the cost, not at all where bold is 0, and ends the training
// where the pass changed nothing. One block of threads for each training: the first thread matches the cells, since each
// match depends on those before, and all move the codewords.
extern "C" __global__ void __launch_bounds__(block_threads)
	vq_shift(ShiftParams params)
{
	__shared__ uint16_t s_cheap[most_codewords], s_dear[most_codewords], s_other[most_codewords];
	__shared__ uint8_t s_touched[most_codewords];
	__shared__ uint16_t s_moves[most_moves][3]; // the cell that goes, that which takes its blocks, that which is cut
	__shared__ uint64_t s_costs[shift_near], s_gains[shift_near]; // in order
	__shared__ uint32_t s_count;
	const Training &t = params.list[blockIdx.y];
	uint32_t n = cells_of(t, params.most), k = t.k, bold = params.bold, over = params.over;
	if (n == 0)
		return;
	if (bold != 0 && n > 1) {
		for (uint32_t i = threadIdx.x; i < n; i += block_threads) {
			s_cheap[i] = t.cheap[i];
			s_dear[i] = t.dear[i];
			s_other[i] = (uint16_t)(t.others[i] & index_mask);
			s_touched[i] = 0;
			if (i < shift_near) {
				s_costs[i] = t.costs[s_cheap[i]];
				s_gains[i] = t.gains[s_dear[i]];
			}
		}
		sync_block(); // the lists are whole
		if (threadIdx.x == 0) {
			uint32_t next = 0, count = 0;
			for (uint32_t c = 0; c < n; c++) {
				uint32_t i = s_cheap[c], j = s_other[i];
				if (s_touched[i] != 0 || s_touched[j] != 0)
					continue;
				while (next < n && s_touched[s_dear[next]] != 0)
					next++;
				if (next == n)
					break;
				uint32_t d = s_dear[next];
				uint64_t gain = next < shift_near ? s_gains[next] : t.gains[d];
				uint64_t cost = c < shift_near ? s_costs[c] : t.costs[i];
				if (gain * bold <= cost * over)
					break;
				if (d == i || d == j)
					continue;
				s_touched[i] = s_touched[j] = s_touched[d] = 1;
				s_moves[count][0] = (uint16_t)i;
				s_moves[count][1] = (uint16_t)j;
				s_moves[count][2] = (uint16_t)d;
				count++;
			}
			s_count = count;
		}
		sync_block(); // all moves are known
		for (uint32_t x = threadIdx.x; x < s_count * k; x += block_threads) {
			const uint16_t *move = s_moves[x / k];
			uint32_t s = x % k, i = move[0] * k + s, j = move[1] * k + s, d = move[2] * k + s;
			uint32_t ni = t.counts[move[0]], both = ni + t.counts[move[1]];
			if (ni > 0)
				t.words[j] = (uint8_t)mean((uint64_t)t.sums[i] + t.sums[j], both);
			t.words[i] = t.a[d];
			t.words[d] = t.b[d];
		}
	}
	sync_block(); // the codewords are those of the next pass
	const uint32_t *words = (const uint32_t *)t.words, *last = (const uint32_t *)t.last;
	bool changed = false;
	for (uint32_t i = threadIdx.x; i < n * k / 4; i += block_threads)
		changed = changed || words[i] != last[i];
	int any = __nvvm_bar0_or(changed); // waits for all threads
	if (threadIdx.x == 0 && any == 0)
		t.state[state_rest] = 1;
}
