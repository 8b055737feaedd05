// Planes, blocks, and the sample of them that is trained on.
#pragma once

#include "vectors.cuh"

struct Colour {
	int32_t y, co, cg; // co and cg as stored: (C + 256) >> 1
};

DEVICE Colour transform(const uint8_t *rgb)
{
	int32_t r = rgb[0], g = rgb[1], b = rgb[2];
	int32_t o = r - b, t = b + (o >> 1), e = g - t;
	return {t + (e >> 1), (o + 256) >> 1, (e + 256) >> 1};
}

// One row of a block of plane blockIdx.y; the parameters are those of vq_blocks.
DEVICE void cut_row(uint8_t *__restrict__ luma, uint8_t *__restrict__ chroma, const uint8_t *__restrict__ pixels, uint32_t width,
                    uint32_t height, uint32_t slices, uint32_t channels, uint32_t half, uint32_t p, uint32_t q)
{
	uint32_t plane = blockIdx.y;
	uint32_t shrink = plane > 0 ? half : 0;
	uint32_t w = (width + shrink) >> shrink, h = (height + shrink) >> shrink;
	uint32_t cols = (w + q - 1) / q, rows = (h + p - 1) / p;
	uint64_t i = thread();
	uint32_t c = (uint32_t)(i % cols);
	uint64_t line = i / cols;
	uint32_t y = (uint32_t)(line % (rows * p));
	uint64_t z = line / (rows * p);
	if (z >= slices)
		return;
	const uint8_t *slice = pixels + z * width * height * channels;
	uint32_t at_y = below(y, h);
	uint64_t samples = 0;
	if (channels == 1 && q == 4 && width % 4 == 0) {
		samples = *(const uint32_t *)(slice + (uint64_t)at_y * width + 4 * c);
	} else {
		for (uint32_t j = 0; j < q; j++) {
			uint32_t at_x = below(c * q + j, w);
			uint32_t v;
			if (channels == 1) {
				v = slice[(uint64_t)at_y * width + at_x];
			} else if (shrink == 0) {
				Colour k = transform(slice + 3 * ((uint64_t)at_y * width + at_x));
				v = (uint32_t)(plane == 0 ? k.y : plane == 1 ? k.co : k.cg);
			} else {
				uint32_t sum = 2;
				for (uint32_t d = 0; d < 4; d++) {
					uint32_t yy = below(2 * at_y + d / 2, height), xx = below(2 * at_x + d % 2, width);
					Colour k = transform(slice + 3 * ((uint64_t)yy * width + xx));
					sum += (uint32_t)(plane == 1 ? k.co : k.cg);
				}
				v = sum >> 2;
			}
			samples |= (uint64_t)v << (8 * j);
		}
	}
	uint64_t grid = plane == 0 ? z : 2 * z + plane - 1;
	uint64_t block = (grid * rows + y / p) * cols + c;
	uint8_t *out = (plane == 0 ? luma : chroma) + block * p * q + (y % p) * q;
	if (q == 2)
		*(uint16_t *)out = (uint16_t)samples;
	else if (q == 4)
		*(uint32_t *)out = (uint32_t)samples;
	else
		*(uint64_t *)out = samples;
}

// Cuts slices of interleaved pixels into the blocks of plane blockIdx.y: 0 grey or Y, 1 Co, 2 Cg. One thread per row of a
// block; threads of a warp read along a row of pixels.
KERNEL vq_blocks(uint8_t *__restrict__ luma,          // slices x grid of luma x K
                 uint8_t *__restrict__ chroma,        // slices x (Co, Cg) x grid of chroma x K; null for grey
                 const uint8_t *__restrict__ pixels,  // slices x height x width x channels
                 uint32_t width, uint32_t height, uint32_t slices,
                 uint32_t channels,                   // 1 or 3
                 uint32_t half,                       // 1: chroma of half width and height
                 uint32_t p, uint32_t q)              // rows and columns of a block
{
	cut_row(luma, chroma, pixels, width, height, slices, channels, half, p, q);
}

// An image of a batch, with the parameters of vq_blocks.
struct Image {
	uint8_t *luma, *chroma;
	const uint8_t *pixels;
	uint32_t width, height, slices, channels, half, p, q;
	uint32_t unused;
};
static_assert(sizeof(Image) == 56, "batchImage");

// vq_blocks for image blockIdx.z of a batch; grey ones leave the planes of chroma alone.
KERNEL vq_batch_blocks(const Image *__restrict__ list)
{
	const Image &m = list[blockIdx.z];
	if (blockIdx.y == 0 || m.channels == 3)
		cut_row(m.luma, m.chroma, m.pixels, m.width, m.height, m.slices, m.channels, m.half, m.p, m.q);
}

// The i-th number, from 0, of the generator splitmix64 with the given seed.
DEVICE uint64_t random(uint64_t seed, uint64_t i)
{
	uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

// Which of m blocks is number i of a sample of most, which is drawn from the i-th of most equal stretches; i itself where
// the sample is all blocks.
DEVICE uint64_t place(uint64_t i, uint64_t m, uint64_t most, uint64_t seed)
{
	if (m <= most)
		return i;
	uint64_t lo = i * m / most, hi = (i + 1) * m / most;
	return lo + __nvvm_mulhi_ull(random(seed, i), hi - lo);
}

// Copies those blocks of a drawn sample that lie among the count blocks from first of all m. One thread per word of a
// block.
KERNEL vq_sample(uint32_t *__restrict__ out,           // most x K
                 const uint32_t *__restrict__ blocks,  // count x K
                 uint64_t seed, uint64_t first, uint64_t count, uint64_t m, uint32_t most, uint32_t k)
{
	uint32_t words = k / 4;
	uint64_t i = thread() / words, w = thread() % words;
	if (i >= most)
		return;
	uint64_t at = place(i, m, most, seed);
	if (at >= first && at - first < count)
		out[i * words + w] = blocks[(at - first) * words + w];
}
