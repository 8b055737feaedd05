// Quantization (ISO/IEC 15444-1, E.1) for High Throughput code-blocks of 9/7, whose coefficients stay for other steps. All is
// float32 and float64 in the order that stepbands.go has, each product and sum rounded.
#pragma once

#include "shared.cuh"

// Makes quantizer indices, towards zero, of the coefficients of code-blocks; they go distance words behind. A warp
// takes a code-block.
KERNEL __launch_bounds__(block_threads) jpeg2000_quantize(const Scan *__restrict__ blocks, uint64_t distance, uint32_t count)
{
	uint32_t index = blockIdx.x * (block_threads / warp_size) + warp();
	if (index >= count)
		return;
	const Scan b = blocks[index];
	float factor = __builtin_bit_cast(float, b.factor);
	for (uint32_t y = 0; y < b.height; y++) {
		const float *row = (const float *)b.coefficients + (uint64_t)y * b.stride;
		int32_t *to = b.coefficients + distance + (uint64_t)y * b.stride;
		for (uint32_t x = lane(); x < b.width; x += warp_size)
			to[x] = (int32_t)(row[x] * factor);
	}
}

// Sums up what quantizing loses of the coefficients of subbands, in squared steps, row by row; slice is the place of a subband's
// first row in rows. A thread takes a row.
KERNEL __launch_bounds__(block_threads) jpeg2000_row_errors(const Scan *__restrict__ bands, double *rows)
{
	const Scan b = bands[blockIdx.y];
	uint64_t y = thread();
	if (y >= b.height)
		return;
	float factor = __builtin_bit_cast(float, b.factor);
	const float *row = (const float *)b.coefficients + y * b.stride;
	double sum = 0;
	for (uint32_t x = 0; x < b.width; x++) {
		float q = row[x] * factor;
		q = q < 0 ? -q : q;
		float n = (float)(int32_t)q;
		if (n > 0)
			q = q - (n + 0.5f);
		float square = q * q;
		sum = sum + (double)square;
	}
	rows[b.slice + y] = sum;
}

// Makes coefficients of 9/7, in their place, of the quantizer indices of High Throughput code-blocks (equation E-6). factor is half
// of the step. depth is 1 where no bit-planes are missing, so that the middle of an interval is half an index away. A
// warp takes a code-block.
KERNEL __launch_bounds__(block_threads) jpeg2000_ht_dequantize(const Scan *__restrict__ blocks, uint32_t count)
{
	uint32_t index = blockIdx.x * (block_threads / warp_size) + warp();
	if (index >= count)
		return;
	const Scan b = blocks[index];
	float step = __builtin_bit_cast(float, b.factor);
	for (uint32_t y = 0; y < b.height; y++) {
		int32_t *row = b.coefficients + (uint64_t)y * b.stride;
		for (uint32_t x = lane(); x < b.width; x += warp_size) {
			int32_t v = row[x], half = v > 0 ? (int32_t)b.depth : v < 0 ? -(int32_t)b.depth : 0;
			float f = (float)(int32_t)(2u * (uint32_t)v + (uint32_t)half) * step;
			row[x] = __builtin_bit_cast(int32_t, f);
		}
	}
}
