// The arithmetic encoder of Part 1 (ISO/IEC 15444-1, C.2) with the codeword segments and lengths of passes (D.4), as
// internal/mq and internal/bitplane have them. A thread takes a code-block; all threads code a decision at a time, so that
// only renormalization and output make them part.
#pragma once

#include "../../gpu/include/scan.cuh"
#include "passsymbols.cuh"

// A place between two decisions of a codeword segment.
struct EncoderMark {
	uint32_t a, c, ct_last, n; // CT above the last byte; the bytes so far
};

// The encoder of a thread. The stream's last byte is in last until the next one comes, as a carry may change it.
struct ArithmeticEncoder {
	uint8_t *out;
	uint32_t capacity;
	uint32_t a, c, ct;
	uint32_t n, last; // bytes of the stream; the last of them, 0 before the first
	uint32_t from;	  // n at the start of the codeword segment
	uint32_t raw, left;

	__device__ void keep() const
	{
		if (n > 0 && n <= capacity)
			out[n - 1] = (uint8_t)last;
	}

	// Byte i of the stream, counted from 1, which keep has written; 0 before the first.
	__device__ uint32_t byte(uint32_t i) const { return i > 0 && i <= capacity ? out[i - 1] : 0; }

	__device__ void push(uint32_t v)
	{
		keep();
		n++;
		last = v;
	}

	// INITENC (Figure C.10).
	__device__ void start()
	{
		a = 0x8000, c = 0, ct = 12;
		from = n;
	}

	// BYTEOUT (Figure C.8).
	__device__ void byte_out()
	{
		if (last != 0xff && c >= 0x8000000) {
			last++;
			c &= 0x7ffffff;
		}
		if (last == 0xff) {
			push(c >> 20);
			c &= 0xfffff;
			ct = 7;
		} else {
			push(c >> 19);
			c &= 0x7ffff;
			ct = 8;
		}
	}

	// Codes a decision in the context whose state is at state (Figures C.3 to C.7).
	__device__ void encode(uint32_t bit, uint32_t *state, const uint32_t *following)
	{
		uint32_t s = *state, qe = s >> 16, less = (s ^ bit) & 1;
		a -= qe;
		if (less == 0 && (a & 0x8000) != 0) {
			c += qe;
			return;
		}
		// The lower part of the interval, of length Qe, is the MPS's where it is the longer one.
		bool low = (less != 0) != (a < qe);
		if (low)
			a = qe;
		else
			c += qe;
		*state = following[2 * (s & 0xff) + less];
		uint32_t shift = (uint32_t)__builtin_clz(a) - 16;
		a <<= shift;
		while (shift >= ct) {
			c <<= ct;
			shift -= ct;
			byte_out();
		}
		c <<= shift;
		ct -= shift;
	}

	// Leaves out a final 0xff of the segment.
	__device__ void trim()
	{
		if (n > from && last == 0xff) {
			n--;
			last = byte(n);
		}
	}

	// FLUSH (Figure C.11).
	__device__ void flush()
	{
		uint32_t limit = c + a;
		c |= 0xffff;
		if (c >= limit)
			c -= 0x8000;
		c <<= ct;
		byte_out();
		uint32_t kept_c = c, kept_ct = ct; // that marks of a raw segment have
		c <<= ct;
		byte_out();
		c = kept_c, ct = kept_ct;
		trim();
	}

	// Ends the segment so that a decoder can tell damage (D.4.2).
	__device__ void flush_predictably()
	{
		for (int32_t k = 12 - (int32_t)ct; k > 0; k -= (int32_t)ct) {
			c <<= ct;
			byte_out();
		}
		trim();
	}

	// A segment without arithmetic coding (D.6).
	__device__ void start_raw()
	{
		raw = 0, left = 8;
		from = n;
	}

	__device__ void put_raw(uint32_t bit)
	{
		raw |= bit << --left;
		if (left > 0)
			return;
		push(raw);
		left = raw == 0xff ? 7 : 8;
		raw = 0;
	}

	// Whether no bits wait for the rest of their byte.
	__device__ bool whole_raw() const { return left == 8 || (left == 7 && last == 0xff); }

	__device__ void flush_raw()
	{
		for (uint32_t fill = 0; !whole_raw(); fill ^= 1)
			put_raw(fill);
		trim();
	}

	__device__ EncoderMark mark() const { return {a, c, ct << 8 | last, n}; }

	// The bytes of the stream that decode all before m, given that the segment has been flushed and kept (D.4.1): see Truncate
	// in Go.
	__device__ uint32_t truncate(const EncoderMark &m) const
	{
		constexpr uint32_t carry = 27 + 24;
		uint32_t up = (m.ct_last >> 8) + carry - 27;
		uint64_t lowest = (uint64_t)m.c << up, limit = (uint64_t)(m.c + m.a) << up;
		uint64_t number = (uint64_t)(byte(m.n) - (m.ct_last & 0xff)) << carry;
		uint32_t at = m.n, place = carry, v = byte(at);
		for (;;) {
			uint64_t ones = number + ((uint64_t)1 << place); // with ones behind it
			if (at >= n || (ones <= limit && ones > lowest))
				break;
			if (v == 0xff)
				place++; // the next byte overlaps
			v = byte(++at);
			place -= 8;
			number += (uint64_t)v << place;
		}
		while (at > from && byte(at) == 0xff)
			at--;
		return at;
	}
};

// Encodes the decisions that jpeg2000_symbols wrote. plane_offsets has the first of each code-block's bit-planes in list,
// and word_offsets that of its slots; its stream goes to out, 4 bytes for each word of the slots. lengths
// receives the bytes of each stream, and pass_lengths three for each bit-plane: the bytes of the stream that decode the
// pass and those before it. Where marks, room for three for each bit-plane, is null, that is so only for passes that end a
// codeword segment.
KERNEL __launch_bounds__(encode_threads) jpeg2000_mq_encode(const BitPlane *__restrict__ list, const uint64_t *__restrict__ plane_offsets,
	const uint64_t *__restrict__ word_offsets, const Symbols16 *__restrict__ symbols, const Tables *__restrict__ tables, uint8_t *out, uint32_t *lengths,
	uint32_t *pass_lengths, EncoderMark *marks, uint32_t style, uint32_t count)
{
	__shared__ ContextMemory<encode_threads> s;
	s.load(tables);
	uint64_t index = thread();
	if (index >= count)
		return;
	uint64_t first = plane_offsets[index];
	uint32_t planes = (uint32_t)(plane_offsets[index + 1] - first);
	if (planes == 0) {
		lengths[index] = 0;
		return;
	}
	s.reset();
	ArithmeticEncoder e = {};
	e.out = out + 4 * word_offsets[index];
	e.capacity = (uint32_t)(4 * (word_offsets[index + 1] - word_offsets[index]));
	e.start();
	uint32_t passes = 3 * planes - 2, segment = 0; // the first pass of the codeword segment
	const BitPlane *plane = list + first;
	pass_lengths += 3 * first + 2;
	if (marks != nullptr)
		marks += 3 * first + 2;
	const Symbols16 *from = symbols + plane->first + plane->skip + (plane->propagation + word_symbols - 1) / word_symbols +
		(plane->refinement + word_symbols - 1) / word_symbols;
	uint32_t left = plane->cleanup;
	bool raw = false;
	Symbols16 ahead = *from;
	for (uint32_t pass = 0; pass < passes;) {
		sync_warp(); // the threads that are still there go on together
		Symbols16 some = ahead;
		if (left > word_symbols)
			ahead = from[1];
		from++;
		uint32_t n = least(left, word_symbols);
#pragma unroll 1
		for (uint32_t i = 0; i < word_symbols; i += 4) {
			uint32_t word = some.word[0];
			some.word[0] = some.word[1], some.word[1] = some.word[2], some.word[2] = some.word[3];
#pragma unroll
			for (uint32_t k = 0; k < 4; k++) {
				uint32_t symbol = word >> (8 * k) & 0xff;
				if (i + k >= n)
					continue;
				if (raw)
					e.put_raw(symbol & 1);
				else
					e.encode(symbol & 1, &s.state[symbol >> 1][threadIdx.x], s.following);
			}
		}
		left -= n;
		if (left > 0)
			continue;
		// The end of a pass.
		bool next_raw = is_raw(pass + 1, style);
		bool end = pass + 1 == passes || (style & style_terminate) != 0 || raw != next_raw;
		if (marks != nullptr)
			marks[pass] = e.mark();
		uint32_t length = raw ? e.n + (e.whole_raw() ? 0 : 1) : 0;
		pass_lengths[pass] = length;
		if (end) {
			if (raw)
				e.flush_raw();
			else if ((style & style_predictable) != 0)
				e.flush_predictably();
			else
				e.flush();
			e.keep();
			pass_lengths[pass] = e.n;
			uint32_t limit = e.n;
			for (uint32_t i = pass; marks != nullptr && i > segment; i--) {
				uint32_t own = pass_lengths[i - 1];
				if (own == 0)
					own = e.truncate(marks[i - 1]);
				limit = least(limit, own);
				pass_lengths[i - 1] = limit;
			}
			segment = pass + 1;
			raw = next_raw;
			if (raw)
				e.start_raw();
			else
				e.start();
		}
		if ((style & style_reset) != 0)
			s.reset();
		pass++;
		if (pass == passes)
			break;
		switch ((pass + 2) % 3) {
		case kind_propagation:
			plane++;
			from = symbols + plane->first + plane->skip;
			left = plane->propagation;
			break;
		case kind_refinement:
			from = symbols + plane->first + plane->skip + (plane->propagation + word_symbols - 1) / word_symbols;
			left = plane->refinement;
			break;
		default:
			from = symbols + plane->first + plane->skip + (plane->propagation + word_symbols - 1) / word_symbols +
				(plane->refinement + word_symbols - 1) / word_symbols;
			left = plane->cleanup;
		}
		if (left > 0)
			ahead = *from;
	}
	lengths[index] = e.n;
}

// Copies the streams of jpeg2000_mq_encode to out, which holds size bytes, one after the other. A warp takes a code-block.
KERNEL __launch_bounds__(block_threads)
	jpeg2000_gather_streams(const uint8_t *__restrict__ streams, const uint64_t *__restrict__ word_offsets, const uint64_t *__restrict__ offsets, uint8_t *out, uint64_t size, uint32_t count)
{
	uint32_t index = blockIdx.x * (block_threads / warp_size) + warp();
	if (index >= count)
		return;
	uint64_t at = offsets[index], n = offsets[index + 1] - at;
	const uint8_t *from = streams + 4 * word_offsets[index];
	if (at + n > size || n > 4 * (word_offsets[index + 1] - word_offsets[index]))
		return;
	for (uint64_t i = lane(); i < n; i += warp_size)
		out[at + i] = from[i];
}
