// Between the samples of images and the components that are transformed: level shift and reversible component transform
// (ISO/IEC 15444-1, G.1 and G.2).
#pragma once

#include "shared.cuh"

// Sample i of an image as a number.
DEVICE int32_t read_sample(const Image &image, uint64_t i)
{
	int32_t v;
	if (image.bytes == 1)
		v = image.is_signed != 0 ? (int32_t)((const int8_t *)image.samples)[i] : (int32_t)((const uint8_t *)image.samples)[i];
	else
		v = image.is_signed != 0 ? (int32_t)((const int16_t *)image.samples)[i] : (int32_t)((const uint16_t *)image.samples)[i];
	return v - image.shift;
}

DEVICE void write_sample(const Image &image, uint64_t i, int32_t v)
{
	v += image.shift;
	v = v < image.least ? image.least : v > image.most ? image.most : v;
	if (image.bytes == 1)
		((uint8_t *)image.samples)[i] = (uint8_t)v;
	else
		((uint16_t *)image.samples)[i] = (uint16_t)v;
}

// Makes the components of images of their samples. A thread takes a pixel.
KERNEL __launch_bounds__(block_threads) jpeg2000_load(const Image *__restrict__ images)
{
	const Image image = images[blockIdx.y];
	uint64_t all = (uint64_t)image.width * image.height, i = thread();
	if (i >= all)
		return;
	uint64_t at = (i / image.width * image.stride + i % image.width) * image.channels;
	if (image.coloured == 0) {
		for (uint32_t c = 0; c < image.channels; c++)
			image.planes[c * all + i] = read_sample(image, at + c);
		return;
	}
	int32_t r = read_sample(image, at), g = read_sample(image, at + 1), b = read_sample(image, at + 2);
	image.planes[i] = (r + 2 * g + b) >> 2;
	image.planes[all + i] = b - g;
	image.planes[2 * all + i] = r - g;
	for (uint32_t c = 3; c < image.channels; c++)
		image.planes[c * all + i] = read_sample(image, at + c);
}

// The inverse of jpeg2000_load; values that the samples cannot have become the nearest that they can.
KERNEL __launch_bounds__(block_threads) jpeg2000_store(const Image *__restrict__ images)
{
	const Image image = images[blockIdx.y];
	uint64_t all = (uint64_t)image.width * image.height, i = thread();
	if (i >= all)
		return;
	uint64_t at = (i / image.width * image.stride + i % image.width) * image.channels;
	uint32_t from = 0;
	if (image.coloured != 0) {
		int32_t y = image.planes[i], u = image.planes[all + i], v = image.planes[2 * all + i];
		int32_t g = y - ((u + v) >> 2);
		write_sample(image, at, v + g);
		write_sample(image, at + 1, g);
		write_sample(image, at + 2, u + g);
		from = 3;
	}
	for (uint32_t c = from; c < image.channels; c++)
		write_sample(image, at + c, image.planes[c * all + i]);
}
