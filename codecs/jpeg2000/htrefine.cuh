// The refinement passes of High Throughput code-blocks (ISO/IEC 15444-15, 7.4 and 7.5), SigProp and MagRef, as refine.go of package
// ht has them. They are rare, and each bit depends on those before: a thread takes a code-block.
#pragma once

#include "shared.cuh"

// Bits of a segment from its front, lowest first, seven of a byte behind 0xff; zeros behind the end.
struct ForwardBits {
	const uint8_t *data;
	uint32_t left, last, bits, count;

	__device__ ForwardBits(const uint8_t *at, uint32_t n) : data(at), left(n), last(0), bits(0), count(0) {}

	__device__ uint32_t next()
	{
		if (count == 0) {
			count = 8, bits = 0;
			if (left > 0) {
				left--;
				bits = *data++;
				count = last == 0xff ? 7 : 8;
				last = bits;
			}
		}
		uint32_t bit = bits & 1;
		bits >>= 1, count--;
		return bit;
	}
};

// Bits of a segment from its end, lowest first, seven of a byte of ones behind one above 0x8f; zeros before the front.
struct BackwardBits {
	const uint8_t *data;
	uint32_t left, last, bits, count;

	__device__ BackwardBits(const uint8_t *at, uint32_t n) : data(at), left(n), last(0xff), bits(0), count(0) {}

	__device__ uint32_t next()
	{
		if (count == 0) {
			count = 8, bits = 0;
			if (left > 0) {
				bits = data[--left];
				count = last > 0x8f && (bits & 0x7f) == 0x7f ? 7 : 8;
				last = bits;
			}
		}
		uint32_t bit = bits & 1;
		bits >>= 1, count--;
		return bit;
	}
};

// States of samples, with a column at each side and a row above and below.
constexpr uint8_t state_significant = 1, state_discovered = 2;

// SigProp of the samples in columns x to right-1 of rows y to bottom-1: magnitudes, then the signs of those that became
// significant.
DEVICE void propagate_group(const Refined &b, ForwardBits &in, uint32_t x, uint32_t right, uint32_t y, uint32_t bottom)
{
	uint32_t pitch = b.width + 2, found = 0; // bit 4i + j: the sample of column i and row j
	for (uint32_t i = 0; x + i < right; i++) {
		for (uint32_t j = 0; y + j < bottom; j++) {
			uint8_t *s = b.states + (uint64_t)(y + j + 1) * pitch + x + i + 1;
			if (*s != 0)
				continue;
			uint32_t near = s[-1] | s[1] | s[-(int64_t)pitch - 1] | s[-(int64_t)pitch] | s[-(int64_t)pitch + 1];
			if (b.causal == 0 || j != 3)
				near |= s[pitch - 1] | s[pitch] | s[pitch + 1];
			if (near == 0 || in.next() == 0)
				continue;
			*s = state_discovered;
			found |= 1u << (4 * i + j);
		}
	}
	for (; found != 0; found &= found - 1) {
		uint32_t k = (uint32_t)__builtin_ctz(found);
		int32_t v = 3 << (b.plane - 1);
		b.coefficients[(uint64_t)(y + k % 4) * b.stride + x + k / 4] = in.next() != 0 ? -v : v;
	}
}

// Refines coefficients, quantizer indices whose last bit-plane is at least the second. The states of a code-block are zeros. A
// thread takes a code-block.
KERNEL __launch_bounds__(quad_threads) jpeg2000_ht_refine(const Refined *__restrict__ blocks, uint32_t count)
{
	uint64_t index = thread();
	if (index >= count)
		return;
	const Refined b = blocks[index];
	uint32_t pitch = b.width + 2;
	for (uint32_t y = 0; y < b.height; y++) {
		int32_t *row = b.coefficients + (uint64_t)y * b.stride;
		for (uint32_t x = 0; x < b.width; x++) {
			b.states[(uint64_t)(y + 1) * pitch + x + 1] = row[x] != 0 ? state_significant : 0;
			row[x] = (int32_t)(2u * (uint32_t)row[x]); // with a fractional bit
		}
	}
	ForwardBits forward(b.data, b.length);
	for (uint32_t y = 0; y < b.height; y += 4)
		for (uint32_t x = 0; x < b.width; x += 4)
			propagate_group(b, forward, x, least(x + 4, b.width), y, least(y + 4, b.height));
	if (b.passes > 1) {
		BackwardBits backward(b.data, b.length);
		for (uint32_t y = 0; y < b.height; y += 4) {
			for (uint32_t x = 0; x < b.width; x++) {
				for (uint32_t j = y; j < least(y + 4, b.height); j++) {
					if (b.states[(uint64_t)(j + 1) * pitch + x + 1] != state_significant)
						continue;
					// The middle of the interval moves by half of its new width.
					int32_t *v = b.coefficients + (uint64_t)j * b.stride + x, change = 1 << (b.plane - 1);
					*v += (backward.next() == 0) != (*v < 0) ? -change : change;
				}
			}
		}
	}
	float step = __builtin_bit_cast(float, b.step);
	for (uint32_t y = 0; y < b.height; y++) {
		int32_t *row = b.coefficients + (uint64_t)y * b.stride;
		for (uint32_t x = 0; x < b.width; x++) {
			float f = (float)row[x] * step;
			row[x] = b.step == 0 ? row[x] / 2 : __builtin_bit_cast(int32_t, f);
		}
	}
}
