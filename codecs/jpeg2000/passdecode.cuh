// The decoder of code-blocks of Part 1 (ISO/IEC 15444-1, Annexes C and D): coding passes and arithmetic decoder, as
// internal/bitplane and internal/mq have them. A thread takes a code-block. The threads of a warp begin each pass
// together, and in a pass each takes a step of its own at a time: it goes on to the next column that has something to
// decode, and decodes one decision.
//
// The samples of a column of a stripe share a word of 32 bits. A row of words has one more on either side, and a row of
// words stands above the first stripe of a slice and below the last, none of them read.
//
//	bit    0..17         18..23                            24+k     28+k
//	field  significance  signs, from the row above down    visited  refined
#pragma once

#include "tier1.cuh"

// Columns without a decision that a thread passes over in a step: while it does, the others of its warp wait.
constexpr uint32_t columns_at_once = 2;

constexpr uint32_t sign_field = 18, visited_field = 24, refined_field = 28;

// Four bits at distances of three.
DEVICE uint32_t spread_nibble(uint32_t v) { return (v & 1) | (v & 2) << 2 | (v & 4) << 4 | (v & 8) << 6; }

// per_sample of the samples that are significant or have a significant neighbour.
DEVICE uint32_t near(uint32_t f)
{
	f &= all_seen;
	uint32_t rows = f | f >> 1 | f >> 2;
	return rows | rows >> 3 | rows >> 6;
}

// The arithmetic decoder (C.3) of a thread, and the reader of raw segments (D.6). c has 16 bits of the code register in its
// upper half and t bits of what follows below.
struct ArithmeticDecoder {
	const uint8_t *data;
	uint32_t size; // bytes that are not read yet
	uint32_t a, c;
	int32_t t;
	bool ff; // the byte read last was 0xff

	__device__ void start(const uint8_t *at, uint32_t n)
	{
		data = at, size = n;
		a = 0x8000, c = 0, t = -15;
		ff = false;
		fill();
	}

	// BYTEIN (Figure C.19). Behind a marker and the end of the segment are ones.
	__device__ void fill()
	{
		while (t <= 8) {
			uint32_t byte = 0xff, bits = 8;
			if (size > 0) {
				byte = *data;
				if (ff && byte > 0x8f) {
					size = 0;
					byte = 0xff;
				} else {
					bits = ff ? 7 : 8;
					ff = byte == 0xff;
					data++, size--;
				}
			}
			c += byte << (uint32_t)(16 - (int32_t)bits - t);
			t += (int32_t)bits;
		}
	}

	// Decodes a decision in the context whose state is at state (Figures C.15 to C.18).
	__device__ uint32_t decode(uint32_t *state, const uint32_t *following)
	{
		uint32_t s = *state, qe = s >> 16;
		a -= qe;
		bool low = c >> 16 < qe;
		if (!low) {
			c -= qe << 16;
			if ((a & 0x8000) != 0)
				return s & 1;
		}
		uint32_t less = low != (a < qe) ? 1 : 0;
		if (low)
			a = qe;
		*state = following[2 * (s & 0xff) + less];
		uint32_t shift = (uint32_t)__builtin_clz(a) - 16;
		a <<= shift;
		c <<= shift;
		t -= (int32_t)shift;
		if (t < 0)
			fill();
		return (s & 1) ^ less;
	}

	__device__ void start_raw(const uint8_t *at, uint32_t n)
	{
		data = at, size = n;
		c = 0, t = 0;
		ff = false;
	}

	__device__ uint32_t raw_bit()
	{
		if (t == 0) {
			t = 8;
			c = 0xff;
			if (size > 0) {
				t = ff ? 7 : 8;
				c = *data++;
				size--;
				ff = c == 0xff;
			}
		}
		return c >> --t & 1;
	}
};

// A thread's way through the columns of its code-block. Words of the column and its neighbours are in registers.
struct Columns {
	uint32_t *row;	// the word of column 0 of the stripe
	int32_t *data;	// the coefficient of its first sample
	int32_t x; // column
	uint32_t stripe, slice;
	uint32_t left, here, right, ahead;
	uint32_t changed; // bit 0: left, 1: here, 2: right

	__device__ void begin(const Passes &b)
	{
		row = b.flags + b.width + 2 + 1;
		data = b.coefficients;
		x = -1, stripe = 0, slice = 0;
		enter();
	}

	__device__ void enter()
	{
		left = 0, here = 0, changed = 0;
		right = row[0], ahead = row[1];
	}

	// Goes on to the next column and says whether there is one.
	__device__ bool next(const Passes &b)
	{
		if ((changed & 1) != 0)
			row[x - 1] = left;
		left = here, here = right, right = ahead;
		changed >>= 1;
		x++;
		if (x < (int32_t)b.width) {
			ahead = row[least((uint32_t)x + 2, b.width)];
			return true;
		}
		if ((changed & 1) != 0)
			row[x - 1] = left;
		uint32_t words = b.width + 2;
		row += words;
		data += 4 * (uint64_t)b.stride;
		if (++stripe == stripes_of(b.height)) {
			stripe = 0;
			row += words;
			if (++slice == b.depth)
				return false;
			data = b.coefficients + (uint64_t)slice * b.slice;
		}
		enter();
		left = here, here = right, right = ahead;
		x = 0;
		ahead = row[least(2u, b.width)];
		return true;
	}

	// What sample k sees of the signs of its neighbours, as the index into the table of sign coding has them.
	__device__ uint32_t signs(uint32_t k) const
	{
		uint32_t own = here >> (sign_field + k);
		return (own & 1) | (left >> (sign_field + 1 + k) & 1) << 2 | (right >> (sign_field + 1 + k) & 1) << 4 | (own >> 2 & 1) << 6;
	}

	// Sample k has become significant.
	__device__ void mark(const Passes &b, uint32_t k, uint32_t sign, uint32_t plane)
	{
		uint32_t at = 3 * (k + 1);
		here |= 2u << at | sign << (sign_field + 1 + k);
		left |= 4u << at;
		right |= 1u << at;
		changed |= 7;
		uint32_t words = b.width + 2;
		if (k == 0 && (b.style & style_causal) == 0) {
			uint32_t *above = row + x - (int32_t)words;
			above[-1] |= 4u << 15;
			above[0] |= 2u << 15 | sign << (sign_field + 5);
			above[1] |= 1u << 15;
		}
		if (k == 3) {
			uint32_t *below = row + x + (int32_t)words;
			below[-1] |= 4;
			below[0] |= 2 | sign << sign_field;
			below[1] |= 1;
		}
		// A sign and a magnitude, with half of what the planes below may hold, and one fractional bit.
		data[(uint64_t)k * b.stride + x] = (int32_t)(3u << plane | sign << 31);
	}
};

// The decoder of a thread.
struct PassDecoder {
	const Passes &b;
	const uint8_t *zero, *sign;
	ContextMemory<decode_threads> &s;
	ArithmeticDecoder m;
	bool raw;

	__device__ uint32_t decision(uint32_t context)
	{
		if (raw)
			return m.raw_bit();
		return m.decode(&s.state[context][threadIdx.x], s.following);
	}

	// The significance propagation pass (D.3.1).
	__device__ void propagation(uint32_t plane)
	{
		Columns at;
		at.begin(b);
		uint32_t todo = 0, k = 0, flip = 0;
		bool of_sign = false; // the next decision is on the sign of sample k
		for (;;) {
			bool more = true;
			for (uint32_t i = 0; i < columns_at_once && more && todo == 0 && !of_sign; i++) {
				more = at.next(b);
				todo = more ? near(at.here) & ~(at.here >> 4) & samples_of(at.stripe, b.height) : 0;
			}
			if (!more)
				break;
			if (todo == 0 && !of_sign)
				continue;
			uint32_t context;
			if (of_sign) {
				uint32_t h = at.here >> (3 * k);
				uint32_t entry = sign[(h & seen_across) | at.signs(k)];
				context = entry >> 1;
				flip = raw ? 0 : entry & 1;
			} else {
				k = (uint32_t)__builtin_ctz(todo) / 3;
				todo &= todo - 1;
				at.here |= 1u << (visited_field + k);
				at.changed |= 2;
				context = zero[at.here >> (3 * k) & seen_of_one];
			}
			uint32_t bit = decision(context);
			if (of_sign) {
				at.mark(b, k, bit ^ flip, plane);
				// The sample below has a significant neighbour now.
				todo |= 8u << (3 * k) & ~(at.here >> 4) & samples_of(at.stripe, b.height);
				of_sign = false;
			} else {
				of_sign = bit != 0;
			}
		}
	}

	// The magnitude refinement pass (D.3.3).
	__device__ void refinement(uint32_t plane)
	{
		Columns at;
		at.begin(b);
		uint32_t todo = 0;
		for (;;) {
			bool more = true;
			for (uint32_t i = 0; i < columns_at_once && more && todo == 0; i++) {
				more = at.next(b);
				todo = more ? at.here >> 4 & per_sample & ~spread_nibble(at.here >> visited_field) : 0;
			}
			if (!more)
				break;
			if (todo == 0)
				continue;
			uint32_t k = (uint32_t)__builtin_ctz(todo) / 3;
			todo &= todo - 1;
			uint32_t refined = 1u << (refined_field + k);
			uint32_t context = context_refinement + ((at.here & refined) != 0 ? 2 : (at.here >> (3 * k) & seen_around) != 0 ? 1 : 0);
			int32_t *v = at.data + (uint64_t)k * b.stride + at.x;
			uint32_t value = (uint32_t)*v;
			at.here |= refined;
			at.changed |= 2;
			uint32_t bit = decision(context);
			*v = (int32_t)(bit != 0 ? value + (1u << plane) : value - (1u << plane));
		}
	}

	// The cleanup pass (D.3.4). It ends the bit-plane: no sample is visited any more.
	__device__ void cleanup(uint32_t plane)
	{
		enum { of_zero, of_sign, of_run, of_place };
		Columns at;
		at.begin(b);
		uint32_t todo = 0, k = 0, flip = 0, what = of_zero, place = 0;
		for (;;) {
			bool more = true;
			for (uint32_t i = 0; i < columns_at_once && more && todo == 0 && what == of_zero; i++) {
				more = at.next(b);
				if (!more)
					break;
				uint32_t visited = at.here >> visited_field & 15;
				todo = ~(at.here >> 4 | spread_nibble(visited)) & samples_of(at.stripe, b.height);
				if (visited != 0) {
					at.here &= ~(15u << visited_field);
					at.changed |= 2;
				}
				if (todo == per_sample && (at.here & all_seen) == 0)
					what = of_run;
			}
			if (!more)
				break;
			if (todo == 0 && what == of_zero)
				continue;
			uint32_t context;
			if (what == of_zero) {
				k = (uint32_t)__builtin_ctz(todo) / 3;
				todo &= todo - 1;
				context = zero[at.here >> (3 * k) & seen_of_one];
			} else if (what == of_sign) {
				uint32_t h = at.here >> (3 * k);
				uint32_t entry = sign[(h & seen_across) | at.signs(k)];
				context = entry >> 1;
				flip = entry & 1;
			} else {
				context = what == of_run ? context_run : context_uniform;
			}
			uint32_t bit = decision(context);
			if (what == of_zero) {
				what = bit != 0 ? of_sign : of_zero;
			} else if (what == of_sign) {
				at.mark(b, k, bit ^ flip, plane);
				what = of_zero;
			} else if (what == of_run) {
				if (bit != 0) {
					what = of_place;
					place = 2; // a mark above the first of two bits
				} else {
					what = of_zero;
					todo = 0;
				}
			} else if (place == 2) {
				place = 4 | bit << 1;
			} else {
				// The place of the first sample that becomes significant is known.
				k = (place & 2) | bit;
				todo &= ~0u << (3 * k + 3);
				what = of_sign;
			}
		}
	}
};

// Decodes code-blocks into their coefficients, which are zeros, as signs in bit 31 and magnitudes with a fractional bit. The
// flags of a code-block, (width + 2) * ((stripes of a slice + 1) * depth + 1) words, are zeros, too. A thread takes a
// code-block.
KERNEL __launch_bounds__(decode_threads) jpeg2000_decode_passes(const Passes *__restrict__ blocks, const Tables *__restrict__ tables, uint32_t count)
{
	__shared__ ContextMemory<decode_threads> s;
	__shared__ uint8_t s_zero[4 * 512], s_sign[256];
	for (uint32_t i = threadIdx.x; i < 4 * 512; i += decode_threads)
		s_zero[i] = tables->zero[i];
	for (uint32_t i = threadIdx.x; i < 256; i += decode_threads)
		s_sign[i] = tables->sign[i];
	s.load(tables);
	uint64_t index = thread();
	if (index >= count)
		return;
	const Passes b = blocks[index];
	PassDecoder d = {b, s_zero + 512 * (b.orientation & 3), s_sign, s, {}, false};
	s.reset();
	const uint8_t *data = b.data;
	const uint32_t *segment = b.segments;
	uint32_t end = 0; // of the codeword segment
	for (uint32_t pass = 0; pass < b.passes; pass++) {
		sync_warp(); // the threads that are still there go on together
		if (pass == end) {
			d.raw = is_raw(pass, b.style);
			if (d.raw)
				d.m.start_raw(data, segment[1]);
			else
				d.m.start(data, segment[1]);
			end += segment[0];
			data += segment[1];
			segment += 2;
		}
		uint32_t plane = b.planes - 1 - (pass + 2) / 3;
		switch ((pass + 2) % 3) {
		case kind_propagation:
			d.propagation(plane);
			break;
		case kind_refinement:
			d.refinement(plane);
			break;
		default:
			d.cleanup(plane);
			if ((b.style & style_mark) != 0) {
				for (uint32_t i = 0; i < 4; i++)
					d.decision(context_uniform);
			}
		}
		if ((b.style & style_reset) != 0)
			s.reset();
	}
}

// Makes of decoded coefficients, in their place, quantizer indices, without the fractional bit, or, where step is not 0,
// products with the float32 that has the bits of step (equation E-6). A warp takes a code-block.
KERNEL __launch_bounds__(block_threads) jpeg2000_dequantize(const Passes *__restrict__ blocks, uint32_t count)
{
	uint32_t index = blockIdx.x * (block_threads / warp_size) + warp();
	if (index >= count)
		return;
	const Passes b = blocks[index];
	float step = __builtin_bit_cast(float, b.step);
	for (uint32_t z = 0; z < b.depth; z++) {
		for (uint32_t y = 0; y < b.height; y++) {
			int32_t *row = b.coefficients + (uint64_t)z * b.slice + (uint64_t)y * b.stride;
			for (uint32_t x = lane(); x < b.width; x += warp_size) {
				uint32_t v = (uint32_t)row[x];
				int32_t m = (int32_t)(v & 0x7fffffff);
				if (b.step == 0) {
					m >>= 1;
					row[x] = v >> 31 != 0 ? -m : m;
				} else {
					float f = (float)(v >> 31 != 0 ? -m : m) * step;
					row[x] = __builtin_bit_cast(int32_t, f);
				}
			}
		}
	}
}
