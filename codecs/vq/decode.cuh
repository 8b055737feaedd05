// From index tables to images.
#pragma once

#include "vectors.cuh"

// Pixels first to first+count-1 of index tables, with the inverse of the colour transform. One thread per pixel.
KERNEL vq_expand(const Expansion *__restrict__ list)
{
	const Expansion &e = list[blockIdx.y];
	uint64_t i = thread();
	if (i >= e.count)
		return;
	uint64_t at = e.first + i;
	uint32_t x = (uint32_t)(at % e.width);
	uint32_t y = (uint32_t)(at / e.width % e.height);
	uint64_t z = at / ((uint64_t)e.width * e.height);
	uint32_t k = e.p * e.q, rows = (e.height + e.p - 1) / e.p, cols = (e.width + e.q - 1) / e.q;
	uint32_t index = below(e.luma[(z * rows + y / e.p) * cols + x / e.q], e.n);
	int32_t v = e.words[index * k + y % e.p * e.q + x % e.q];
	if (e.channels == 1) {
		e.pixels[i] = (uint8_t)v;
		return;
	}
	uint32_t h = (e.height + e.half) >> e.half, w = (e.width + e.half) >> e.half;
	uint32_t xx = x >> e.half, yy = y >> e.half;
	rows = (h + e.p - 1) / e.p;
	cols = (w + e.q - 1) / e.q;
	int32_t colour[2];
	for (uint32_t plane = 0; plane < 2; plane++) {
		index = below(e.chroma[((2 * z + plane) * rows + yy / e.p) * cols + xx / e.q], e.n_chroma);
		colour[plane] = 2 * (int32_t)e.chroma_words[index * k + yy % e.p * e.q + xx % e.q] - 256;
	}
	int32_t t = v - (colour[1] >> 1), b = t - (colour[0] >> 1);
	e.pixels[3 * i] = (uint8_t)clip(b + colour[0]);
	e.pixels[3 * i + 1] = (uint8_t)clip(colour[1] + t);
	e.pixels[3 * i + 2] = (uint8_t)clip(b);
}

constexpr int grey_runs = 4; // of four blocks each, that a thread takes at a time

// Writes words that are not read again soon, so that the cache lets them go first.
DEVICE void store_streaming(words4 *p, words4 v)
{
	asm volatile("st.global.cs.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

// The pixels of the table for grey images of 4x4 blocks whose width is a multiple of 16 and height one of 4. A thread
// writes four blocks beside each other as four times 16 pixels, a warp 512 bytes beside each other in each of four rows.
// Memory bounds the kernel, and a thread reads its part of the table for several such runs before it writes the first:
// that comes to the rate of the same accesses without a codebook. The launch brings n x 16 bytes of shared memory for the
// codebook.
KERNEL __launch_bounds__(block_threads)
	vq_expand_grey(ExpandGreyParams e)
{
	words4 *__restrict__ pixels = (words4 *)e.pixels;           // height x width
	const words2 *__restrict__ table = (const words2 *)e.table; // height/4 x width/4
	const words4 *__restrict__ words = (const words4 *)e.words; // n
	uint32_t width = e.width, height = e.height, n = e.n;
	extern __shared__ __attribute__((aligned(16))) words4 s_book[];
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
		s_book[i] = words[i];
	sync_block(); // the codebook is whole
	// An image has at most 2^30 samples, so that 32 bits count everything.
	uint32_t fours = width / 16, all = fours * (height / 4), step = gridDim.x * blockDim.x;
	for (uint32_t first = (uint32_t)thread(); first < all; first += grey_runs * step) {
		words2 x[grey_runs];
#pragma unroll
		for (int r = 0; r < grey_runs; r++) {
			uint32_t i = first + r * step;
			x[r] = i < all ? table[i] : words2{0, 0};
		}
#pragma unroll
		for (int r = 0; r < grey_runs; r++) {
			uint32_t i = first + r * step;
			if (i >= all)
				break;
			words4 b0 = s_book[below(x[r].x & 0xffff, n)], b1 = s_book[below(x[r].x >> 16, n)];
			words4 b2 = s_book[below(x[r].y & 0xffff, n)], b3 = s_book[below(x[r].y >> 16, n)];
			words4 *out = pixels + (i / fours * 4 * fours + i % fours);
			store_streaming(out, words4{b0.x, b1.x, b2.x, b3.x});
			store_streaming(out + fours, words4{b0.y, b1.y, b2.y, b3.y});
			store_streaming(out + 2 * fours, words4{b0.z, b1.z, b2.z, b3.z});
			store_streaming(out + 3 * fours, words4{b0.w, b1.w, b2.w, b3.w});
		}
	}
}
