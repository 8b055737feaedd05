// The High Throughput encoder: a cleanup pass at bit-plane 0 for each code-block. A warp takes a code-block and a lane a quad,
// 32 quads at a time in their order: a quad's context and prediction follow from the coefficients alone, so that only the
// positions of bits, by running sums, tie quads together.
//
// The slot of a code-block receives the segment and behind it, while the kernel runs, the MagSgn stream without its gaps and
// the VLC stream with them:
//
//	0          capacity                      2 capacity
//	| segment  | MagSgn, then VLC            |
#pragma once

#include "htblock.cuh"

// Shared memory of a warp. The sizes are words of 32 bits, with one more for reading and writing across their end.
struct EncoderMemory {
	uint32_t magsgn[32 * 4 + 2];	  // of 32 quads, and bits that wait
	uint32_t vlc[max_quads * 16 / 32 + 2]; // of the code-block; a quad has 15 bits at most
	uint32_t events[max_quads * 3 / 2 / 32 + 2];
	uint32_t mel[max_quads / 4 / 4 + 16];
};

// The quad of a lane.
struct EncoderQuad {
	uint32_t rho, eps, bound, extra; // U and u
	uint32_t v[4];
	uint32_t above[4]; // v|1 of the samples above, or 0
};

// v of a coefficient that is not 0.
DEVICE uint32_t v_of(int32_t c) { return c < 0 ? 2 * (0u - (uint32_t)c - 1) + 1 : 2 * ((uint32_t)c - 1); }

DEVICE int32_t coefficient(const Block &b, int32_t x, int32_t y)
{
	return x >= 0 && x < (int32_t)b.width && y < (int32_t)b.height ? b.coefficients[(uint64_t)(uint32_t)y * b.stride + (uint32_t)x] : 0;
}

// Reads quad q of row; one that is not there has only zeros.
DEVICE EncoderQuad read_quad(const Block &b, uint32_t row, uint32_t q)
{
	EncoderQuad quad = {};
	int32_t x = 2 * (int32_t)q, y = 2 * (int32_t)row;
	uint32_t greatest = 0, known[4];
#pragma unroll
	for (uint32_t i = 0; i < 4; i++) {
		int32_t c = coefficient(b, x + (int32_t)(i >> 1), y + (int32_t)(i & 1));
		quad.v[i] = c == 0 ? 0 : v_of(c);
		known[i] = c == 0 ? 0 : quad.v[i] | 1;
		quad.rho |= c == 0 ? 0 : 1u << i;
		greatest |= known[i];
	}
	uint32_t above = 0;
#pragma unroll
	for (uint32_t i = 0; i < 4; i++) {
		int32_t c = y == 0 ? 0 : coefficient(b, x - 1 + (int32_t)i, y - 1);
		quad.above[i] = c == 0 ? 0 : v_of(c) | 1;
		above |= quad.above[i];
	}
	uint32_t length = bit_length(greatest), kappa = predicted(quad.rho, above);
	quad.bound = length > kappa ? length : kappa;
	quad.extra = quad.bound - kappa;
	if (quad.extra > 0) {
#pragma unroll
		for (uint32_t i = 0; i < 4; i++)
			quad.eps |= bit_length(known[i]) == length ? 1u << i : 0;
	}
	return quad;
}

// The context of a quad, given the pattern of the quad to the left.
DEVICE uint32_t context_of(const EncoderQuad &quad, uint32_t row, uint32_t left)
{
	if (row == 0)
		return left >> 1 | (left & 1);
	return ((quad.above[0] | quad.above[1]) != 0 ? 1u : 0) | ((left >> 2 | left >> 3) & 1) << 1 | ((quad.above[2] | quad.above[3]) != 0 ? 4u : 0);
}

// Bits with their number.
struct Bits {
	uint32_t bits, count;

	__device__ void add(uint32_t v, uint32_t n)
	{
		bits |= v << count;
		count += n;
	}
};

DEVICE void add_prefix(Bits &b, uint32_t u)
{
	if (u != 0)
		b.add(u == 1 ? 1 : u == 2 ? 2 : u <= 4 ? 4 : 0, u < 3 ? u : 3);
}

DEVICE void add_suffix(Bits &b, uint32_t u)
{
	if (u > 2)
		b.add(u <= 4 ? u - 3 : u - 5, u <= 4 ? 1 : 5);
}

// Codes the u of a pair, u0 and u1, of the first row or another; large is whether both are coded less 2.
DEVICE void add_pair(Bits &b, uint32_t u0, uint32_t u1, bool first, bool large)
{
	if (large)
		u0 -= 2, u1 -= 2;
	bool one_bit = first && !large && u0 > 2 && u1 > 0;
	add_prefix(b, u0);
	if (one_bit)
		b.add(u1 - 1, 1);
	else
		add_prefix(b, u1);
	add_suffix(b, u0);
	if (!one_bit)
		add_suffix(b, u1);
}

// Writes the complete words of the window of the MagSgn stream to words, which has room for most, and moves the window on.
// All lanes of the warp call and hold the same numbers.
DEVICE void flush_window(uint32_t *window, uint32_t *words, uint32_t most, uint32_t &written, uint32_t &wait, uint32_t added)
{
	uint32_t all = wait + added, complete = all / 32;
	sync_warp();
	uint32_t rest = window[complete];
	for (uint32_t i = lane(); i < complete; i += warp_size) {
		if (written + i < most)
			words[written + i] = window[i];
	}
	sync_warp();
	for (uint32_t i = lane(); i < complete + 2; i += warp_size)
		window[i] = 0;
	sync_warp();
	if (lane() == 0)
		window[0] = rest;
	sync_warp();
	written += complete;
	wait = all % 32;
}

// Codes the events of MEL. One lane calls; the result is the number of complete bytes, and byte and free are what the last
// byte holds and the number of its bits that are free.
DEVICE uint32_t code_events(const uint32_t *events, uint32_t count, uint8_t *out, uint32_t &byte, uint32_t &free)
{
	uint32_t n = 0, state = 0, run = 0;
	byte = 0, free = 8;
	auto bit = [&](uint32_t v) {
		byte = byte << 1 | v;
		if (--free == 0) {
			out[n++] = (uint8_t)byte;
			free = byte == 0xff ? 7 : 8;
			byte = 0;
		}
	};
	for (uint32_t at = 0; at < count;) {
		// Events 0 up to the next 1, at most those of this word.
		uint32_t word = events[at / 32] >> (at % 32), zeros = word == 0 ? 32 - at % 32 : (uint32_t)__builtin_ctz(word);
		zeros = least(zeros, count - at);
		at += zeros;
		run += zeros;
		for (uint32_t e = mel_exponent(state); run >= 1u << e; e = mel_exponent(state)) {
			bit(1);
			run -= 1u << e;
			state += state < mel_states - 1 ? 1 : 0;
		}
		if (word == 0 || at == count)
			continue;
		bit(0);
		for (uint32_t e = mel_exponent(state); e > 0; e--)
			bit(run >> (e - 1) & 1);
		run = 0;
		state -= state > 0 ? 1 : 0;
		at++;
	}
	if (run > 0)
		bit(1);
	return n;
}

// Writes the MagSgn stream, total bits of words followed by ones, with its gaps. All lanes call and hold the result, the
// number of bytes.
DEVICE uint32_t stuff_magsgn(const uint32_t *words, uint32_t total, uint8_t *out, uint32_t most)
{
	uint32_t n = 0;
	bool ones = false; // the byte before is 0xff
	for (uint32_t at = 0; at < total;) {
		if (ones) {
			if (lane() == 0 && n < most)
				out[n] = (uint8_t)(read_bits(words, at) & 0x7f);
			n++;
			at += 7;
			ones = false;
			continue;
		}
		uint32_t own = at + 32 * lane(), v = own < total + 32 ? read_bits(words, own) : 0;
		// Bytes of ones: those of their complement that are 0.
		uint32_t hit = (~v - 0x01010101u) & v & 0x80808080u;
		uint32_t hits = ballot(hit != 0), bytes = (total - at + 7) / 8;
		bytes = least(bytes, 4 * warp_size);
		if (hits != 0) {
			uint32_t where = (uint32_t)__builtin_ctz(hits);
			uint32_t end = 4 * where + broadcast((uint32_t)__builtin_ctz(hit | 0x80000000u) / 8, where) + 1;
			ones = end <= bytes;
			bytes = least(bytes, end);
		}
#pragma unroll
		for (uint32_t i = 0; i < 4; i++) {
			if (4 * lane() + i < bytes && n + 4 * lane() + i < most)
				out[n + 4 * lane() + i] = (uint8_t)(v >> (8 * i));
		}
		n += bytes;
		at += 8 * bytes;
	}
	return n - (ones ? 1 : 0); // a last byte of ones goes without saying
}

// Writes the complete bytes of the VLC stream, total bits of words, with its gaps, as stuffVLC in Go does. All lanes call
// and hold the results: the number of bytes, and the last byte's bits and their number.
DEVICE uint32_t stuff_vlc(const uint32_t *words, uint32_t total, uint8_t *out, uint32_t most, uint32_t &rest, uint32_t &used)
{
	// The byte that ends Scup, and the one whose lower half does and counts as ones.
	uint32_t n = 1, at = 0, first = low_bits(words[0], least(total, 4));
	if (lane() == 0)
		out[0] = 0xff;
	if (total < 3 || (total == 3 && (first & 7) != 7)) {
		rest = 15 | first << 4;
		used = 4 + total;
		return n;
	}
	uint32_t last;
	if ((first & 7) == 7) {
		last = 0x7f;
		at = 3;
	} else {
		last = 15 | first << 4;
		at = 4;
	}
	if (lane() == 0)
		out[1] = (uint8_t)last;
	n = 2;
	for (;;) {
		uint32_t own = at + 32 * lane(), v = own < total + 32 ? read_bits(words, own) : 0;
		uint32_t before = shuffle_up(v >> 24, 1);
		if (lane() == 0)
			before = last;
		// Bytes of seven ones or eight behind a byte above 0x8f.
		uint32_t hit = 4, previous = before;
#pragma unroll
		for (uint32_t i = 0; i < 4; i++) {
			uint32_t byte = v >> (8 * i) & 255;
			if (hit == 4 && previous > 0x8f && (byte & 0x7f) == 0x7f && own + 8 * i + 7 <= total)
				hit = i;
			previous = byte;
		}
		uint32_t hits = ballot(hit < 4), bytes = least((total - at) / 8, 4 * warp_size);
		bool gap = false;
		if (hits != 0) {
			uint32_t where = (uint32_t)__builtin_ctz(hits), end = 4 * where + broadcast(hit, where);
			gap = end <= bytes;
			bytes = least(bytes, end);
		}
#pragma unroll
		for (uint32_t i = 0; i < 4; i++) {
			if (4 * lane() + i < bytes && n + 4 * lane() + i < most)
				out[n + 4 * lane() + i] = (uint8_t)(v >> (8 * i));
		}
		if (bytes > 0) {
			uint32_t from = (bytes - 1) / 4;
			last = broadcast(v, from) >> (8 * ((bytes - 1) % 4)) & 255;
		}
		n += bytes;
		at += 8 * bytes;
		if (gap) {
			if (lane() == 0 && n < most)
				out[n] = 0x7f;
			n++;
			at += 7;
			last = 0x7f;
			continue;
		}
		if (total - at < 8) {
			used = total - at;
			rest = low_bits(read_bits(words, at), used);
			if (used == 7 && last > 0x8f && rest == 0x7f) {
				if (lane() == 0 && n < most)
					out[n] = 0x7f;
				n++;
				used = 0;
				rest = 0;
			}
			return n;
		}
	}
}

// Encodes code-blocks. codes is vlcEncode of Go, 2 x 2048 entries; lengths receives the bytes of each segment, 0 for a
// code-block of zeros, and bit_planes the bits of its greatest magnitude.
KERNEL __launch_bounds__(32 * block_warps) jpeg2000_ht_encode(const Block *__restrict__ blocks, const uint16_t *__restrict__ codes, uint32_t *lengths, uint32_t *bit_planes, uint32_t count)
{
	__shared__ EncoderMemory s_memory[block_warps];
	EncoderMemory &s = s_memory[warp()];
	uint32_t index = blockIdx.x * block_warps + warp();
	if (index >= count)
		return;
	const Block b = blocks[index];
	for (uint32_t i = lane(); i < sizeof(s.magsgn) / 4; i += warp_size)
		s.magsgn[i] = 0;
	for (uint32_t i = lane(); i < sizeof(s.vlc) / 4; i += warp_size)
		s.vlc[i] = 0;
	for (uint32_t i = lane(); i < sizeof(s.events) / 4; i += warp_size)
		s.events[i] = 0;
	sync_warp();
	uint32_t *work = (uint32_t *)(b.slot + b.capacity);
	uint32_t work_words = b.capacity / 4;

	// Rows of quads are filled up to whole pairs.
	uint32_t columns = (b.width + 1) / 2, pitch = (columns + 1) & ~1u, quads = pitch * ((b.height + 1) / 2);
	uint32_t written = 0, wait = 0, vlc = 0, events = 0, left = 0, greatest = 0;
	for (uint32_t from = 0; from < quads; from += warp_size) {
		uint32_t i = from + lane(), row = i / pitch, q = i % pitch;
		bool there = i < quads && q < columns;
		EncoderQuad quad = {};
		if (there)
			quad = read_quad(b, row, q);
		uint32_t before = shuffle_up(quad.rho, 1);
		if (lane() == 0)
			before = left;
		left = broadcast(quad.rho, warp_size - 1);
		uint32_t context = context_of(quad, row, q == 0 ? 0 : before);
		uint32_t code = there ? codes[(row == 0 ? 0 : 2048) + (context << 8 | quad.rho << 4 | quad.eps)] : 0;

		// The even lane of a pair writes for both.
		uint32_t next_code = shuffle_down(code, 1), next_extra = shuffle_down(there ? quad.extra : 0, 1);
		uint32_t event = there && context == 0 ? 2 | (quad.rho != 0 ? 1u : 0) : 0, next_event = shuffle_down(event, 1);
		Bits word = {}, pair_events = {};
		if (there && lane() % 2 == 0) {
			uint32_t u0 = quad.extra, u1 = next_extra;
			bool large = false;
			if (event != 0)
				pair_events.add(event & 1, 1);
			if (next_event != 0)
				pair_events.add(next_event & 1, 1);
			if (row == 0 && u0 > 0 && u1 > 0) {
				large = u0 > 2 && u1 > 2;
				pair_events.add(large ? 1 : 0, 1);
			}
			word.add(code >> 4 & 127, code & 7);
			word.add(next_code >> 4 & 127, next_code & 7);
			add_pair(word, u0, u1, row == 0, large);
		}
		uint32_t m[4], all = 0;
#pragma unroll
		for (uint32_t k = 0; k < 4; k++) {
			m[k] = (quad.rho >> k & 1) != 0 ? quad.bound - (code >> (12 + k) & 1) : 0;
			all += m[k];
			uint32_t magnitude = (quad.rho >> k & 1) != 0 ? (quad.v[k] >> 1) + 1 : 0;
			greatest = magnitude > greatest ? magnitude : greatest;
		}

		// Bits of MagSgn are at most 4,096, those of VLC 480 and events 48: all three sums fit a word.
		uint32_t own = all | word.count << 13 | pair_events.count << 23, sum = warp_running_sum(own);
		uint32_t total = broadcast(sum, warp_size - 1);
		sum -= own;
		or_bits(s.vlc, vlc + (sum >> 13 & 1023), word.bits, word.count);
		or_bits(s.events, events + (sum >> 23), pair_events.bits, pair_events.count);
		uint32_t at = wait + (sum & 8191);
#pragma unroll
		for (uint32_t k = 0; k < 4; k++) {
			or_bits(s.magsgn, at, quad.v[k], m[k]);
			at += m[k];
		}
		vlc += total >> 13 & 1023;
		events += total >> 23;
		flush_window(s.magsgn, work, work_words, written, wait, total & 8191);
	}
	greatest = ~broadcast(warp_least(~greatest), 0);
	if (lane() == 0)
		bit_planes[index] = bit_length(greatest);
	if (greatest == 0) {
		if (lane() == 0)
			lengths[index] = 0;
		return;
	}

	// The MagSgn stream ends with ones, as many as reading beyond it takes.
	uint32_t bits = 32 * written + wait;
	if (lane() == 0 && written < work_words)
		work[written] = s.magsgn[0] | ~0u << wait;
	if (lane() > 0 && lane() < 3 && written + lane() < work_words)
		work[written + lane()] = ~0u;
	sync_warp();
	uint32_t n = stuff_magsgn(work, bits, b.slot, b.capacity);

	uint32_t mel_bytes = 0, mel_byte = 0, mel_free = 0;
	if (lane() == 0)
		mel_bytes = code_events(s.events, events, (uint8_t *)s.mel, mel_byte, mel_free);
	mel_bytes = broadcast(mel_bytes, 0), mel_byte = broadcast(mel_byte, 0), mel_free = broadcast(mel_free, 0);
	sync_warp();
	for (uint32_t i = lane(); i < mel_bytes; i += warp_size) {
		if (n + i < b.capacity)
			b.slot[n + i] = ((const uint8_t *)s.mel)[i];
	}
	n += mel_bytes;

	// VLC goes behind what MagSgn needed of the slot's second half.
	uint8_t *stuffed = (uint8_t *)work;
	uint32_t last, used, length = stuff_vlc(s.vlc, vlc, stuffed, b.capacity, last, used);
	uint32_t suffix = mel_bytes, mel = mel_byte << mel_free & 255, mel_mask = 0xffu << mel_free & 255, vlc_mask = 0xffu >> (8 - used);
	uint32_t fused = mel | last;
	bool agree = (((fused ^ mel) & mel_mask) | ((fused ^ last) & vlc_mask)) == 0;
	sync_warp();
	if ((mel_mask | vlc_mask) != 0) {
		if (agree && fused != 0xff && length > 1) {
			if (lane() == 0 && n < b.capacity)
				b.slot[n] = (uint8_t)fused;
			n++;
			suffix++;
		} else {
			if (mel_mask != 0) {
				if (lane() == 0 && n < b.capacity)
					b.slot[n] = (uint8_t)mel;
				n++;
				suffix++;
			}
			if (lane() == 0 && length < b.capacity)
				stuffed[length] = (uint8_t)last;
			length++;
		}
	}
	sync_warp();
	suffix += length;
	for (uint32_t i = lane(); i < length; i += warp_size) {
		uint32_t byte = stuffed[length - 1 - i];
		if (i == length - 1)
			byte = suffix >> 4;
		else if (i == length - 2)
			byte = (byte & 0xf0) | (suffix & 15);
		if (n + i < b.capacity)
			b.slot[n + i] = (uint8_t)byte;
	}
	if (lane() == 0)
		lengths[index] = n + length;
}
