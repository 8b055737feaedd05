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

// The blocks of plane blockIdx.y, 0 grey or Y, 1 Co, 2 Cg, of image blockIdx.z. Grey images leave the planes of chroma
// alone. One thread per row of a block; threads of a warp read along a row of pixels.
KERNEL vq_blocks(const Image *__restrict__ list)
{
	const Image m = list[blockIdx.z];
	if (blockIdx.y > 0 && m.channels != 3)
		return;
	uint32_t plane = blockIdx.y;
	uint32_t shrink = plane > 0 ? m.half : 0;
	uint32_t w = (m.width + shrink) >> shrink, h = (m.height + shrink) >> shrink;
	uint32_t cols = (w + m.q - 1) / m.q, rows = (h + m.p - 1) / m.p;
	uint64_t i = thread();
	uint32_t c = (uint32_t)(i % cols);
	uint64_t line = i / cols;
	uint32_t y = (uint32_t)(line % (rows * m.p));
	uint64_t z = line / (rows * m.p);
	if (z >= m.slices)
		return;
	const uint8_t *slice = m.pixels + z * m.width * m.height * m.channels;
	uint32_t at_y = below(y, h);
	uint64_t samples = 0;
	if (m.channels == 1 && m.q == 4 && m.width % 4 == 0) {
		samples = *(const uint32_t *)(slice + (uint64_t)at_y * m.width + 4 * c);
	} else {
		for (uint32_t j = 0; j < m.q; j++) {
			uint32_t at_x = below(c * m.q + j, w);
			uint32_t v;
			if (m.channels == 1) {
				v = slice[(uint64_t)at_y * m.width + at_x];
			} else if (shrink == 0) {
				Colour k = transform(slice + 3 * ((uint64_t)at_y * m.width + at_x));
				v = (uint32_t)(plane == 0 ? k.y : plane == 1 ? k.co : k.cg);
			} else {
				uint32_t sum = 2;
				for (uint32_t d = 0; d < 4; d++) {
					uint32_t yy = below(2 * at_y + d / 2, m.height), xx = below(2 * at_x + d % 2, m.width);
					Colour k = transform(slice + 3 * ((uint64_t)yy * m.width + xx));
					sum += (uint32_t)(plane == 1 ? k.co : k.cg);
				}
				v = sum >> 2;
			}
			samples |= (uint64_t)v << (8 * j);
		}
	}
	uint64_t grid = plane == 0 ? z : 2 * z + plane - 1;
	uint64_t block = (grid * rows + y / m.p) * cols + c;
	uint8_t *out = (plane == 0 ? m.luma : m.chroma) + block * m.p * m.q + (y % m.p) * m.q;
	if (m.q == 2)
		*(uint16_t *)out = (uint16_t)samples;
	else if (m.q == 4)
		*(uint32_t *)out = (uint32_t)samples;
	else
		*(uint64_t *)out = samples;
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

// Copies the blocks of a drawn sample. One thread per word of a block; blockIdx.y is the sample.
KERNEL vq_sample(const Sample *__restrict__ list)
{
	const Sample &s = list[blockIdx.y];
	uint32_t words = s.k / 4;
	uint64_t i = thread() / words, w = thread() % words;
	if (i < s.most)
		s.out[i * words + w] = s.blocks[place(i, s.m, s.most, sample_seed) * words + w];
}
