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
constexpr uint32_t frame_seen = 0x777, frame_across = 0x252;

struct Frame {
	uint32_t low, high;

	// Which samples have any around that the mask of a column has, 7, or above or below, 5, where it is in the middle. Bits
	// 4c + k and 4c + k + 1 of the half that the frame is of hold.
	INLINE uint32_t any() const
	{
		uint32_t ends_low = low | funnel_right(low, high, 2), ends_high = high | high >> 2;
		uint32_t l = ends_low | funnel_right(low, high, 1), h = ends_high | high >> 1;
		return l | funnel_right(ends_low, ends_high, 4) | funnel_right(l, h, 8);
	}
};

// A word and those to its left and right.
struct Row {
	uint32_t left, own, right;

	INLINE void next(uint32_t v) { left = own, own = right, right = v; }

	INLINE Frame upper(const Row &above) const
	{
		constexpr uint32_t m = 0x11111111;
		return {(funnel_left(left, own, 5) & ~m) | (funnel_left(above.left, above.own, 1) & m), (funnel_left(own, right, 5) & ~m) | (funnel_left(above.own, above.right, 1) & m)};
	}

	INLINE Frame lower(const Row &below) const
	{
		constexpr uint32_t m = 0x22222222;
		return {(funnel_left(left, own, 5) & ~m) | (funnel_left(below.left, below.own, 9) & m), (funnel_left(own, right, 5) & ~m) | (funnel_left(below.own, below.right, 9) & m)};
	}
};

// The frames of a word, of significance or of signs.
struct Frames {
	Frame upper, lower;

	INLINE void make(const Row &own, const Row &above, const Row &below) { upper = own.upper(above), lower = own.lower(below); }

	INLINE uint32_t any() const { return (upper.any() & 0x33333333) | (lower.any() & 0xcccccccc); }

	// What sample i sees.
	INLINE uint32_t at(uint32_t i) const
	{
		bool first = (i & 2) == 0;
		return funnel_right(first ? upper.low : lower.low, first ? upper.high : lower.high, i);
	}

	// Samples of the word become significant, or negative: as make would have them.
	INLINE void add(uint32_t samples)
	{
		uint32_t low = samples << 5, high = samples >> 27;
		upper.low |= low & 0xeeeeeeee, upper.high |= high & 0xeeeeeeee;
		lower.low |= low & 0xdddddddd, lower.high |= high & 0xdddddddd;
	}
};

// What the threads of a block share. A state has the probability in the upper 17 bits, and in the lower ones where in following
// the state begins that follows on a more probable symbol, in bytes; that on a less probable one is behind it.
struct DecoderTables {
	uint32_t state[context_count][decode_threads];
	alignas(8) uint32_t following[state_count];
	uint32_t first[context_count];

	// Contexts, twice, and what a sign is flipped by: for zero coding by the orientation and what a sample sees, and for sign coding
	// by half of what it sees across of significance and by what it sees of signs.
	uint8_t contexts[0x2000 + 0x400];

	// All threads of the block call.
	INLINE void load(const Tables *tables)
	{
		for (uint32_t i = threadIdx.x; i < state_count; i += decode_threads)
			following[i] = state_of(tables->following[i]);
		for (uint32_t i = threadIdx.x; i < context_count; i += decode_threads)
			first[i] = state_of(tables->first[i]);
#pragma unroll 4
		for (uint32_t i = threadIdx.x; i < 0x2000; i += decode_threads) {
			uint32_t seen = (i & 1) | (i & 2) << 2 | (i & 4) << 4 | (i & 0x10) >> 3 | (i & 0x20) >> 1 | (i & 0x40) << 1 | (i & 0x100) >> 6 | (i & 0x200) >> 4 | (i & 0x400) >> 2;
			contexts[i] = (uint8_t)(tables->zero[(i >> 11) * 512 + seen] * 2);
		}
		for (uint32_t i = threadIdx.x; i < 0x400; i += decode_threads) {
			uint32_t f = 2 * i & frame_across, g = i & frame_across;
			contexts[0x2000 + i] = tables->sign[(f >> 4 & 1) << 1 | (f >> 1 & 1) << 3 | (f >> 9 & 1) << 5 | (f >> 6 & 1) << 7 | (g >> 4 & 1) | (g >> 1 & 1) << 2 | (g >> 9 & 1) << 4 | (g >> 6 & 1) << 6];
		}
		sync_block();
	}

	static constexpr uint32_t of_sign = 0x2000; // where contexts has those of sign coding

	INLINE static uint32_t state_of(uint32_t v) { return v >> 16 << 15 | (v & 255) << 3; }

	// Each thread calls for itself.
	INLINE void reset()
	{
		for (uint32_t i = 0; i < context_count; i++)
			state[i][threadIdx.x] = first[i];
	}
};

// The arithmetic decoder (C.3) of a thread, and the reader of raw segments (D.6). Both take bytes when package mq does: a byte behind
// 0xff may carry into what is there, and so it matters when. a and high are the registers of the standard with a bit above
// and 15 below; t bits of what follows are in these and in low.
struct ArithmeticDecoder {
	DecoderTables &s;
	const uint32_t *words;	  // of the stream, behind those that are here
	uint32_t word, following; // the first byte in the highest bits
	uint32_t next; // the word after them as it lies in memory, not looked at before it has come: threads wait for each other's
	uint32_t used; // bytes of word
	uint32_t size; // bytes that are not used yet
	uint32_t a, high, low;
	int32_t t;
	bool ff; // the byte used last was 0xff

	INLINE explicit ArithmeticDecoder(DecoderTables &s) : s(s) {}

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
		a = 0x40000000, high = 0, low = 0, t = -15;
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

	// BYTEIN (Figure C.19), of four bytes where none is 0xff. Behind a marker and the end of the segment are ones.
	INLINE void fill()
	{
		uint32_t four = ahead();
		if (!ff && size >= 4 && ((~four - 0x01010101) & four & 0x80808080) == 0) {
			high |= four >> (17 + t), low = four << (15 - t);
			t += 32;
			size -= 4;
			word = following;
			following = swap_bytes(next);
			next = *words++;
			return;
		}
		uint64_t c = (uint64_t)high << 32 | low;
		while (t < 32) {
			uint32_t byte = ahead() >> 24, bits = ff ? 7 : 8;
			if (size == 0 || (ff && byte > 0x8f)) {
				size = 0, ff = false;
				byte = 0xff, bits = 8;
			} else {
				ff = byte == 0xff;
				use(1);
			}
			c += (uint64_t)byte << (uint32_t)(47 - (int32_t)bits - t);
			t += (int32_t)bits;
		}
		high = (uint32_t)(c >> 32), low = (uint32_t)c;
	}

	// Where the state of a context is, of which c is twice the number, and a bit.
	INLINE uint32_t *state_of(uint32_t c) { return (uint32_t *)((uint8_t *)&s.state[0][threadIdx.x] + (c & ~1u) * (2 * decode_threads)); }

	// Decodes a decision in a context of state v, which it moves on (Figures C.15 to C.18).
	INLINE uint32_t decode(uint32_t &v)
	{
		uint32_t qe = v & 0xffff8000, mps = v >> 3 & 1;
		const uint32_t *next = (const uint32_t *)((const uint8_t *)s.following + (v & 0x7f8));
		uint32_t more = next[0], fewer = next[1];
		a -= qe;
		bool lower = high < qe, less = lower != (a < qe);
		high = lower ? high : high - qe;
		a = lower ? qe : a;
		uint32_t shift = (uint32_t)__builtin_clz(a) - 1;
		v = shift == 0 ? v : less ? fewer : more;
		a <<= shift;
		high = funnel_left(low, high, shift);
		low <<= shift;
		t -= (int32_t)shift;
		if (t < 0)
			fill();
		return mps ^ (less ? 1 : 0);
	}

	INLINE uint32_t decode(uint32_t *state)
	{
		uint32_t v = *state, bit = decode(v);
		*state = v;
		return bit;
	}

	INLINE void start_raw(const uint8_t *at, uint32_t n)
	{
		open(at, n);
		high = 0, t = 0;
	}

	INLINE uint32_t raw_bit()
	{
		if (t == 0) {
			t = 8;
			high = 0xff;
			if (size > 0) {
				t = ff ? 7 : 8;
				high = ahead() >> 24;
				ff = high == 0xff;
				use(1);
			}
		}
		return high >> --t & 1;
	}
};

// A word and what is above and below it.
struct Word {
	Samples own;
	uint32_t above, signs_above, below, signs_below;
};

// The decoder of a thread. Contexts depend on decisions that come shortly before, and a decision on its context's state: so where a
// decision has two possible contexts, both are looked up while the one before is decoded.
struct PassDecoder {
	const Passes &b;
	uint32_t words, across, stripes; // of a bit-plane; of a stripe; of a slice
	uint32_t orientation; // where in contexts the zero coding of the code-block begins
	ArithmeticDecoder m;

	uint32_t plane;
	bool last; // the coding pass is the last one
	uint32_t at, x, stripe; // the word

	Row seen, above, below;
	Row signs, signs_above, signs_below;
	Frames near, negative;
	Samples own;
	Word right, ahead; // the next word and the one behind it
	uint32_t ones;	   // bits of the bit-plane
	uint32_t rows;	   // samples of a word that the stripe has
	uint32_t valid;	   // samples of the word that are there

	INLINE PassDecoder(DecoderTables &s, const Passes &b) : b(b), m(s)
	{
		across = (b.width + 7) / 8, stripes = stripes_of(b.height);
		words = across * stripes * b.depth;
		orientation = (b.orientation & 3) << 11;
	}

	// Word j of the code-block, which is number i of the stripe; zeros behind its end.
	INLINE Word load(uint32_t j, uint32_t i) const
	{
		Word w = {{0, 0, 0, 0}, 0, 0, 0, 0};
		if (i >= across)
			return w;
		const Samples *from = (const Samples *)b.memory;
		w.own = from[j * warp_size];
		if (stripe > 0) {
			const Samples &up = from[(j - across) * warp_size];
			w.above = up.significant, w.signs_above = up.signs;
		}
		if (stripe + 1 < stripes && (b.style & style_causal) == 0) {
			const Samples &down = from[(j + across) * warp_size];
			w.below = down.significant, w.signs_below = down.signs;
		}
		return w;
	}

	INLINE void begin_stripe()
	{
		right = load(at, 0), ahead = load(at + 1, 1);
		seen = {0, 0, right.own.significant}, signs = {0, 0, right.own.signs};
		above = {0, 0, right.above}, signs_above = {0, 0, right.signs_above};
		below = {0, 0, right.below}, signs_below = {0, 0, right.signs_below};
		uint32_t left = b.height - 4 * stripe;
		rows = left >= 4 ? ~0u : every_column * ((1u << left) - 1);
	}

	// Goes on to the word that was on the right.
	INLINE void word()
	{
		own = right.own;
		right = ahead;
		seen.next(right.own.significant), signs.next(right.own.signs);
		above.next(right.above), signs_above.next(right.signs_above);
		below.next(right.below), signs_below.next(right.signs_below);
		ahead = load(at + 2, x + 2);
		near.make(seen, above, below);
		uint32_t columns = b.width - 8 * x;
		valid = columns >= 8 ? rows : rows & ((1u << 4 * columns) - 1);
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

	// The context of the zero coding of sample i.
	INLINE uint32_t zero_context(uint32_t i) const { return m.s.contexts[orientation + (near.at(i) & frame_seen)]; }

	// The context of the sign of sample i.
	INLINE uint32_t sign_context(uint32_t i) const
	{
		constexpr uint32_t both = frame_across | frame_across >> 1;
		return m.s.contexts[DecoderTables::of_sign + (((near.at(i) >> 1 & ~frame_across) | (negative.at(i) & frame_across)) & both)];
	}

	// The first of samples; 32: there are none.
	INLINE static uint32_t first_of(uint32_t samples) { return (uint32_t)__builtin_popcount(~samples & (samples - 1)); }

	INLINE void negate(uint32_t samples) { signs.own |= samples, negative.add(samples); }

	template <bool raw> INLINE void propagation()
	{
		uint32_t open = ~own.significant & valid, todo = near.any() & open, all = todo;
		ones = 0;
		if (todo == 0)
			return;
		negative.make(signs, signs_above, signs_below);
		uint32_t i = first_of(todo), flip = 0, *state = m.state_of(zero_context(i));
		bool more = true, sign = false; // the next decision is on a sign
		todo &= todo - 1;
		while (more) {
			uint32_t sign_entry = sign_context(i), sample = sign ? 1u << i : 0;
			// A sample is significant. Those behind it have it around.
			near.add(sample);
			seen.own |= sample, open &= ~sample;
			uint32_t behind = (((sample << 1 | sample << 5) & 0xeeeeeeee) | (sample << 3 & 0x77777770) | sample << 4) & open;
			todo |= behind, all |= behind;
			uint32_t next = first_of(todo), *next_state = m.state_of(zero_context(next)), *sign_state = m.state_of(sign_entry);
			uint32_t bit = raw ? m.raw_bit() : m.decode(state) ^ flip;
			negate(bit != 0 ? sample : 0);
			sign = !sign && bit != 0;
			flip = sign ? sign_entry & 1 : 0;
			state = sign ? sign_state : next_state;
			i = sign ? i : next;
			more = sign || todo != 0;
			todo = sign ? todo : todo & (todo - 1);
		}
		own.visited |= all;
		ones = seen.own & ~own.significant;
	}

	template <bool raw> INLINE void refinement()
	{
		uint32_t todo = own.significant & ~own.visited, second = own.refined, some = near.any();
		own.refined |= todo;
		own.visited |= todo;
		ones = 0;
		if (todo == 0)
			return;
		uint32_t v0 = *m.state_of(2 * context_refinement), v1 = *m.state_of(2 * context_refinement + 2), v2 = *m.state_of(2 * context_refinement + 4);
		while (todo != 0) {
			uint32_t i = first_of(todo), sample = todo & -todo;
			todo ^= sample;
			bool third = (second & sample) != 0, other = (some & sample) != 0;
			uint32_t v = third ? v2 : other ? v1 : v0;
			uint32_t bit = raw ? m.raw_bit() : m.decode(v);
			v2 = third ? v : v2, v1 = !third && other ? v : v1, v0 = third || other ? v0 : v;
			ones |= bit << i;
		}
		*m.state_of(2 * context_refinement) = v0, *m.state_of(2 * context_refinement + 2) = v1, *m.state_of(2 * context_refinement + 4) = v2;
	}

	INLINE void cleanup()
	{
		uint32_t todo = ~(own.significant | own.visited) & valid;
		uint32_t runs = todo & ~near.any(); // the first ones of columns of a run
		runs &= runs >> 1;
		runs &= runs >> 2 & every_column;
		own.visited = 0;
		ones = 0;
		if (todo == 0)
			return;
		negative.make(signs, signs_above, signs_below);
		uint32_t *run_state = m.state_of(2 * context_run), *place_state = m.state_of(2 * context_uniform);
		enum : uint32_t { of_sample, of_sign, of_run, of_place }; // what the next decision is on
		uint32_t i = first_of(todo), place = 0, flip = 0, what = (runs & todo & -todo) != 0 ? of_run : of_sample;
		uint32_t *state = what == of_run ? run_state : m.state_of(zero_context(i));
		bool more = true;
		todo &= todo - 1;
		while (more) {
			uint32_t sign_entry = sign_context(i), sample = what == of_sign ? 1u << i : 0;
			near.add(sample);
			seen.own |= sample;
			runs &= ~((what == of_sign ? 0x11u : 0) << (i & 28));
			uint32_t rest = what == of_run ? todo & ~(15u << i) : todo; // if no sample of a run becomes significant
			uint32_t next = first_of(rest), *next_state = m.state_of(zero_context(next)), *sign_state = m.state_of(sign_entry);
			bool next_run = (runs & rest & -rest) != 0;
			next_state = next_run ? run_state : next_state;
			uint32_t bit = m.decode(state) ^ flip;
			negate(bit != 0 ? sample : 0);
			flip = 0;
			if (what >= of_run && (what == of_place || bit != 0)) {
				// The place of the first sample that becomes significant takes two decisions.
				place = what == of_run ? 2 : place << 1 | bit; // a mark above the bits
				what = of_place;
				state = place_state;
				if (place >= 8) {
					place &= 3;
					todo &= ~(((2u << place) - 1) << i);
					i += place;
					what = of_sign;
					sign_entry = sign_context(i);
					state = m.state_of(sign_entry), flip = sign_entry & 1;
				}
			} else {
				bool sign = what == of_sample && bit != 0;
				what = sign ? of_sign : next_run ? of_run : of_sample;
				flip = sign ? sign_entry & 1 : 0;
				state = sign ? sign_state : next_state;
				i = sign ? i : next;
				more = sign || rest != 0;
				todo = sign ? todo : rest & (rest - 1);
			}
		}
		ones = seen.own & ~own.significant;
	}

	// Decodes a coding pass.
	template <uint32_t kind, bool raw> INLINE void pass()
	{
		at = 0;
		for (uint32_t slice = 0; slice < b.depth; slice++) {
			for (stripe = 0; stripe < stripes; stripe++) {
				begin_stripe();
				for (x = 0; x < across; x++, at++) {
					word();
					if (kind == kind_propagation)
						propagation<raw>();
					else if (kind == kind_refinement)
						refinement<raw>();
					else
						cleanup();
					write();
				}
			}
		}
	}
};

// Decodes code-blocks: the bits of their magnitudes to as many bit-planes of words, then their signs, then the samples that
// the passes of the last bit-plane have coded. These words are zeros before, as is the memory. The first lanes of a warp take a
// code-block each: the fewer, the less they wait for each other.
KERNEL __launch_bounds__(decode_threads, 9) jpeg2000_decode_passes(const Passes *__restrict__ blocks, const Tables *__restrict__ tables, uint32_t lanes, uint32_t count)
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
	bool raw = false;
	for (uint32_t pass = 0; pass < b.passes; pass++) {
		sync_warp(); // the threads that are still there go on together
		if (pass == end) {
			raw = is_raw(pass, b.style);
			if (raw)
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
			if (raw)
				d.pass<kind_propagation, true>();
			else
				d.pass<kind_propagation, false>();
			break;
		case kind_refinement:
			if (raw)
				d.pass<kind_refinement, true>();
			else
				d.pass<kind_refinement, false>();
			break;
		default:
			d.pass<kind_cleanup, false>();
			if ((b.style & style_mark) != 0) {
				for (uint32_t i = 0; i < 4; i++)
					d.m.decode(d.m.state_of(2 * context_uniform));
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
