// The High Throughput decoder, for code-blocks with a cleanup pass alone. The first kernel decodes patterns and u of all quads,
// which is serial: a thread takes a code-block. The second takes a warp for a code-block, and a lane for a quad of a row of
// quads: it frees the MagSgn stream of its gaps and reads magnitudes and signs at positions that are running sums.
#pragma once

#include "htblock.cuh"

// The bytes of MEL and VLC of a segment; 0: the segment is malformed.
DEVICE uint32_t suffix_of(const CodedBlock &b)
{
	if (b.length < 2)
		return 0;
	uint32_t suffix = (uint32_t)b.data[b.length - 1] << 4 | (b.data[b.length - 2] & 15);
	return suffix < 2 || suffix > b.length || suffix > max_suffix ? 0 : suffix;
}

// Reads the VLC stream. It runs from high addresses to low ones, and so do the words that it is read by.
struct VLCReader {
	const uint32_t *words; // the next one
	uint32_t word, following, next;
	uint32_t used;	// bytes of word
	uint32_t left;	// bytes that are not read
	uint32_t last, count;
	uint64_t bits;

	__device__ VLCReader(const uint8_t *suffix, uint32_t n) : left(n - 2)
	{
		last = suffix[left] | 15;
		count = (last >> 4 & 7) == 7 ? 3 : 4;
		bits = low_bits(last >> 4, count);
		uint64_t first = (uint64_t)(suffix + left) - 1;
		words = (const uint32_t *)(first & ~3ull);
		used = 3 - (uint32_t)(first & 3);
		word = words[0], following = words[-1], next = words[-2];
		words -= 3;
	}

	// The next four bytes, the first in the highest bits.
	__device__ uint32_t ahead() const { return funnel_left(following, word, 8 * used); }

	__device__ void use(uint32_t n)
	{
		left -= n, used += n;
		if (used >= 4) {
			used -= 4;
			word = following;
			following = next;
			next = *words--;
		}
	}

	// At least 33 bits; zeros behind the end.
	__device__ uint64_t fill()
	{
		if (count > 32)
			return bits;
		uint32_t v = ahead(), full = (v & 0x7f7f7f7f) ^ 0x7f7f7f7f; // a byte that may have 7 bits is 0
		if (left >= 4 && ((full - 0x01010101) & ~full & 0x80808080) == 0) {
			bits |= (uint64_t)swap_bytes(v) << count;
			count += 32;
			last = v & 255;
			use(4);
			return bits;
		}
		while (count <= 32) {
			if (left == 0) {
				count = 64;
				break;
			}
			uint32_t byte = ahead() >> 24, n = last > 0x8f && (byte & 0x7f) == 0x7f ? 7 : 8;
			bits |= (uint64_t)low_bits(byte, n) << count;
			count += n;
			last = byte;
			use(1);
		}
		return bits;
	}

	__device__ void skip(uint32_t n)
	{
		bits >>= n;
		count -= n;
	}
};

// Reads the events of the MEL stream.
struct MELReader {
	const uint8_t *data;
	uint32_t at, n, byte, count, state, zeros;
	bool one;

	__device__ MELReader(const uint8_t *suffix, uint32_t n) : data(suffix), at(0), n(n), byte(0), count(0), state(0), zeros(0), one(false) {}

	__device__ uint32_t bit()
	{
		if (count == 0) {
			count = byte == 0xff ? 7 : 8;
			// The bits of Scup count as ones, as what comes behind does.
			byte = at + 1 >= n ? 0xff : at + 2 == n ? data[at] | 15u : data[at];
			at += at < n ? 1 : 0;
		}
		count--;
		return byte >> count & 1;
	}

	__device__ bool event()
	{
		if (zeros == 0 && !one) {
			uint32_t e = mel_exponent(state);
			if (bit() == 1) {
				zeros = 1u << e;
				state += state < mel_states - 1 ? 1 : 0;
			} else {
				for (; e > 0; e--)
					zeros = zeros << 1 | bit();
				one = true;
				state -= state > 0 ? 1 : 0;
			}
		}
		if (zeros > 0) {
			zeros--;
			return false;
		}
		one = false;
		return true;
	}
};

// The code of a u: the length of its prefix and of its suffix, and what the suffix is added to.
struct UCode {
	uint32_t prefix, suffix, base;

	__device__ explicit UCode(uint32_t next)
	{
		if ((next & 1) != 0)
			prefix = 1, suffix = 0, base = 1;
		else if ((next & 2) != 0)
			prefix = 2, suffix = 0, base = 2;
		else if ((next & 4) != 0)
			prefix = 3, suffix = 1, base = 3;
		else
			prefix = 3, suffix = 5, base = 5;
	}
};

// Decodes u of a pair of quads; has0 and has1 say for which of them it is coded.
DEVICE void read_pair(VLCReader &vlc, MELReader &mel, bool has0, bool has1, bool first_row, uint32_t &u0, uint32_t &u1)
{
	u0 = u1 = 0;
	uint32_t suffix0 = 0, suffix1 = 0, more = 0;
	bool both = first_row && has0 && has1;
	if (both && mel.event())
		more = 2;
	uint64_t bits = vlc.fill();
	uint32_t used = 0;
	if (has0) {
		UCode c((uint32_t)bits);
		used = c.prefix, suffix0 = c.suffix, u0 = c.base;
	}
	if (has1) {
		uint32_t next = (uint32_t)(bits >> used);
		if (both && more == 0 && u0 > 2) {
			u1 = (next & 1) + 1;
			used++;
		} else {
			UCode c(next);
			used += c.prefix, suffix1 = c.suffix, u1 = c.base;
		}
	}
	uint32_t s0 = low_bits((uint32_t)(bits >> used), suffix0);
	used += suffix0;
	uint32_t s1 = low_bits((uint32_t)(bits >> used), suffix1);
	used += suffix1;
	u0 += s0, u1 += s1;
	if (s0 >= extended_u) {
		u0 += ((uint32_t)(bits >> used) & 15) << 2;
		used += 4;
	}
	if (s1 >= extended_u) {
		u1 += ((uint32_t)(bits >> used) & 15) << 2;
		used += 4;
	}
	u0 += more, u1 += more;
	vlc.skip(used);
}

// A quad's word: rho, e_k, e_1 and from bit 16 on u.
DEVICE uint32_t quad_word(uint32_t t, uint32_t u) { return (t >> 4 & 15) | t >> 12 << 4 | (t >> 8 & 15) << 8 | u << 16; }

// Shared memory of a block of threads.
struct QuadMemory {
	uint16_t codes[2 * 1024];
	uint8_t above[max_side / 4][quad_blocks]; // the patterns of a pair of quads of the row above, by code-block
};

// Decodes the words of all quads of code-blocks. codes is vlcDecode of Go, 2 x 1024 entries. A malformed segment sets what
// its code-block's failed points to. Of a warp quad_lanes threads take a code-block each: the more do, the longer each of
// them waits for the others.
KERNEL __launch_bounds__(quad_threads) jpeg2000_ht_quads(const CodedBlock *__restrict__ blocks, const uint16_t *__restrict__ codes, uint32_t count)
{
	__shared__ QuadMemory s;
	for (uint32_t i = threadIdx.x; i < 2 * 1024; i += quad_threads)
		s.codes[i] = codes[i];
	sync_block();
	uint32_t own = warp() * quad_lanes + lane(), index = blockIdx.x * quad_blocks + own;
	if (lane() >= quad_lanes || index >= count)
		return;
	const CodedBlock b = blocks[index];
	if (b.length == 0)
		return;
	uint32_t suffix = suffix_of(b);
	if (suffix == 0) {
		*b.failed = 1;
		return;
	}
	VLCReader vlc(b.data + b.length - suffix, suffix);
	MELReader mel(b.data + b.length - suffix, suffix);
	uint32_t columns = (b.width + 1) / 2, rows = (b.height + 1) / 2, pairs = (columns + 1) / 2;
	uint32_t *out = b.quads;
	for (uint32_t row = 0; row < rows; row++) {
		const uint16_t *table = s.codes + (row == 0 ? 0 : 1024);
		// The patterns of the quads above: bits 0 to 3 to the left of the pair, 4 to 11 above it, 12 to 15 to the right.
		uint32_t left = 0, above = (uint32_t)s.above[0][own] << 12;
		for (uint32_t p = 0; p < pairs; p++) {
			above = above >> 8 | (p + 1 < pairs ? (uint32_t)s.above[p + 1][own] << 12 : 0);
			bool two = 2 * p + 1 < columns;
			uint64_t bits = vlc.fill();
			uint32_t context = row == 0 ? left >> 1 | (left & 1) : ((above >> 3 | above >> 5) & 1) | ((left >> 2 | left >> 3) & 1) << 1 | ((above >> 7 | above >> 9) & 1) << 2;
			uint32_t t0 = table[context << 7 | ((uint32_t)bits & 127)], t1 = 0;
			if (context == 0 && !mel.event())
				t0 = 0;
			uint32_t used = t0 & 7;
			left = t0 >> 4 & 15;
			if (two) {
				context = row == 0 ? left >> 1 | (left & 1) : ((above >> 7 | above >> 9) & 1) | ((left >> 2 | left >> 3) & 1) << 1 | ((above >> 11 | above >> 13) & 1) << 2;
				t1 = table[context << 7 | ((uint32_t)(bits >> used) & 127)];
				if (context == 0 && !mel.event())
					t1 = 0;
				used += t1 & 7;
				left = t1 >> 4 & 15;
			}
			s.above[p][own] = (uint8_t)((t0 >> 4 & 15) | (t1 >> 4 & 15) << 4);
			vlc.skip(used);
			uint32_t u0 = 0, u1 = 0;
			if (((t0 | t1) & 8) != 0)
				read_pair(vlc, mel, (t0 & 8) != 0, (t1 & 8) != 0, row == 0, u0, u1);
			out[2 * p] = quad_word(t0, u0);
			if (two)
				out[2 * p + 1] = quad_word(t1, u1);
		}
		out += columns;
	}
}

// Shared memory of a warp.
struct DecoderMemory {
	uint32_t window[32 + 2];
	uint32_t lower[2][max_side + 4]; // v|1 of the lower samples of a row, from 1 on, by turns
};

// Writes the MagSgn stream to words without its gaps and returns the number of words. All lanes call and hold the result.
DEVICE uint32_t unstuff_magsgn(const uint8_t *data, uint32_t n, uint32_t *words, uint32_t most, uint32_t *window)
{
	for (uint32_t i = lane(); i < 34; i += warp_size)
		window[i] = 0;
	sync_warp();
	uint32_t written = 0, wait = 0, last = 0;
	for (uint32_t from = 0; from < n && written < most; from += 4 * warp_size) {
		uint32_t own = from + 4 * lane(), v = 0, count = 0, raw = 0;
#pragma unroll
		for (uint32_t i = 0; i < 4; i++)
			raw |= own + i < n ? (uint32_t)data[own + i] << (8 * i) : 0;
		uint32_t before = shuffle_up(raw >> 24, 1);
		if (lane() == 0)
			before = last;
		last = broadcast(raw >> 24, warp_size - 1);
#pragma unroll
		for (uint32_t i = 0; i < 4; i++) {
			uint32_t byte = raw >> (8 * i) & 255, bits = own + i >= n ? 0 : before == 0xff ? 7 : 8;
			v |= low_bits(byte, bits) << count;
			count += bits;
			before = byte;
		}
		uint32_t sum = warp_running_sum(count), all = wait + broadcast(sum, warp_size - 1), complete = all / 32;
		or_bits(window, wait + sum - count, v, count);
		sync_warp();
		uint32_t rest = window[complete], word = window[lane()];
		if (lane() < complete && written + lane() < most)
			words[written + lane()] = word;
		sync_warp();
		for (uint32_t i = lane(); i < 34; i += warp_size)
			window[i] = i == 0 ? rest : 0;
		sync_warp();
		written += complete;
		wait = all % 32;
	}
	if (written < most) {
		if (lane() == 0)
			words[written] = window[0] | ~0u << wait;
		written++;
	}
	sync_warp();
	return least(written, most);
}

// 32 bits of n words from bit position at on; behind them are ones.
DEVICE uint32_t read_or_ones(const uint32_t *words, uint32_t n, uint32_t at)
{
	uint32_t i = at / 32;
	return funnel_right(i < n ? words[i] : ~0u, i + 1 < n ? words[i + 1] : ~0u, at % 32);
}

// Decodes the coefficients of code-blocks, of which jpeg2000_ht_quads has decoded the quads: quantizer indices, those of
// which bit-planes are missing in the middle of what they may be. A code-block without a segment is zeros.
KERNEL __launch_bounds__(32 * block_warps) jpeg2000_ht_samples(const CodedBlock *__restrict__ blocks, uint32_t count)
{
	__shared__ DecoderMemory s_memory[block_warps];
	DecoderMemory &s = s_memory[warp()];
	uint32_t index = blockIdx.x * block_warps + warp();
	if (index >= count)
		return;
	const CodedBlock b = blocks[index];
	uint32_t suffix = suffix_of(b);
	if (suffix == 0) {
		for (uint32_t y = 0; y < b.height; y++)
			for (uint32_t x = lane(); x < b.width; x += warp_size)
				b.coefficients[(uint64_t)y * b.stride + x] = 0;
		return;
	}
	for (uint32_t i = lane(); i < max_side + 4; i += warp_size)
		s.lower[0][i] = s.lower[1][i] = 0;
	uint32_t words = unstuff_magsgn(b.data, b.length - suffix, b.magsgn, b.words, s.window);
	uint32_t columns = (b.width + 1) / 2, rows = (b.height + 1) / 2, at = 0;
	int32_t half = (int32_t)((1u << b.plane) >> 1);
	for (uint32_t row = 0; row < rows; row++) {
		const uint32_t *above = s.lower[(row + 1) % 2];
		uint32_t *lower = s.lower[row % 2];
		for (uint32_t from = 0; from < columns; from += warp_size) {
			uint32_t q = from + lane();
			bool there = q < columns;
			uint32_t word = there ? b.quads[(uint64_t)row * columns + q] : 0, rho = word & 15, bound = 0;
			if (there)
				bound = (word >> 16) + predicted(rho, above[2 * q] | above[2 * q + 1] | above[2 * q + 2] | above[2 * q + 3]);
			if (ballot(bound > b.limit) != 0) {
				if (lane() == 0)
					*b.failed = 1;
				return;
			}
			uint32_t m[4], all = 0;
#pragma unroll
			for (uint32_t i = 0; i < 4; i++) {
				m[i] = (rho >> i & 1) != 0 ? bound - (word >> (4 + i) & 1) : 0;
				all += m[i];
			}
			uint32_t sum = warp_running_sum(all), own = at + sum - all;
			at += broadcast(sum, warp_size - 1);
			int32_t value[4];
			uint32_t known[4];
#pragma unroll
			for (uint32_t i = 0; i < 4; i++) {
				value[i] = 0, known[i] = 0;
				if ((rho >> i & 1) == 0)
					continue;
				uint32_t v = low_bits(read_or_ones(b.magsgn, words, own), m[i]) | (word >> (8 + i) & 1) << m[i];
				own += m[i];
				known[i] = v | 1;
				value[i] = (int32_t)(((v >> 1) + 1) << b.plane) + half;
				if ((v & 1) != 0)
					value[i] = -value[i];
			}
			if (!there)
				continue;
			lower[2 * q + 1] = known[1], lower[2 * q + 2] = known[3];
			int32_t *to = b.coefficients + (uint64_t)(2 * row) * b.stride + 2 * q;
			bool right = 2 * q + 1 < b.width, below = 2 * row + 1 < b.height;
			to[0] = value[0];
			if (right)
				to[1] = value[2];
			if (below)
				to[b.stride] = value[1];
			if (right && below)
				to[b.stride + 1] = value[3];
		}
		sync_warp();
	}
}
