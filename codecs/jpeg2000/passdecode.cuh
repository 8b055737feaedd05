// The decoder of code-blocks of Part 1 (ISO/IEC 15444-1, Annexes C and D): coding passes and arithmetic decoder, as
// internal/bitplane and internal/mq have them. A thread takes a code-block. The threads of a warp begin each pass together, and
// each word of a pass, and decode their decisions together; in a word each takes as many as it needs.
//
// The samples of eight columns of a stripe are the bits of a word in the order of decoding, sample k of column c at 4c + k.
#pragma once

#include "tier1.cuh"

// All that a thread knows stays in registers only if nothing takes its address.
#define INLINE __device__ __attribute__((always_inline))

constexpr uint32_t every_column = 0x11111111; // the first sample of each column of a word

// What is known of the samples of a word.
struct alignas(16) Samples {
	uint32_t significant, signs, visited, refined;
};

// Significance, or the signs, of the samples of a word and around it, so that bits i to i + 10 show sample i what is around:
//
//	0 4  8
//	1 5  9
//	2 6 10
//
// That needs two frames, of the samples in the upper half of the stripe and in the lower one: in that of the upper half the
// last row of the stripe gives way to the row above, and in the other one the first to the row below.
constexpr uint32_t frame_around = 0x757, frame_across = 0x252;

struct Frame {
	uint32_t low, high;

	__device__ uint32_t at(uint32_t i) const { return funnel_right(low, high, i); }

	// Samples of the word become significant.
	__device__ void add(uint32_t samples) { low |= samples << 5, high |= samples >> 27; }

	// Which samples have any around. Bits 4c + k and 4c + k + 1 of the half that the frame is of hold.
	__device__ uint32_t any() const
	{
		uint32_t l = low | funnel_right(low, high, 1) | funnel_right(low, high, 2), h = high | high >> 1 | high >> 2;
		return l | funnel_right(l, h, 4) | funnel_right(l, h, 8);
	}
};

// A word and those to its left and right.
struct Row {
	uint32_t left, own, right;

	__device__ void next(uint32_t v) { left = own, own = right, right = v; }

	__device__ Frame upper(const Row &above) const
	{
		constexpr uint32_t m = 0x11111111;
		return {(funnel_left(left, own, 5) & ~m) | (funnel_left(above.left, above.own, 1) & m), (funnel_left(own, right, 5) & ~m) | (funnel_left(above.own, above.right, 1) & m)};
	}

	__device__ Frame lower(const Row &below) const
	{
		constexpr uint32_t m = 0x22222222;
		return {(funnel_left(left, own, 5) & ~m) | (funnel_left(below.left, below.own, 9) & m), (funnel_left(own, right, 5) & ~m) | (funnel_left(below.own, below.right, 9) & m)};
	}
};

// The arithmetic decoder (C.3) of a thread, and the reader of raw segments (D.6). The upper halves of a and c are the
// registers of the standard; t bits of what follows are below.
struct ArithmeticDecoder {
	const uint32_t *words;	// of the stream, behind those that are here
	uint32_t word, following; // the first byte in the highest bits
	uint32_t next; // the word after them as it lies in memory, not looked at before it has come: threads wait for each other's
	uint32_t used; // bytes of word
	uint32_t size; // bytes that are not used yet
	uint32_t a, c;
	int32_t t;
	bool ff; // the byte used last was 0xff

	// The words that a segment lies in can be read as a whole, and three more.
	INLINE void open(const uint8_t *at, uint32_t n)
	{
		used = (uint32_t)((uint64_t)at % 4), size = n;
		words = (const uint32_t *)(at - used);
		word = swap_bytes(words[0]), following = swap_bytes(words[1]), next = words[2];
		words += 3;
		ff = false;
	}

	INLINE void start(const uint8_t *at, uint32_t n)
	{
		open(at, n);
		a = 0x80000000, c = 0, t = -15;
		fill();
	}

	INLINE uint32_t ahead() const { return funnel_left(following, word, 8 * used); }

	INLINE void use(uint32_t n)
	{
		size -= n, used += n;
		if (used >= 4) {
			used -= 4;
			word = following;
			following = swap_bytes(next);
			next = *words++;
		}
	}

	// BYTEIN (Figure C.19), of two bytes where none is 0xff. Behind a marker and the end of the segment are ones.
	INLINE void fill()
	{
		uint32_t two = ahead() >> 16, not_two = two ^ 0xffff;
		if (!ff && size >= 2 && ((not_two - 0x0101) & two & 0x8080) == 0) {
			c += two << -t;
			t += 16;
			use(2);
			return;
		}
		while (t < 0) {
			uint32_t byte = 0xff, bits = 8;
			if (size > 0) {
				byte = ahead() >> 24;
				if (ff && byte > 0x8f) {
					size = 0;
					byte = 0xff;
				} else {
					bits = ff ? 7 : 8;
					ff = byte == 0xff;
					use(1);
				}
			}
			c += byte << (uint32_t)(16 - (int32_t)bits - t);
			t += (int32_t)bits;
		}
	}

	// Decodes a decision in the context whose state is at state (Figures C.15 to C.18).
	INLINE uint32_t decode(uint32_t *state, const uint32_t *following_states)
	{
		uint32_t s = *state, qe = s & 0xffff0000;
		const uint32_t *next = following_states + 2 * (s & 0xff);
		uint32_t more = next[0], fewer = next[1];
		a -= qe;
		bool low = c < qe;
		uint32_t less = low != (a < qe) ? 1 : 0;
		c = low ? c : c - qe;
		a = low ? qe : a;
		uint32_t shift = (uint32_t)__builtin_clz(a);
		if (shift > 0)
			*state = less != 0 ? fewer : more;
		a <<= shift;
		c <<= shift;
		t -= (int32_t)shift;
		if (t < 0)
			fill();
		return (s & 1) ^ less;
	}

	INLINE void start_raw(const uint8_t *at, uint32_t n)
	{
		open(at, n);
		c = 0, t = 0;
	}

	INLINE uint32_t raw_bit()
	{
		if (t == 0) {
			t = 8;
			c = 0xff;
			if (size > 0) {
				t = ff ? 7 : 8;
				c = ahead() >> 24;
				ff = c == 0xff;
				use(1);
			}
		}
		return c >> --t & 1;
	}
};

// What the threads of a block share.
struct DecoderTables {
	uint32_t state[context_count][decode_threads];
	alignas(8) uint32_t following[state_count];
	uint32_t first[context_count];
	uint8_t zero[4 * 512]; // by what a frame shows without gaps
	uint8_t sign[1024]; // by half of what a frame shows of significance, and what one shows of signs

	// All threads of the block call.
	INLINE void load(const Tables *tables)
	{
		for (uint32_t i = threadIdx.x; i < state_count; i += decode_threads)
			following[i] = tables->following[i];
		for (uint32_t i = threadIdx.x; i < context_count; i += decode_threads)
			first[i] = tables->first[i];
		for (uint32_t i = threadIdx.x; i < 4 * 512; i += decode_threads)
			zero[i] = tables->zero[(i & ~511u) | (i & 0x111) | (i & 2) << 2 | (i & 4) << 4 | (i & 8) >> 2 | (i & 32) << 2 | (i & 64) >> 4 | (i & 128) >> 2];
		for (uint32_t i = threadIdx.x; i < 1024; i += decode_threads) {
			uint32_t f = 2 * i & frame_across, g = i & frame_across;
			sign[i] = tables->sign[(f >> 4 & 1) << 1 | (f >> 1 & 1) << 3 | (f >> 9 & 1) << 5 | (f >> 6 & 1) << 7 | (g >> 4 & 1) | (g >> 1 & 1) << 2 | (g >> 9 & 1) << 4 | (g >> 6 & 1) << 6];
		}
		sync_block();
	}

	// Each thread calls for itself.
	INLINE void reset()
	{
		for (uint32_t i = 0; i < context_count; i++)
			state[i][threadIdx.x] = first[i];
	}
};

// The decoder of a thread.
struct PassDecoder {
	DecoderTables &s;
	const Passes &b;
	uint32_t words, across, stripes; // of a bit-plane; of a stripe; of a slice
	bool raw;
	ArithmeticDecoder m;

	uint32_t plane;
	bool last; // the coding pass is the last one
	uint32_t at, x, stripe; // the word

	Row seen, above, below;
	Row signs, signs_above, signs_below;
	Frame upper, lower;
	Samples own;
	uint32_t ones; // bits of the bit-plane
	uint32_t refined; // samples that were refined before the pass
	uint32_t valid, todo, runs; // samples of the word: there, to be decoded, and the first ones of columns of a run

	// What the next decision is on.
	enum { of_sample, of_sign, of_run, of_place } what;
	uint32_t i, place;

	INLINE PassDecoder(DecoderTables &s, const Passes &b) : s(s), b(b)
	{
		across = (b.width + 7) / 8, stripes = stripes_of(b.height);
		words = across * stripes * b.depth;
		what = of_sample;
	}

	INLINE Samples load(uint32_t j) const { return ((const Samples *)b.memory)[j * warp_size]; }

	// Takes in word j, which is right of that at hand, and those above and below.
	INLINE void slide(uint32_t j)
	{
		Samples here = load(j), up = {0, 0, 0, 0}, down = {0, 0, 0, 0};
		if (stripe > 0)
			up = load(j - across);
		if (stripe + 1 < stripes && (b.style & style_causal) == 0)
			down = load(j + across);
		seen.next(here.significant), signs.next(here.signs);
		above.next(up.significant), signs_above.next(up.signs);
		below.next(down.significant), signs_below.next(down.signs);
	}

	INLINE void frames() { upper = seen.upper(above), lower = seen.lower(below); }

	// Goes on to the word that was on the right.
	template <uint32_t kind> INLINE void word()
	{
		if (x + 1 < across) {
			slide(at + 1);
		} else {
			seen.next(0), signs.next(0), above.next(0), signs_above.next(0), below.next(0), signs_below.next(0);
		}
		own = load(at);
		frames();
		uint32_t columns = b.width - 8 * x, rows = b.height - 4 * stripe;
		valid = (columns >= 8 ? ~0u : (1u << 4 * columns) - 1) & (rows >= 4 ? ~0u : every_column * ((1u << rows) - 1));
		ones = 0, runs = 0;
		uint32_t near = (upper.any() & 0x33333333) | (lower.any() & 0xcccccccc);
		refined = own.refined;
		if (kind == kind_propagation) {
			todo = near & ~own.significant & valid;
		} else if (kind == kind_refinement) {
			todo = own.significant & ~own.visited;
			own.refined |= todo;
			own.visited |= todo;
		} else {
			todo = ~(own.significant | own.visited) & valid;
			runs = todo & ~near;
			runs &= runs >> 1;
			runs &= runs >> 2 & every_column;
			own.visited = 0;
		}
	}

	// Writes what is known of the word.
	INLINE void write()
	{
		own.significant = seen.own, own.signs = signs.own;
		((Samples *)b.memory)[at * warp_size] = own;
		if (ones != 0)
			__nvvm_atom_or_gen_i((int *)&b.bits[plane * words + at], (int)ones);
		if (last) {
			b.bits[b.planes * words + at] = own.signs;
			b.bits[(b.planes + 1) * words + at] = own.visited;
		}
	}

	// Sample i is significant.
	template <uint32_t kind> INLINE void mark(uint32_t sign)
	{
		uint32_t bit = 1u << i, k = i & 3;
		seen.own |= bit, signs.own |= sign << i, ones |= bit;
		upper.add(bit & 0x77777777), lower.add(bit & 0xeeeeeeee); // as frames would have them
		if (kind == kind_propagation) {
			// The samples behind it that have it around.
			uint32_t behind = k == 0 ? 0x32u : k == 3 ? 0x18u : 0x3au;
			todo |= behind << i & ~seen.own & valid;
		} else {
			runs &= ~(0x11u << (i - k));
		}
	}

	// Decodes a decision.
	template <uint32_t kind> INLINE void step()
	{
		uint32_t together = active_threads();
		uint32_t context = context_uniform, flip = 0;
		if (what == of_sample) {
			i = (uint32_t)__builtin_ctz(todo);
			uint32_t bit = todo & -todo;
			todo ^= bit;
			uint32_t w = (i & 2) == 0 ? upper.at(i) : lower.at(i);
			if (kind == kind_refinement) {
				context = context_refinement + ((refined & bit) != 0 ? 2 : (w & frame_around) != 0 ? 1 : 0);
			} else if (kind == kind_cleanup && (runs & bit) != 0) {
				what = of_run;
				context = context_run;
			} else {
				if (kind == kind_propagation)
					own.visited |= bit;
				context = s.zero[512 * (b.orientation & 3) + ((w & 7) | (w >> 1 & 0x38) | (w >> 2 & 0x1c0))];
			}
		} else if (what == of_sign) {
			bool first = (i & 2) == 0;
			Frame f = first ? signs.upper(signs_above) : signs.lower(signs_below);
			uint32_t w = first ? upper.at(i) : lower.at(i);
			uint32_t entry = s.sign[(w >> 1 & frame_across >> 1) | (f.at(i) & frame_across)];
			context = entry >> 1;
			flip = raw ? 0 : entry & 1;
		}
		sync_threads(together); // the decoder is most of the work: the branches above must not part its threads
		uint32_t bit = decision(context);
		if (kind == kind_refinement) {
			ones |= bit << i;
		} else if (what == of_sample) {
			what = bit != 0 ? of_sign : of_sample;
		} else if (what == of_sign) {
			mark<kind>(bit ^ flip);
			what = of_sample;
		} else if (what == of_run) {
			what = bit != 0 ? of_place : of_sample;
			place = 2; // a mark above the first of two bits
			todo &= bit != 0 ? ~0u : ~(15u << i);
		} else {
			place = place << 1 | bit;
			if (place >= 8) {
				// The place of the first sample that becomes significant is known.
				place &= 3;
				todo &= ~(((2u << place) - 1) << i);
				i += place;
				what = of_sign;
			}
		}
	}

	INLINE uint32_t decision(uint32_t context) { return raw ? m.raw_bit() : m.decode(&s.state[context][threadIdx.x], s.following); }

	// Decodes a coding pass.
	template <uint32_t kind> INLINE void pass()
	{
		at = 0;
		for (uint32_t slice = 0; slice < b.depth; slice++) {
			for (stripe = 0; stripe < stripes; stripe++) {
				seen = above = below = signs = signs_above = signs_below = {0, 0, 0};
				slide(at);
				for (x = 0; x < across; x++, at++) {
					word<kind>();
					while (todo != 0 || (kind != kind_refinement && what != of_sample))
						step<kind>();
					write();
				}
			}
		}
	}
};

// Decodes code-blocks: the bits of their magnitudes to as many bit-planes of words, then their signs, then the samples that
// the passes of the last bit-plane have coded. These words are zeros before, as is the memory. The first lanes of a warp take a
// code-block each: the fewer, the less they wait for each other.
KERNEL __launch_bounds__(decode_threads, 12) jpeg2000_decode_passes(const Passes *__restrict__ blocks, const Tables *__restrict__ tables, uint32_t lanes, uint32_t count)
{
	__shared__ DecoderTables s;
	s.load(tables);
	uint64_t index = thread() / warp_size * lanes + lane();
	if (lane() >= lanes || index >= count)
		return;
	const Passes b = blocks[index];
	PassDecoder d(s, b);
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
		d.plane = b.planes - 1 - (pass + 2) / 3;
		d.last = pass + 1 == b.passes;
		switch ((pass + 2) % 3) {
		case kind_propagation:
			d.pass<kind_propagation>();
			break;
		case kind_refinement:
			d.pass<kind_refinement>();
			break;
		default:
			d.pass<kind_cleanup>();
			if ((b.style & style_mark) != 0) {
				for (uint32_t i = 0; i < 4; i++)
					d.decision(context_uniform);
			}
		}
		if ((b.style & style_reset) != 0)
			s.reset();
	}
}

// Makes of what jpeg2000_decode_passes has found coefficients: quantizer indices, those of which bit-planes are missing in the
// middle of what they may be, or, where step is not 0, products of these, with a fractional bit, with the float32 that has the
// bits of step (equation E-6). A warp takes a code-block.
KERNEL __launch_bounds__(block_threads) jpeg2000_dequantize(const Passes *__restrict__ blocks, uint32_t count)
{
	uint32_t index = blockIdx.x * (block_threads / warp_size) + warp();
	if (index >= count)
		return;
	const Passes b = blocks[index];
	float step = __builtin_bit_cast(float, b.step);
	uint32_t across = (b.width + 7) / 8, stripes = stripes_of(b.height), words = across * stripes * b.depth;
	uint32_t last = b.planes - 1 - (b.passes + 1) / 3; // the last bit-plane of samples that are coded in it
	bool whole = (b.passes + 1) % 3 == kind_cleanup;
	for (uint32_t row = 0; row < stripes * b.depth; row++) {
		uint32_t y = row % stripes * 4, rows = least(b.height - y, 4u);
		int32_t *to = b.coefficients + (uint64_t)(row / stripes) * b.slice + (uint64_t)y * b.stride;
		for (uint32_t x = lane(); x < b.width; x += warp_size) {
			const uint32_t *word = b.bits + row * across + x / 8;
			uint32_t shift = x % 8 * 4, v[4] = {0, 0, 0, 0};
			for (uint32_t p = last; p < b.planes; p++) {
				uint32_t bits = word[p * words] >> shift;
#pragma unroll
				for (uint32_t k = 0; k < 4; k++)
					v[k] |= (bits >> k & 1) << (p + 1);
			}
			uint32_t signs = word[b.planes * words] >> shift, coded = whole ? 15 : word[(b.planes + 1) * words] >> shift;
#pragma unroll
			for (uint32_t k = 0; k < 4; k++) {
				if (k >= rows)
					break;
				if (v[k] != 0)
					v[k] |= (coded >> k & 1) != 0 ? 1u << last : 2u << last;
				int32_t value = (int32_t)(b.step == 0 ? v[k] >> 1 : v[k]);
				value = (signs >> k & 1) != 0 ? -value : value;
				if (b.step != 0)
					value = __builtin_bit_cast(int32_t, (float)value * step);
				to[(uint64_t)k * b.stride + x] = value;
			}
		}
	}
}
