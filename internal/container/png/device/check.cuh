// Proves samples: rows are filtered again, and the sums of RFC 1950, 8.2, are made of the result and of the samples.
//
// The sums of the rows must be those of the checksum that the stream ends with, which the host has read; and the sums of the samples
// those that the host makes of what has arrived. So a bit that is wrong anywhere on the way is found, be it in memory of
// the device, by a fault of a kernel or of the device itself.
#pragma once

#include "unfilter.cuh"

constexpr uint32_t modulus = 65521;

// The two sums of bytes: of each byte, and of each byte as often as there are bytes from it to the end. Both are below
// 2^63 for the bytes of a thread.
struct Sums {
	uint64_t once, often;

	__device__ void add(uint32_t v, uint32_t left)
	{
		once += v;
		often += (uint64_t)left * v;
	}
};

// All threads of a block call, each block for some rows; sums of m are 0 before. s is shared memory of most_warps elements.
DEVICE void check(const Image &m, uint64_t *s)
{
	uint32_t n = m.row_bytes, back = m.pixel_bytes, size = m.height * (1 + n), all = m.height * n;
	Sums rows = {0, 0}, samples = {0, 0};
	for (uint32_t y = blockIdx.x; y < m.height; y += gridDim.x) {
		uint32_t filter = m.raw[(uint64_t)y * (1 + n)], before = y * (1 + n);
		if (threadIdx.x == 0)
			rows.add(filter, size - before);
		const uint8_t *row = m.samples + (uint64_t)y * n, *up = row - n;
		for (uint32_t x = threadIdx.x; x < n; x += blockDim.x) {
			int32_t a = x >= back ? row[x - back] : 0, b = y > 0 ? up[x] : 0, c = x >= back && y > 0 ? up[x - back] : 0;
			uint32_t v = row[x];
			rows.add((v - (uint32_t)predicted(filter, a, b, c)) & 255, size - before - 1 - x);
			samples.add(v, all - y * n - x);
		}
	}
	uint64_t list[4] = {rows.once, rows.often, samples.once, samples.often};
#pragma unroll
	for (uint32_t k = 0; k < 4; k++) {
		uint64_t sum = block_sum(list[k] % modulus, s);
		if (threadIdx.x == 0)
			__nvvm_atom_add_gen_ll((long long *)&m.sums[k], (long long)sum);
	}
}
