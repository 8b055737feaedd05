// The tokens of rows that are parsed become the bits of a zlib stream. The host has made the codes of each block of the stream of the
// counts that nq_parse left, and knows at which bit it begins. Memory of a stream: its tokens, blocks, and its words, which are 0
// before.
#include "symbols.cuh"
#include "../../gpu/include/warp.cuh"

DEVICE void set_bits(uint32_t *p, uint32_t bits) { __nvvm_atom_or_gen_i((int *)p, (int)bits); }

// out: the tokens of a block, by its codes, from its bit on. One block of threads a block of tokens, which takes them from the first
// to the last; words at the ends of what it has at a time are shared with those before and behind.
KERNEL __launch_bounds__(pack_threads) nq_pack(const Pack *list)
{
	constexpr uint32_t thread_tokens = 4, most_bits = 48, word_bits = 32; // of a token, of a word
	__shared__ uint32_t s_firsts[512], s_distances[32], s_sums[most_warps];
	__shared__ uint32_t s_words[pack_threads * thread_tokens * most_bits / word_bits + 2];
	const Pack p = list[blockIdx.x];
	const Block &b = *p.block;
	for (uint32_t i = threadIdx.x; i < 512; i += blockDim.x)
		s_firsts[i] = b.firsts[i];
	for (uint32_t i = threadIdx.x; i < 32; i += blockDim.x)
		s_distances[i] = b.distances[i];
	const uint32_t *tokens = p.tokens + b.first;
	uint32_t bit = b.bit, count = b.tokens;
	for (uint32_t first = 0; first < count; first += blockDim.x * thread_tokens) {
		for (uint32_t i = threadIdx.x; i < sizeof s_words / sizeof *s_words; i += blockDim.x)
			s_words[i] = 0;
		sync_block(); // the codes are there, and the words are 0
		uint64_t code[thread_tokens];
		uint32_t size[thread_tokens], sum = 0;
#pragma unroll
		for (uint32_t k = 0; k < thread_tokens; k++) {
			uint32_t i = first + threadIdx.x * thread_tokens + k;
			code[k] = size[k] = 0;
			if (i >= count)
				continue;
			uint32_t token = tokens[i], c = s_firsts[token >> 16 & 511];
			code[k] = c >> 8, size[k] = c & 255;
			if (token >= match_bit) {
				uint32_t far = token & 0x7fff, symbol = distance_symbol(far), extra = distance_extra(symbol);
				c = s_distances[symbol];
				code[k] |= (uint64_t)(c >> 8) << size[k];
				size[k] += c & 255;
				code[k] |= (uint64_t)(far & ((1u << extra) - 1)) << size[k];
				size[k] += extra;
			}
			sum += size[k];
		}
		uint32_t total, from = bit / word_bits, at = block_sum_before(sum, s_sums, total) + bit % word_bits;
#pragma unroll
		for (uint32_t k = 0; k < thread_tokens; k++) {
			uint32_t shift = at % word_bits;
			uint32_t *to = s_words + at / word_bits;
			uint64_t low = code[k] << shift;
			uint32_t high = shift == 0 ? 0 : (uint32_t)(code[k] >> (64 - shift));
			if ((uint32_t)low != 0)
				set_bits(to, (uint32_t)low);
			if (low >> 32 != 0)
				set_bits(to + 1, (uint32_t)(low >> 32));
			if (high != 0)
				set_bits(to + 2, high);
			at += size[k];
		}
		sync_block(); // the words are whole
		uint32_t last = (bit % word_bits + total) / word_bits;
		for (uint32_t i = threadIdx.x; i <= last && from + i < p.words; i += blockDim.x) {
			if (i == 0 || i == last)
				set_bits(p.out + from + i, s_words[i]);
			else
				p.out[from + i] = s_words[i];
		}
		bit += total;
		sync_block(); // before the words are used again
	}
}
