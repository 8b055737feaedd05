// The kernels sha256, picture_frame and picture_crc.
//
// sha256 takes whole blocks of the messages of a batch into their states (FIPS 180-4, 6.2.2).
//
// Each block of a message needs the state that the one before leaves, so a message is no more than two threads: one prepares the
// words of the next block, while the other does the rounds of the last one. Lane i of both warps of a block of threads has the same
// message; more blocks of threads have others.
//
//	states:  copy 0  message 0: 8 words, message 1: 8 words, ...
//	         copy 1  message 0: 8 words, message 1: 8 words, ...
//
// Every message is done twice, by threads that share nothing but what they read: blockIdx.y is the copy. The host compares
// the two.
//
// A picture that lies in the memory of the device is a message there, framed by what the host knows:
//
//   head_bytes    bytes            to the end of a block
//   frame's head  of the samples   rest of the frame: padding (5.1.1)
//
// picture_frame writes the frames around the samples, and picture_crc makes checksums of the samples.

#include "shared.cuh"

constexpr uint32_t block_words = 16, rounds = 64;

__constant__ const uint32_t round_constants[rounds] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

DEVICE uint32_t rotated(uint32_t v, uint32_t right) { return __builtin_rotateright32(v, right); }

// Prepares the 64 words of a block, each with the constant of its round, of the 16 that it has: the first byte of each highest.
// It needs w no more.
DEVICE void prepare(uint32_t (*words)[warp_size], uint32_t *w)
{
#pragma unroll
	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t k = i % block_words;
		if (i >= block_words) {
			uint32_t v = w[(i + 1) % block_words], u = w[(i + 14) % block_words];
			w[k] += (rotated(v, 7) ^ rotated(v, 18) ^ v >> 3) + w[(i + 9) % block_words] + (rotated(u, 17) ^ rotated(u, 19) ^ u >> 10);
		}
		words[i][lane()] = w[k] + round_constants[i];
	}
}

// Takes a block into the state, of which words has what prepare makes.
DEVICE void take_block(uint32_t *state, const uint32_t (*words)[warp_size])
{
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
#pragma unroll
	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t t = h + words[i][lane()] + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g));
		h = g, g = f, f = e, e = d + t;
		t += (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
		d = c, c = b, b = a, a = t;
	}
	state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

// The words that hold the 64 bytes from at on, where bytes of the first one come before them. The last one is read only
// where it holds any.
DEVICE void load_words(uint32_t *words, const uint32_t *at, bool shifted)
{
#pragma unroll
	for (uint32_t i = 0; i < block_words; i++)
		words[i] = at[i];
	words[block_words] = shifted ? at[block_words] : 0;
}

// messages: count of them; states: 2 x count x 8 words, before and after. Blocks have two warps: the first prepares words.
KERNEL __launch_bounds__(2 * warp_size) sha256(const Message *__restrict__ messages, uint32_t *__restrict__ states, uint32_t count)
{
	__shared__ uint32_t s_words[2][rounds][warp_size];
	uint32_t i = blockIdx.x * warp_size + lane();
	Message m = {nullptr, 0};
	if (i < count)
		m = messages[i];
	bool prepares = warp() == 0;
	uint32_t *own = states + ((uint64_t)blockIdx.y * count + i) * state_words;
	uint32_t shift = (uint32_t)((uintptr_t)m.data % 4 * 8);
	const uint32_t *at = (const uint32_t *)((uintptr_t)m.data & ~(uintptr_t)3);
	uint32_t state[state_words], next[block_words + 1], w[block_words];
	if (m.blocks > 0) {
		if (prepares) {
			load_words(next, at, shift > 0);
		} else {
#pragma unroll
			for (uint32_t k = 0; k < state_words; k++)
				state[k] = own[k];
		}
	}
	// In step n the words of block n are prepared, and those of block n-1 taken. Both warps have the same messages, and so as many steps.
	for (uint64_t n = 0; ballot(n < m.blocks + (m.blocks > 0)) != 0; n++) {
		if (prepares && n < m.blocks) {
#pragma unroll
			for (uint32_t k = 0; k < block_words; k++)
				w[k] = swap_bytes(funnel_right(next[k], next[k + 1], shift));
			at += block_words;
			if (n + 1 < m.blocks)
				load_words(next, at, shift > 0); // on its way while w is prepared
			prepare(s_words[n % 2], w);
		}
		if (!prepares && n > 0 && n <= m.blocks)
			take_block(state, s_words[(n + 1) % 2]);
		sync_block(); // the words of block n are there, and those of block n-1 are needed no more
	}
	if (!prepares && m.blocks > 0) {
#pragma unroll
		for (uint32_t k = 0; k < state_words; k++)
			own[k] = state[k];
	}
}

constexpr uint32_t most_rest = 72; // of a frame: one bit and the length, and what is missing in a block

// pictures, one a row of blocks, which has one warp. The rows of two pictures write nothing in common.
KERNEL __launch_bounds__(warp_size) picture_frame(const Picture *__restrict__ pictures)
{
	Picture p = pictures[blockIdx.y];
	uint32_t rest = (uint32_t)(64 * p.blocks - head_bytes - p.bytes);
	if (p.bytes > 64 * p.blocks - head_bytes || rest > most_rest)
		return; // sizes that the host never gives
	for (uint32_t i = lane(); i < head_bytes; i += warp_size)
		p.message[i] = p.frame[i];
	for (uint32_t i = lane(); i < rest; i += warp_size)
		p.message[head_bytes + p.bytes + i] = p.frame[head_bytes + i];
}

// CRC-32C, the lowest bit of a value being that of the highest power of x.
constexpr uint32_t crc_polynomial = 0x82f63b78;

// powers[i] is x to the power of 8 * crc_chunk * 2^i.
__constant__ const uint32_t powers[crc_powers] = {
	0xb8fdb1e7, 0x88e56f72, 0x74c360a4, 0xe4172b16, 0x0d65762a, 0x35d73a62, 0x28461564, 0xbf455269,
	0xe2ea32dc, 0xfe7740e6, 0xf946610b, 0x3c204f8f, 0x538586e3, 0x59726915, 0x734d5309,
};

// The product of a and b modulo the polynomial.
DEVICE uint32_t crc_product(uint32_t a, uint32_t b)
{
	uint32_t p = 0;
	for (uint32_t bit = 0; bit < 32; bit++) {
		p ^= b & (0 - (a >> 31));
		a <<= 1;
		b = b >> 1 ^ (crc_polynomial & (0 - (b & 1)));
	}
	return p;
}

// crcs: blocks words for each picture, of which the sum modulo 2 is the checksum of its samples that begins with 0 and ends as it
// is: bytes of 0 in front change nothing. So chunks are counted from the end, and thread k has chunk k, of crc_chunk bytes, but
// for the last one, which is the first of the picture and may be shorter.
KERNEL __launch_bounds__(crc_threads) picture_crc(const Picture *__restrict__ pictures, uint32_t *__restrict__ crcs)
{
	__shared__ uint32_t s_table[256];
	__shared__ uint32_t s_warps[most_warps];
	Picture p = pictures[blockIdx.y];
	for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) {
		uint32_t v = i;
		for (uint32_t bit = 0; bit < 8; bit++)
			v = v >> 1 ^ (crc_polynomial & (0 - (v & 1)));
		s_table[i] = v;
	}
	sync_block(); // the table is read by all
	const uint8_t *samples = p.message + head_bytes;
	uint64_t behind = thread() * crc_chunk, to = behind < p.bytes ? p.bytes - behind : 0, from = to > crc_chunk ? to - crc_chunk : 0;
	uint32_t crc = 0;
	for (uint64_t i = from; i < to; i++)
		crc = crc >> 8 ^ s_table[(crc ^ samples[i]) & 255];
	// Of two neighbours the further from the end is the one before.
	for (uint32_t i = 0, d = 1; d < warp_size; i++, d *= 2)
		crc ^= crc_product(shuffle_down(crc, d), powers[i]);
	if (lane() == 0) {
		uint64_t n = thread() / warp_size; // warps behind
		for (uint32_t i = 5; i < crc_powers; i++)
			if (n >> (i - 5) & 1)
				crc = crc_product(crc, powers[i]);
		s_warps[warp()] = crc;
	}
	sync_block(); // those of all warps are there
	if (threadIdx.x == 0) {
		for (uint32_t i = 1; i < blockDim.x / warp_size; i++)
			crc ^= s_warps[i];
		crcs[(uint64_t)blockIdx.y * gridDim.x + blockIdx.x] = crc;
	}
}
