// Between the samples of images and the components that are transformed: level shift and reversible component transform
// (ISO/IEC 15444-1, G.1 and G.2), and for 9/7 the irreversible one (G.3), in float32, each product and sum rounded.
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

// Makes the components of images of their samples as float32. A thread takes a pixel.
KERNEL __launch_bounds__(block_threads) jpeg2000_load97(const Image *__restrict__ images)
{
	const Image image = images[blockIdx.y];
	uint64_t all = (uint64_t)image.width * image.height, i = thread();
	if (i >= all)
		return;
	uint64_t at = (i / image.width * image.stride + i % image.width) * image.channels;
	float *planes = (float *)image.planes;
	uint32_t from = 0;
	if (image.coloured != 0) {
		float r = (float)read_sample(image, at), g = (float)read_sample(image, at + 1), b = (float)read_sample(image, at + 2);
		planes[i] = r * 0.299f + g * 0.587f + b * 0.114f;
		planes[all + i] = b * 0.5f - r * 0.16875f - g * 0.33126f;
		planes[2 * all + i] = r * 0.5f - g * 0.41869f - b * 0.08131f;
		from = 3;
	}
	for (uint32_t c = from; c < image.channels; c++)
		planes[c * all + i] = (float)read_sample(image, at + c);
}

// Writes a number as the sample that is nearest, the higher of two.
DEVICE void write_float(const Image &image, uint64_t i, float v)
{
	float low = (float)(image.least - image.shift), high = (float)(image.most - image.shift);
	constexpr int32_t above = 1 << 16; // more than any sample is below 0, so that truncation rounds down
	v = v >= low ? v : v < low ? low : high; // what is no number becomes the highest
	v = v > high ? high : v;
	write_sample(image, i, (int32_t)((double)v + (above + 0.5)) - above);
}

// The inverse of jpeg2000_load97.
KERNEL __launch_bounds__(block_threads) jpeg2000_store97(const Image *__restrict__ images)
{
	const Image image = images[blockIdx.y];
	uint64_t all = (uint64_t)image.width * image.height, i = thread();
	if (i >= all)
		return;
	uint64_t at = (i / image.width * image.stride + i % image.width) * image.channels;
	const float *planes = (const float *)image.planes;
	uint32_t from = 0;
	if (image.coloured != 0) {
		float y = planes[i], cb = planes[all + i], cr = planes[2 * all + i];
		write_float(image, at, y + cr * 1.402f);
		write_float(image, at + 1, y - cb * 0.344136f - cr * 0.714136f);
		write_float(image, at + 2, y + cb * 1.772f);
		from = 3;
	}
	for (uint32_t c = from; c < image.channels; c++)
		write_float(image, at + c, planes[c * all + i]);
}
