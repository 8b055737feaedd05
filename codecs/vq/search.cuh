// Search goes through the codebook in chunks in shared memory. In a chunk a block's least key takes 32 bits: the distance
// of at most 16 samples is below 2^20 and leaves 12 bits for the index, of 64 samples below 2^22 and leaves 10. With
//
//   distance = |x|^2 + |c|^2 - 2 x.c
//
// a key is base[c] - (x.c - ceil(|x|^2 / 2)) << (bits + 1), base[c] = |c|^2 << bits | c: the dot product starts from minus
// the half, one multiplication and addition makes the key, and one minimum takes it in. The half is rounded up so that
// nothing is negative; where |x|^2 is odd all distances are 1 too large until the end. From capability 8.0 on the dot
// products are the tensor cores', before that dp4a's.
#pragma once

#include "vectors.cuh"

template <int K> struct Chunk {
	static constexpr uint32_t words = K / 4;
	static constexpr uint32_t bits = K <= 16 ? 12 : 10;     // of the index in a key of 32 bits
	static constexpr uint32_t most = K <= 16 ? 1024 : 512;  // codewords of a chunk
	// Distance between codewords in words. 20 puts the eight codewords that the tensor cores take at a time on
	// different banks.
	static constexpr uint32_t stride = K == 64 ? 20 : words;
};

// Brings the n codewords of a chunk and their bases to shared memory, filled up to a multiple of 16 with the last one,
// which as the same codeword with the same index changes no least key. All threads of the block call. Returns the filled
// number.
template <int K> DEVICE uint32_t load_chunk(uint32_t *s_words, uint32_t *s_base, const uint32_t *words, uint32_t n)
{
	uint32_t filled = (n + 15) / 16 * 16;
	for (uint32_t j = threadIdx.x; j < filled; j += blockDim.x) {
		uint32_t index = below(j, n), norm = 0;
		for (uint32_t w = 0; w < Chunk<K>::words; w++) {
			uint32_t v = words[index * Chunk<K>::words + w];
			s_words[j * Chunk<K>::stride + w] = v;
			norm = dp4a(v, v, norm);
		}
		s_base[j] = norm << Chunk<K>::bits | index;
	}
	return filled;
}

// The key of a chunk's least key, as it is between chunks. The least bit of odd is that of |x|^2.
template <int K> DEVICE uint64_t whole_key(uint32_t least, uint32_t odd, uint32_t first)
{
	constexpr uint32_t bits = Chunk<K>::bits;
	uint64_t distance = (least >> bits) - (odd & 1);
	return distance << index_bits | (first + (least & ((1u << bits) - 1)));
}

// A key of a chunk. Written out because a multiplication and addition in one runs beside the minima, and the shift and
// subtraction that the compiler would make of it on the same units.
template <int K> DEVICE uint32_t make_key(uint32_t base, uint32_t dot)
{
	uint32_t key;
	asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(key) : "r"(dot), "n"((uint32_t)-(2 << Chunk<K>::bits)), "r"(base));
	return key;
}

DEVICE void store_key(uint64_t *keys, uint16_t *table, uint64_t i, uint64_t key)
{
	if (keys != nullptr)
		keys[i] = key;
	if (table != nullptr)
		table[i] = (uint16_t)(key & index_mask);
}

// A codeword from shared memory, four words at a time where it has as many.
template <int W> DEVICE void load_word(uint32_t (&c)[W], const uint32_t *s_word)
{
	if constexpr (W == 1) {
		c[0] = s_word[0];
	} else if constexpr (W == 2) {
		words2 v = *(const words2 *)s_word;
		c[0] = v.x, c[1] = v.y;
	} else {
#pragma unroll
		for (int w = 0; w < W; w += 4) {
			words4 v = *(const words4 *)(s_word + w);
			c[w] = v.x, c[w + 1] = v.y, c[w + 2] = v.z, c[w + 3] = v.w;
		}
	}
}

// A pointer to memory of the device, of which the compiler else does not know that it is none to shared memory: it was
// read from memory itself.
template <typename T> DEVICE T *in_global(T *p) { return (T *)(__attribute__((address_space(1))) T *)p; }

// Every thread takes V blocks, whose samples it holds; all threads read the same codeword at the same time.
template <int K, int V>
DEVICE void search_dots(uint64_t *__restrict__ keys, uint16_t *__restrict__ table, const uint32_t *__restrict__ blocks,
                        const uint32_t *__restrict__ words, uint32_t m, uint32_t n)
{
	constexpr int W = K / 4;
	using C = Chunk<K>;
	__shared__ __attribute__((aligned(16))) uint32_t s_words[C::most * C::stride];
	__shared__ uint32_t s_base[C::most];
	uint32_t first = blockIdx.x * (V * search_threads) + threadIdx.x;
	uint32_t x[V][W], start[V], odd = 0; // bit v of odd is that of |x[v]|^2
	uint64_t best[V];
#pragma unroll
	for (int v = 0; v < V; v++) {
		uint32_t i = first + v * search_threads;
		i = i < m ? i : m - 1;
		uint32_t norm = 0;
#pragma unroll
		for (int w = 0; w < W; w++) {
			x[v][w] = blocks[(uint64_t)i * W + w];
			norm = dp4a(x[v][w], x[v][w], norm);
		}
		start[v] = 0u - (norm + 1) / 2;
		odd |= (norm & 1) << v;
		best[v] = ~0ull;
	}
	for (uint32_t from = 0; from < n; from += C::most) {
		uint32_t filled = load_chunk<K>(s_words, s_base, words + (uint64_t)from * W, least(C::most, n - from));
		sync_block(); // the chunk is whole
		uint32_t near[V];
#pragma unroll
		for (int v = 0; v < V; v++)
			near[v] = ~0u;
#pragma unroll 4
		for (uint32_t j = 0; j < filled; j++) {
			uint32_t c[W];
			load_word<W>(c, &s_words[j * C::stride]);
			uint32_t base = s_base[j];
#pragma unroll
			for (int v = 0; v < V; v++) {
				uint32_t dot = start[v];
#pragma unroll
				for (int w = 0; w < W; w++)
					dot = dp4a(x[v][w], c[w], dot);
				near[v] = least(near[v], make_key<K>(base, dot));
			}
		}
#pragma unroll
		for (int v = 0; v < V; v++)
			best[v] = least(best[v], whole_key<K>(near[v], odd >> v, from));
		sync_block(); // before the chunk is overwritten
	}
#pragma unroll
	for (int v = 0; v < V; v++) {
		uint32_t i = first + v * search_threads;
		if (i < m)
			store_key(keys, table, i, best[v]);
	}
}

#if __CUDA_ARCH__ >= 800

// d = a b + c for 16 blocks (rows of a) and 8 codewords (columns of b) of 16 samples. Lane 4g+t holds words t of blocks g and
// g+8 in a, word t of codeword g in b, and in c and d block g with codewords 2t and 2t+1, then block g+8 with the two.
DEVICE void multiply(int32_t (&d)[4], const uint32_t *a, uint32_t b, const int32_t *c)
{
	asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
	    : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
	    : "r"(a[0]), "r"(a[1]), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}

// Every warp takes T times 16 blocks; see multiply for which lane holds what of them.
template <int K, int T>
DEVICE void search_tensor(uint64_t *__restrict__ keys, uint16_t *__restrict__ table, const uint32_t *__restrict__ blocks,
                        const uint32_t *__restrict__ words, uint32_t m, uint32_t n)
{
	constexpr int W = K / 4, S = K / 16;
	using C = Chunk<K>;
	__shared__ __attribute__((aligned(16))) uint32_t s_words[C::most * C::stride];
	__shared__ __attribute__((aligned(8))) uint32_t s_base[C::most];
	uint32_t g = lane() / 4, t = lane() % 4;
	uint32_t first = (blockIdx.x * (search_threads / warp_size) + warp()) * (16 * T) + g;
	uint32_t x[T][S][2], odd = 0; // bit 2v+r of odd is that of the |x|^2 of x[v][..][r]
	int32_t start[T][4];
	// Of the four lanes with the same blocks each keeps the best keys of a fourth of them: lane t those of the blocks
	// g + 8(4i+t).
	uint64_t best[T / 2];
#pragma unroll
	for (int v = 0; v < T; v++) {
#pragma unroll
		for (int r = 0; r < 2; r++) {
			uint32_t i = first + 16 * v + 8 * r;
			i = i < m ? i : m - 1;
			uint32_t part = 0;
#pragma unroll
			for (int s = 0; s < S; s++) {
				x[v][s][r] = blocks[(uint64_t)i * W + 4 * s + t];
				part = dp4a(x[v][s][r], x[v][s][r], part);
			}
			part += exchange(part, 1);
			part += exchange(part, 2);
			odd |= (part & 1) << (2 * v + r);
			start[v][2 * r] = start[v][2 * r + 1] = -(int32_t)((part + 1) / 2);
		}
	}
#pragma unroll
	for (int i = 0; i < T / 2; i++)
		best[i] = ~0ull;
	for (uint32_t from = 0; from < n; from += C::most) {
		uint32_t filled = load_chunk<K>(s_words, s_base, words + (uint64_t)from * W, least(C::most, n - from));
		sync_block(); // the chunk is whole
		uint32_t near[T][2];
#pragma unroll
		for (int v = 0; v < T; v++)
			near[v][0] = near[v][1] = ~0u;
		for (uint32_t two = 0; two < filled; two += 16) {
#pragma unroll
			for (uint32_t j = two; j < two + 16; j += 8) {
				uint32_t c[S];
#pragma unroll
				for (int s = 0; s < S; s++)
					c[s] = s_words[(j + g) * C::stride + 4 * s + t];
				words2 base = *(const words2 *)&s_base[j + 2 * t];
#pragma unroll
				for (int v = 0; v < T; v++) {
					int32_t dot[4];
					multiply(dot, x[v][0], c[0], start[v]);
#pragma unroll
					for (int s = 1; s < S; s++)
						multiply(dot, x[v][s], c[s], dot);
#pragma unroll
					for (int r = 0; r < 2; r++) {
						uint32_t k0 = make_key<K>(base.x, (uint32_t)dot[2 * r]);
						uint32_t k1 = make_key<K>(base.y, (uint32_t)dot[2 * r + 1]);
						near[v][r] = least(near[v][r], least(k0, k1));
					}
				}
			}
		}
#pragma unroll
		for (int i = 0; i < T / 2; i++) {
			uint32_t mine = 0;
#pragma unroll
			for (uint32_t j = 0; j < 4; j++) {
				uint32_t k = near[2 * i + j / 2][j % 2];
				k = least(k, exchange(k, 1));
				k = least(k, exchange(k, 2));
				mine = t == j ? k : mine;
			}
			best[i] = least(best[i], whole_key<K>(mine, odd >> (4 * i + t), from));
		}
		sync_block(); // before the chunk is overwritten
	}
#pragma unroll
	for (int i = 0; i < T / 2; i++) {
		uint32_t block = first + 8 * (4 * i + t);
		if (block < m)
			store_key(keys, table, block, best[i]);
	}
}

template <int K, int V>
DEVICE void search(uint64_t *__restrict__ keys, uint16_t *__restrict__ table, const uint32_t *__restrict__ blocks,
                        const uint32_t *__restrict__ words, uint32_t m, uint32_t n)
{
	// V blocks for each of 256 threads are 2 V times 16 for each of 8 warps.
	if constexpr (K >= 16)
		search_tensor<K, 2 * V>(keys, table, blocks, words, m, n);
	else
		search_dots<K, V>(keys, table, blocks, words, m, n);
}

#else

template <int K, int V>
DEVICE void search(uint64_t *__restrict__ keys, uint16_t *__restrict__ table, const uint32_t *__restrict__ blocks,
                        const uint32_t *__restrict__ words, uint32_t m, uint32_t n)
{
	search_dots<K, V>(keys, table, blocks, words, m, n);
}

#endif

// Search blockIdx.y, among its first most codewords. Each kernel has a variant that takes fewer blocks at a time, for so
// few blocks that the other would leave multiprocessors idle. The last number is how many blocks of threads a
// multiprocessor is to hold at least, 0 where the compiler may choose: it then gives vq_search_4 and vq_search_64 too few
// registers.
#define SEARCH(name, K, V, held)                                                                                      \
	extern "C" __global__ void __launch_bounds__(search_threads, held) name(SearchParams p)                        \
	{                                                                                                              \
		Search s = p.one;                                                                                      \
		if (p.list != nullptr)                                                                                 \
			s = p.list[blockIdx.y];                                                                        \
		if (blockIdx.x * (V * search_threads) < s.m && (s.rest == nullptr || *s.rest == 0))                    \
			search<K, V>(in_global(s.keys), in_global(s.table), in_global(s.blocks), in_global(s.words),   \
			             s.m, least(s.n, p.most));                                                         \
	}

SEARCH(vq_search_4, 4, search_many / search_threads, 4)
SEARCH(vq_search_8, 8, search_many / search_threads, 0)
SEARCH(vq_search_16, 16, search_many / search_threads, 0)
SEARCH(vq_search_64, 64, search_many_64 / search_threads, 1)
SEARCH(vq_search_4_few, 4, search_few / search_threads, 0)
SEARCH(vq_search_8_few, 8, search_few / search_threads, 0)
SEARCH(vq_search_16_few, 16, search_few / search_threads, 0)
SEARCH(vq_search_64_few, 64, search_few / search_threads, 0)
