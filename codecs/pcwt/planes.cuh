// Samples to planes and back.
#pragma once

#include "../../gpu/include/bits.cuh"
#include "shared.cuh"

// Sample i, less the least value of its type.
DEVICE int32_t from_least(const Picture &p, uint64_t i)
{
	int32_t v = p.bits <= 8 ? (p.is_signed ? ((const int8_t *)p.samples)[i] : p.samples[i])
				: (p.is_signed ? ((const int16_t *)p.samples)[i] : ((const uint16_t *)p.samples)[i]);
	return p.is_signed ? v + (1 << (p.bits - 1)) : v;
}

// The index of sample i, less the middle (README, "Samples to planes").
DEVICE int32_t centred(const Picture &p, uint64_t i)
{
	int32_t v = from_least(p, i), step = 2 * (int32_t)p.near + 1;
	return (p.near ? (v + (int32_t)p.near) / step : v) - p.middle;
}

// The planes of a picture: its channels, the first three through the reversible colour transform where that is asked for
// (ISO/IEC 15444-1, G.2). One thread per pixel; blockIdx.y is the picture.
KERNEL pcwt_planes(const Picture *__restrict__ list)
{
	const Picture p = list[blockIdx.y];
	uint64_t n = (uint64_t)p.width * p.height;
	uint64_t i = thread();
	if (i >= n)
		return;
	uint32_t c = 0;
	if (p.colour) {
		int32_t r = centred(p, i * p.channels), g = centred(p, i * p.channels + 1), b = centred(p, i * p.channels + 2);
		p.planes[i] = (r + 2 * g + b) >> 2;
		p.planes[n + i] = b - g;
		p.planes[2 * n + i] = r - g;
		c = 3;
	}
	for (; c < p.channels; c++)
		p.planes[c * n + i] = centred(p, i * p.channels + c);
}

// Stores the sample of an index, which is limited to its range: whoever asks for errors learns that it was not in it.
DEVICE void put_sample(const Picture &p, uint64_t i, int32_t x)
{
	int32_t most = (int32_t)((1u << p.bits) - 1), step = 2 * (int32_t)p.near + 1, last = (most + (int32_t)p.near) / step;
	x += p.middle;
	if (p.error && (uint32_t)x > (uint32_t)last)
		*p.error = error_range; // any thread, the same value
	x = x < 0 ? 0 : x > last ? last : x;
	int32_t v = x * step < most ? x * step : most;
	if (p.is_signed)
		v -= 1 << (p.bits - 1);
	if (p.bits <= 8)
		p.samples[i] = (uint8_t)v;
	else
		((uint16_t *)p.samples)[i] = (uint16_t)v;
}

// The inverse of pcwt_planes.
KERNEL pcwt_samples(const Picture *__restrict__ list)
{
	const Picture p = list[blockIdx.y];
	uint64_t n = (uint64_t)p.width * p.height;
	uint64_t i = thread();
	if (i >= n)
		return;
	uint32_t c = 0;
	if (p.colour) {
		int32_t y = p.planes[i], u = p.planes[n + i], v = p.planes[2 * n + i];
		int32_t g = y - ((u + v) >> 2);
		put_sample(p, i * p.channels, v + g);
		put_sample(p, i * p.channels + 1, g);
		put_sample(p, i * p.channels + 2, u + g);
		c = 3;
	}
	for (; c < p.channels; c++)
		put_sample(p, i * p.channels + c, p.planes[c * n + i]);
}

// Copies numbers from place to place. One thread per number; blockIdx.y is the copy.
KERNEL pcwt_copy(const Copy *__restrict__ list)
{
	const Copy c = list[blockIdx.y];
	uint64_t i = thread();
	if (i < c.count)
		c.to[i] = c.from[i];
}
