// The reversible 5/3 transform of volumes (ISO/IEC 15444-10 with F.3 and F.4 of Part 1), a level along an axis at a time: a
// thread makes the low-pass and the high-pass coefficient of a pair of samples, or the samples of a pair of coefficients.
//
// The subbands of all levels lie in one array of the component's size, the low-pass one of each level in the front along
// each axis. A step reads one of two such arrays and writes the part that it changes into the other. An array has at most
// 2^30 samples.
#pragma once

#include "shared.cuh"

constexpr uint32_t axis_x = 0, axis_y = 1, axis_z = 2, axis_none = 3; // none: a copy

// The part of an array that a level is made of, and lines along an axis in it.
struct VolumeLevel {
	uint32_t size[3], step[3]; // samples; and from one to the next in the array

	__device__ VolumeLevel(const Array &v, uint32_t level)
	{
		size[0] = reduced(v.width, level - 1, v.levels), size[1] = reduced(v.height, level - 1, v.levels), size[2] = reduced(v.depth, level - 1, v.levels_z);
		step[0] = 1, step[1] = v.width, step[2] = v.width * v.height;
	}

	static __device__ uint32_t reduced(uint32_t n, uint32_t level, uint32_t most)
	{
		constexpr uint32_t to_one = 20; // levels after which one sample is left of any side
		uint32_t shift = least(least(level, most), to_one);
		return (n + (1u << shift) - 1) >> shift;
	}
};

// A line of n samples, step apart, that a thread reads.
struct Line {
	const int32_t *at;
	uint32_t n, step;

	// Sample i, extended symmetrically by up to two at either end.
	__device__ int32_t sample(int32_t i) const
	{
		int32_t last = (int32_t)n - 1;
		i = i < 0 ? -i : i;
		i = i > last ? 2 * last - i : i;
		i = i < 0 ? -i : i;
		return at[(uint32_t)i * step];
	}

	// High-pass coefficient k of the samples (equation F-9), for k extended by one.
	__device__ int32_t high_of(int32_t k) const { return sample(2 * k + 1) - ((sample(2 * k) + sample(2 * k + 2)) >> 1); }

	// Low-pass coefficient k of the samples (F-10).
	__device__ int32_t low_of(int32_t k) const { return sample(2 * k) + ((high_of(k - 1) + high_of(k) + 2) >> 2); }

	// Coefficient i of the interleaved ones, extended likewise.
	__device__ int32_t coefficient(int32_t i) const
	{
		int32_t last = (int32_t)n - 1;
		i = i < 0 ? -i : i;
		i = i > last ? 2 * last - i : i;
		i = i < 0 ? -i : i;
		return at[((uint32_t)i / 2 + ((i & 1) != 0 ? (n + 1) / 2 : 0)) * step];
	}

	// Sample 2k of the coefficients (F-5).
	__device__ int32_t even_of(int32_t k) const { return coefficient(2 * k) - ((coefficient(2 * k - 1) + coefficient(2 * k + 1) + 2) >> 2); }

	// Sample 2k + 1 of the coefficients (F-6); behind the end the even samples are extended.
	__device__ int32_t odd_of(int32_t k) const
	{
		int32_t next = 2 * (k + 1) < (int32_t)n ? k + 1 : k;
		return coefficient(2 * k + 1) + ((even_of(k) + even_of(next)) >> 1);
	}
};

// Finds the pair of a thread in a level: the offset of the line and the number of the pair in it. Pairs come by x, y and z, so
// that neighbours are next to each other in memory.
DEVICE bool pair_of(const VolumeLevel &l, uint32_t axis, uint32_t index, uint32_t &offset, uint32_t &pair)
{
	uint32_t at = 0;
	pair = 0;
#pragma unroll
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t n = i == axis ? (l.size[i] + 1) / 2 : l.size[i], own = index % n;
		index /= n;
		if (i == axis)
			pair = own;
		else
			at += own * l.step[i];
	}
	offset = at;
	return index == 0;
}

// Transforms a level along an axis, of the arrays that have it. source 0 reads coefficients and writes work, 1 the other way
// round; axis_none copies.
KERNEL __launch_bounds__(block_threads) jpeg2000_volume_forward(const Array *__restrict__ arrays, uint32_t level, uint32_t axis, uint32_t source)
{
	const Array v = arrays[blockIdx.y];
	if (level > (axis >= axis_z ? v.levels_z : v.levels))
		return;
	VolumeLevel l(v, level);
	uint32_t offset, pair;
	if (thread() > 1u << 30 || !pair_of(l, axis, (uint32_t)thread(), offset, pair))
		return;
	const int32_t *from = (source == 0 ? v.coefficients : v.work) + offset;
	int32_t *to = (source == 0 ? v.work : v.coefficients) + offset;
	if (axis == axis_none) {
		*to = *from;
		return;
	}
	Line line = {from, l.size[axis], l.step[axis]};
	if (line.n == 1) {
		*to = *from;
		return;
	}
	to[pair * line.step] = line.low_of((int32_t)pair);
	if (2 * pair + 1 < line.n)
		to[((line.n + 1) / 2 + pair) * line.step] = line.high_of((int32_t)pair);
}

// The inverse of jpeg2000_volume_forward.
KERNEL __launch_bounds__(block_threads) jpeg2000_volume_inverse(const Array *__restrict__ arrays, uint32_t level, uint32_t axis, uint32_t source)
{
	const Array v = arrays[blockIdx.y];
	if (level > (axis >= axis_z ? v.levels_z : v.levels))
		return;
	VolumeLevel l(v, level);
	uint32_t offset, pair;
	if (thread() > 1u << 30 || !pair_of(l, axis, (uint32_t)thread(), offset, pair))
		return;
	const int32_t *from = (source == 0 ? v.coefficients : v.work) + offset;
	int32_t *to = (source == 0 ? v.work : v.coefficients) + offset;
	if (axis == axis_none) {
		*to = *from;
		return;
	}
	Line line = {from, l.size[axis], l.step[axis]};
	if (line.n == 1) {
		*to = *from;
		return;
	}
	to[2 * pair * line.step] = line.even_of((int32_t)pair);
	if (2 * pair + 1 < line.n)
		to[(2 * pair + 1) * line.step] = line.odd_of((int32_t)pair);
}
