// From samples to pixels.
#pragma once

#include "slot.cuh"

// Samples, interleaved, as pixels in argb: grey, grey with alpha, RGB, RGB with alpha; or pixels as they are, where channels
// is 0. exact 0 clears pixels that cannot be seen. Sets bit 0 of result[0] where a pixel is not opaque. One thread per pixel of image blockIdx.y.
KERNEL webp_load(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t i = thread();
	if (i >= (uint64_t)image.width * image.height)
		return;
	uint32_t v;
	if (image.channels == 0) {
		v = ((const uint32_t *)image.source)[i];
	} else {
		const uint8_t *s = image.source + i * image.channels;
		uint32_t r = s[0], g = r, b = r, a = 255;
		if (image.channels >= 3) {
			g = s[1];
			b = s[2];
		}
		if (image.channels % 2 == 0)
			a = s[image.channels - 1];
		v = a << 24 | r << 16 | g << 8 | b;
	}
	if (image.channels != 0 && v >> 24 == 0 && image.exact == 0)
		v = 0;
	image.argb[i] = v;
	if (v >> 24 != 255)
		image.result[0] = 1; // every thread that writes writes the same
}

// Green taken from red and blue in argb (RFC 9649, 3.5.3). One thread per pixel of image blockIdx.y.
KERNEL webp_subtract_green(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t i = thread();
	if (i >= (uint64_t)image.width * image.height)
		return;
	uint32_t v = image.argb[i], g = v >> 8 & 255;
	image.argb[i] = subtract(v, g << 16 | g);
}
