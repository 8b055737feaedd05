// Training: Dekker's network, one warp a problem, so that no thread waits for another block. A lone problem takes as long
// as its chain of samples; a batch of a thousand takes hardly longer than some hundreds.
//
// In the contest lane l has neurons l, l+32, ..., l+224: their components from shared memory, from where a lane for each
// neuron in reach moves them with few instructions, and their frequencies in registers. Each component is scaled by 256
// more than on the CPU, so that sums of differences come out as distance << 8 and leave room for the index below. The bias
// is no number of its own: bias + frequency << 10 never changes (train.go), so that distance - (bias >> 12) is distance +
// (frequency - start) >> 2 rounded up, and with frequency << 6 in a register, plus a constant that rounds, it is in place
// above the index after one mask.
#pragma once

#include "problem.cuh"

constexpr uint32_t neurons = most_entries / warp_size; // of a lane
static_assert(network_words == (5 * neurons + 1) * warp_size, "the state is four components and a frequency, and a line");
constexpr uint32_t absent = 1u << 30;                  // a component farther than those of all neurons

// |a - b| + c.
DEVICE uint32_t add_difference(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t d;
	asm("sad.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
	return d;
}

// A frequency less its 1024th part; both are scaled by 64.
DEVICE uint32_t less_share(uint32_t frequency)
{
	uint32_t to; // written out, so that what the comparisons do not use multiplies
	asm("mad.lo.s32 %0, %1, -64, %2;" : "=r"(to) : "r"(frequency >> 16), "r"(frequency));
	return to;
}

// The frequency of a neuron, with what its winner gains.
DEVICE uint32_t add_where_equal(uint32_t frequency, uint32_t index, uint32_t winner)
{
	asm("{ .reg .pred p; setp.eq.u32 p, %1, %2; @p add.u32 %0, %0, 4096; }" : "+r"(frequency) : "r"(index), "r"(winner));
	return frequency;
}

// Weights of the lane's distance from the winner, in 1/2^18: that of the winner is alpha, those at the radius and beyond 0.
DEVICE int32_t weight_at(int32_t alpha, int32_t radius)
{
	int32_t rad = radius >> 6, d = (int32_t)lane();
	if (rad <= 1)
		rad = 0;
	if (d == 0)
		return alpha * 256;
	return d < rad ? alpha * ((rad * rad - d * d) * 256 / (rad * rad)) : 0;
}

// c - weight (c - v) / 2^18, towards zero, all but the weight scaled by 256.
DEVICE uint32_t moved(uint32_t c, uint32_t v, int32_t weight)
{
	int32_t t = weight * ((int32_t)(c - v) >> 8);
	t += (int32_t)((uint32_t)(t >> 31) >> 14);
	uint32_t to; // written out, since the compiler makes three instructions of it
	asm("mad.lo.s32 %0, %1, -256, %2;" : "=r"(to) : "r"(t >> 18), "r"(c));
	return to;
}

// A colour on its way from memory, whose bytes nobody waits for.
struct Fetched {
	uint32_t first, second, third;

	__device__ void fetch(const uint8_t *samples, const uint32_t *values, uint32_t i)
	{
		if (samples == nullptr) {
			first = values[i], second = 0, third = 0;
			return;
		}
		const uint8_t *s = samples + 3 * (uint64_t)i;
		first = s[0], second = s[1], third = s[2];
	}
	__device__ uint32_t colour() const { return first | second << 8 | third << 16; }
};

// Trains with samples first to end-1 of all. C is the number of components that differ: 3 of opaque colours. net is shared
// memory of the warp, the components of all neurons, and behind them room for what is none.
template <int C> DEVICE void train(const Problem &p, words4 *net, uint32_t first, uint32_t end)
{
	const uint8_t *samples = p.samples;
	const uint32_t *values = p.values;
	uint32_t n = same_for_all(p.n), k = same_for_all(p.k), cycle = same_for_all(p.cycle), decay = same_for_all(p.decay);
	uint32_t frequency[neurons], index[neurons];
	uint32_t start = 65536 / k, l = lane();
	// -(start << 6) modulo 256, and what rounds up.
	uint32_t round = (192 - (start << 6)) & 192;
	int32_t alpha = 1024, radius = (int32_t)(k >> 3) << 6;
	uint32_t left = cycle; // samples of the cycle
	words4 *state = (words4 *)p.network;
#pragma unroll
	for (uint32_t m = 0; m < neurons; m++) {
		uint32_t i = m * warp_size + l, v = (i << 12) / k << 8;
		index[m] = from_lane(i, l); // else the compiler makes it of that of the first each time
		words4 c = {i < k ? v : absent, i < k ? v : 0, i < k ? v : 0, i < k && C == 4 ? v : 0};
		net[i] = first == 0 ? c : state[i];
		frequency[m] = first == 0 ? start << 6 : p.network[(4 * neurons + m) * warp_size + l];
	}
	if (first != 0) {
		const uint32_t *rest = p.network + 5 * neurons * warp_size;
		alpha = (int32_t)same_for_all(rest[0]), radius = (int32_t)same_for_all(rest[1]), left = same_for_all(rest[2]);
	}
	int32_t weight = weight_at(alpha, radius);
	uint32_t reach = radius >> 6 > 1 ? (uint32_t)radius >> 6 : 1; // neurons at this distance and beyond stay

	// Each lane fetches the colour of one sample of 32, those of the next 32 before these are shown.
	uint32_t at = (uint32_t)((uint64_t)(first + l) * p.stride % n);
	uint32_t hop = (uint32_t)((uint64_t)warp_size * p.stride % n);
	Fetched next;
	next.fetch(samples, values, at);
	sync_warp(); // the neurons are there
	for (uint32_t done = first; done < end; done += warp_size) {
		uint32_t colours = next.colour();
		at += hop;
		at -= at >= n ? n : 0;
		next.fetch(samples, values, at);
		uint32_t count = least(warp_size, end - done);
		for (uint32_t s = 0; s < count; s++) {
			uint32_t x = broadcast(colours, s);
			uint32_t v[4] = {x << 12 & 0xff000, x << 4 & 0xff000, x >> 4 & 0xff000, x >> 12 & 0xff000};
			uint32_t near = ~0u, fair = ~0u;
#pragma unroll
			for (uint32_t m = 0; m < neurons; m++) {
				words4 c = net[m * warp_size + l];
				uint32_t key = add_difference(c.x, v[0], index[m]);
				key = add_difference(c.y, v[1], key);
				key = add_difference(c.z, v[2], key);
				if (C == 4)
					key = add_difference(c.w, v[3], key);
				near = least(near, key);
				// The index is taken off before the mask, which else could carry.
				fair = least(fair, ((key + frequency[m] + (round - index[m])) & ~255u) | index[m]);
				frequency[m] = less_share(frequency[m]);
			}
			uint32_t first_winner = least_of_all(near) & 255, winner = least_of_all(fair) & 255;
#pragma unroll
			for (uint32_t m = 0; m < neurons; m++)
				frequency[m] = add_where_equal(frequency[m], index[m], first_winner);
			// A lane for each neuron that moves; the others move what is no neuron. All lanes go round equally often.
			for (uint32_t first_of = 0; first_of < 2 * reach - 1; first_of += warp_size) {
				uint32_t j = first_of + l, i = winner + j - (reach - 1);
				int32_t d = (int32_t)(j - (reach - 1));
				int32_t w = (int32_t)from_lane((uint32_t)weight, (uint32_t)(d < 0 ? -d : d) & (warp_size - 1));
				words4 *at = net + (j < 2 * reach - 1 && i < k ? i : most_entries);
				words4 c = *at;
				c.x = moved(c.x, v[0], w);
				c.y = moved(c.y, v[1], w);
				c.z = moved(c.z, v[2], w);
				if (C == 4)
					c.w = moved(c.w, v[3], w);
				*at = c;
			}
			if (--left == 0) {
				alpha -= alpha / (int32_t)decay;
				radius -= radius / 30;
				left = cycle;
				weight = weight_at(alpha, radius);
				reach = radius >> 6 > 1 ? (uint32_t)radius >> 6 : 1;
			}
			sync_warp(); // the neurons are where the next sample meets them
		}
	}
	if (end < p.cycles) {
#pragma unroll
		for (uint32_t m = 0; m < neurons; m++) {
			state[m * warp_size + l] = net[m * warp_size + l];
			p.network[(4 * neurons + m) * warp_size + l] = frequency[m];
		}
		uint32_t *rest = p.network + 5 * neurons * warp_size;
		if (l == 0)
			rest[0] = (uint32_t)alpha, rest[1] = (uint32_t)radius, rest[2] = left;
		return;
	}
	for (uint32_t i = l; i < k; i += warp_size) {
		uint32_t entry = C == 3 ? opaque_alpha : 0;
		words4 c = net[i];
		entry |= least(255u, ((c.x >> 8) + 8) >> 4);
		entry |= least(255u, ((c.y >> 8) + 8) >> 4) << 8;
		entry |= least(255u, ((c.z >> 8) + 8) >> 4) << 16;
		if (C == 4)
			entry |= least(255u, ((c.w >> 8) + 8) >> 4) << 24;
		p.entries[i] = entry;
	}
}

// network, entries: of samples first to first+most-1 of each problem. A launch shows a bounded number of samples, since a
// large image takes long; what the next one needs is in network. One warp a problem, blocks of train_warps warps.
KERNEL __launch_bounds__(train_warps *warp_size) nq_train(TrainParams params)
{
	__shared__ words4 s_net[train_warps * (most_entries + 1)];
	uint32_t i = same_for_all(blockIdx.x * train_warps + warp()), first = params.first;
	if (i >= params.count)
		return;
	const Problem &p = params.list[i];
	uint32_t cycles = same_for_all(p.cycles);
	if (first >= cycles)
		return;
	uint32_t end = params.most < cycles - first ? first + params.most : cycles;
	words4 *net = s_net + warp() * (most_entries + 1);
	if (same_for_all(p.opaque) != 0)
		train<3>(p, net, first, end);
	else
		train<4>(p, net, first, end);
}
