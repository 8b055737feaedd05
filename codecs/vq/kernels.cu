// The steps of the codec on a card, in the order of steps.go and with the numbers of steps_cpu.go.
//
// Blocks are K samples one after the other, K = 4, 8, 16 or 64; codewords likewise. Four samples make a word of 32 bits,
// the first in the low byte. A key is distance << 12 | index (steps.go). Every sum is of integers and every minimum is of
// keys that hold the index, so that no result depends on the order in which threads run.
//
// Search goes through the codebook in chunks in shared memory. In a chunk a block's least key takes 32 bits: the distance
// of at most 16 samples is below 2^20 and leaves 12 bits for the index, of 64 samples below 2^22 and leaves 10. With
//
//   distance = |x|^2 + |c|^2 - 2 x.c
//
// a key is base[c] - (x.c - ceil(|x|^2 / 2)) << (bits + 1), base[c] = |c|^2 << bits | c: the dot product starts from minus
// the half, one multiplication and addition makes the key, and one minimum takes it in. The half is rounded up so that
// nothing is negative; where |x|^2 is odd all distances are 1 too large until the end. From capability 8.0 on the dot
// products are the tensor cores', before that dp4a's.

#include "../../gpu/include/base.cuh"
#include "../../gpu/include/warp.cuh"

typedef uint32_t words2 __attribute__((ext_vector_type(2)));
typedef uint32_t words4 __attribute__((ext_vector_type(4)));

constexpr uint32_t index_bits = 12;
constexpr uint32_t index_mask = (1u << index_bits) - 1;
constexpr uint32_t most_codewords = 4096;
constexpr uint32_t search_threads = 256;

DEVICE uint32_t add_to(uint32_t *p, uint32_t v) { return (uint32_t)__nvvm_atom_add_gen_i((int *)p, (int)v); }
DEVICE uint32_t exchange(uint32_t v, uint32_t with) // value of the lane whose number differs by the bits of with
{
	return (uint32_t)__nvvm_shfl_sync_bfly_i32(whole_warp, (int)v, (int)with, warp_size - 1);
}
DEVICE uint32_t below(uint32_t i, uint32_t n) { return i < n ? i : n - 1; }
DEVICE uint32_t bit_length(uint32_t v) { return v == 0 ? 0 : 32 - (uint32_t)__builtin_clz(v); }
DEVICE int32_t clip(int32_t v) { return v < 0 ? 0 : v > 255 ? 255 : v; }
DEVICE uint32_t square(int32_t d) { return (uint32_t)(d * d); }

// ---- planes and blocks

struct Colour {
	int32_t y, co, cg; // co and cg as stored: (C + 256) >> 1
};

DEVICE Colour transform(const uint8_t *rgb)
{
	int32_t r = rgb[0], g = rgb[1], b = rgb[2];
	int32_t o = r - b, t = b + (o >> 1), e = g - t;
	return {t + (e >> 1), (o + 256) >> 1, (e + 256) >> 1};
}

// Cuts slices of interleaved pixels into the blocks of plane blockIdx.y: 0 grey or Y, 1 Co, 2 Cg. One thread per row of a
// block; threads of a warp read along a row of pixels.
KERNEL vq_blocks(uint8_t *__restrict__ luma,          // slices x grid of luma x K
                 uint8_t *__restrict__ chroma,        // slices x (Co, Cg) x grid of chroma x K; null for grey
                 const uint8_t *__restrict__ pixels,  // slices x height x width x channels
                 uint32_t width, uint32_t height, uint32_t slices,
                 uint32_t channels,                   // 1 or 3
                 uint32_t half,                       // 1: chroma of half width and height
                 uint32_t p, uint32_t q)              // rows and columns of a block
{
	uint32_t plane = blockIdx.y;
	uint32_t shrink = plane > 0 ? half : 0;
	uint32_t w = (width + shrink) >> shrink, h = (height + shrink) >> shrink;
	uint32_t cols = (w + q - 1) / q, rows = (h + p - 1) / p;
	uint64_t i = thread();
	uint32_t c = (uint32_t)(i % cols);
	uint64_t line = i / cols;
	uint32_t y = (uint32_t)(line % (rows * p));
	uint64_t z = line / (rows * p);
	if (z >= slices)
		return;
	const uint8_t *slice = pixels + z * width * height * channels;
	uint32_t at_y = below(y, h);
	uint64_t samples = 0;
	if (channels == 1 && q == 4 && width % 4 == 0) {
		samples = *(const uint32_t *)(slice + (uint64_t)at_y * width + 4 * c);
	} else {
		for (uint32_t j = 0; j < q; j++) {
			uint32_t at_x = below(c * q + j, w);
			uint32_t v;
			if (channels == 1) {
				v = slice[(uint64_t)at_y * width + at_x];
			} else if (shrink == 0) {
				Colour k = transform(slice + 3 * ((uint64_t)at_y * width + at_x));
				v = (uint32_t)(plane == 0 ? k.y : plane == 1 ? k.co : k.cg);
			} else {
				uint32_t sum = 2;
				for (uint32_t d = 0; d < 4; d++) {
					uint32_t yy = below(2 * at_y + d / 2, height), xx = below(2 * at_x + d % 2, width);
					Colour k = transform(slice + 3 * ((uint64_t)yy * width + xx));
					sum += (uint32_t)(plane == 1 ? k.co : k.cg);
				}
				v = sum >> 2;
			}
			samples |= (uint64_t)v << (8 * j);
		}
	}
	uint64_t grid = plane == 0 ? z : 2 * z + plane - 1;
	uint64_t block = (grid * rows + y / p) * cols + c;
	uint8_t *out = (plane == 0 ? luma : chroma) + block * p * q + (y % p) * q;
	if (q == 2)
		*(uint16_t *)out = (uint16_t)samples;
	else if (q == 4)
		*(uint32_t *)out = (uint32_t)samples;
	else
		*(uint64_t *)out = samples;
}

// The i-th number, from 0, of the generator splitmix64 with the given seed.
DEVICE uint64_t random(uint64_t seed, uint64_t i)
{
	uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

// Copies those blocks of a drawn sample that lie among the count blocks from first: sample i of most is drawn from the
// i-th of most equal stretches of all m blocks. One thread per word of a block.
KERNEL vq_sample(uint32_t *__restrict__ out,           // most x K
                 const uint32_t *__restrict__ blocks,  // count x K
                 uint64_t seed, uint64_t first, uint64_t count, uint64_t m, uint32_t most, uint32_t k)
{
	uint32_t words = k / 4;
	uint64_t i = thread() / words, w = thread() % words;
	if (i >= most)
		return;
	uint64_t lo = i * m / most, hi = (i + 1) * m / most;
	uint64_t at = lo + __nvvm_mulhi_ull(random(seed, i), hi - lo);
	if (at >= first && at - first < count)
		out[i * words + w] = blocks[(at - first) * words + w];
}

// ---- search

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

// The key of a chunk's least key, as it is between chunks.
template <int K> DEVICE uint64_t whole_key(uint32_t least, uint32_t norm, uint32_t first)
{
	constexpr uint32_t bits = Chunk<K>::bits;
	uint64_t distance = (least >> bits) - (norm & 1);
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

// Every thread takes V blocks, whose samples it holds; all threads read the same codeword at the same time.
template <int K, int V>
DEVICE void search_dots(uint64_t *keys, uint16_t *table, const uint32_t *blocks, const uint32_t *words, uint64_t m, uint32_t n)
{
	constexpr int W = K / 4;
	using C = Chunk<K>;
	__shared__ __attribute__((aligned(16))) uint32_t s_words[C::most * C::stride];
	__shared__ uint32_t s_base[C::most];
	uint64_t first = (uint64_t)blockIdx.x * (V * search_threads) + threadIdx.x;
	uint32_t x[V][W], norm[V];
	uint64_t best[V];
#pragma unroll
	for (int v = 0; v < V; v++) {
		uint64_t i = first + v * search_threads;
		i = i < m ? i : m - 1;
		norm[v] = 0;
#pragma unroll
		for (int w = 0; w < W; w++) {
			x[v][w] = blocks[i * W + w];
			norm[v] = dp4a(x[v][w], x[v][w], norm[v]);
		}
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
				uint32_t dot = 0u - (norm[v] + 1) / 2;
#pragma unroll
				for (int w = 0; w < W; w++)
					dot = dp4a(x[v][w], c[w], dot);
				near[v] = least(near[v], make_key<K>(base, dot));
			}
		}
#pragma unroll
		for (int v = 0; v < V; v++)
			best[v] = least(best[v], whole_key<K>(near[v], norm[v], from));
		sync_block(); // before the chunk is overwritten
	}
#pragma unroll
	for (int v = 0; v < V; v++) {
		uint64_t i = first + v * search_threads;
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
DEVICE void search_tensor(uint64_t *keys, uint16_t *table, const uint32_t *blocks, const uint32_t *words, uint64_t m, uint32_t n)
{
	constexpr int W = K / 4, S = K / 16;
	using C = Chunk<K>;
	__shared__ __attribute__((aligned(16))) uint32_t s_words[C::most * C::stride];
	__shared__ __attribute__((aligned(8))) uint32_t s_base[C::most];
	uint32_t g = lane() / 4, t = lane() % 4;
	uint64_t first = ((uint64_t)blockIdx.x * (search_threads / warp_size) + warp()) * (16 * T) + g;
	uint32_t x[T][S][2], norm[T][2];
	int32_t start[T][4];
	uint64_t best[T][2];
#pragma unroll
	for (int v = 0; v < T; v++) {
#pragma unroll
		for (int r = 0; r < 2; r++) {
			uint64_t i = first + 16 * v + 8 * r;
			i = i < m ? i : m - 1;
			uint32_t part = 0;
#pragma unroll
			for (int s = 0; s < S; s++) {
				x[v][s][r] = blocks[i * W + 4 * s + t];
				part = dp4a(x[v][s][r], x[v][s][r], part);
			}
			part += exchange(part, 1);
			part += exchange(part, 2);
			norm[v][r] = part;
			start[v][2 * r] = start[v][2 * r + 1] = -(int32_t)((part + 1) / 2);
			best[v][r] = ~0ull;
		}
	}
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
		for (int v = 0; v < T; v++) {
#pragma unroll
			for (int r = 0; r < 2; r++) {
				uint32_t k = least(near[v][r], exchange(near[v][r], 1));
				k = least(k, exchange(k, 2));
				best[v][r] = least(best[v][r], whole_key<K>(k, norm[v][r], from));
			}
		}
		sync_block(); // before the chunk is overwritten
	}
	if (t == 0) {
#pragma unroll
		for (int v = 0; v < T; v++) {
#pragma unroll
			for (int r = 0; r < 2; r++) {
				uint64_t i = first + 16 * v + 8 * r;
				if (i < m)
					store_key(keys, table, i, best[v][r]);
			}
		}
	}
}

template <int K, int V>
DEVICE void search(uint64_t *keys, uint16_t *table, const uint32_t *blocks, const uint32_t *words, uint64_t m, uint32_t n)
{
	// V blocks for each of 256 threads are 2 V times 16 for each of 8 warps.
	if constexpr (K >= 16)
		search_tensor<K, 2 * V>(keys, table, blocks, words, m, n);
	else
		search_dots<K, V>(keys, table, blocks, words, m, n);
}

#else

template <int K, int V>
DEVICE void search(uint64_t *keys, uint16_t *table, const uint32_t *blocks, const uint32_t *words, uint64_t m, uint32_t n)
{
	search_dots<K, V>(keys, table, blocks, words, m, n);
}

#endif

// The nearest of n codewords for each of m blocks. keys or table may be null. Each kernel has a variant that takes fewer
// blocks at a time, for so few blocks that the other would leave multiprocessors idle.
#define SEARCH(name, K, V)                                                                                           \
	extern "C" __global__ void __launch_bounds__(search_threads)                                                  \
		name(uint64_t *__restrict__ keys, uint16_t *__restrict__ table, const uint32_t *__restrict__ blocks,  \
	             const uint32_t *__restrict__ words, uint64_t m, uint32_t n)                                          \
	{                                                                                                             \
		search<K, V>(keys, table, blocks, words, m, n);                                                       \
	}

SEARCH(vq_search_4, 4, 4)
SEARCH(vq_search_8, 8, 4)
SEARCH(vq_search_16, 16, 4)
SEARCH(vq_search_64, 64, 2)
SEARCH(vq_search_4_few, 4, 1)
SEARCH(vq_search_8_few, 8, 1)
SEARCH(vq_search_16_few, 16, 1)
SEARCH(vq_search_64_few, 64, 1)

// ---- training

// Adds the samples of blocks to the cells of their codewords: W = K/4 neighbouring lanes take a block, each one word of
// it. With ways, only blocks beyond their cell's limit count: those with x.way > limit. Sums are collected in shared
// memory where the cells fit there.
template <bool BEYOND>
DEVICE void add_up(uint32_t *sums, uint32_t *counts, const uint32_t *blocks, const uint64_t *keys, const int16_t *ways,
                   const int32_t *limits, uint32_t m, uint32_t n, uint32_t k, uint32_t shared)
{
	extern __shared__ uint32_t s_cells[]; // n x (K + 1) if shared
	uint32_t words = k / 4;
	if (shared != 0) {
		for (uint32_t i = threadIdx.x; i < n * (k + 1); i += blockDim.x)
			s_cells[i] = 0;
		sync_block(); // the cells are empty
	}
	uint64_t total = (uint64_t)m * words, step = (uint64_t)gridDim.x * blockDim.x;
	for (uint64_t from = (uint64_t)blockIdx.x * blockDim.x; from < total; from += step) {
		uint64_t at = from + threadIdx.x;
		bool mine = at < total;
		uint32_t w = (uint32_t)(at % words), v = 0, cell = 0;
		if (mine) {
			v = blocks[at];
			cell = (uint32_t)keys[at / words] & index_mask;
			mine = cell < n;
		}
		if (BEYOND) {
			uint32_t dot = 0;
			if (mine) {
				const int16_t *way = ways + cell * k + 4 * w;
				for (uint32_t j = 0; j < 4; j++)
					dot += (uint32_t)((int32_t)(v >> (8 * j) & 255) * way[j]);
			}
			for (uint32_t d = 1; d < words; d *= 2)
				dot += exchange(dot, d);
			mine = mine && (int32_t)dot > limits[cell];
		}
		if (!mine)
			continue;
		uint32_t to = cell * k + 4 * w;
		if (shared != 0) {
			for (uint32_t j = 0; j < 4; j++)
				add_to(&s_cells[to + j], v >> (8 * j) & 255);
			if (w == 0)
				add_to(&s_cells[n * k + cell], 1);
		} else {
			for (uint32_t j = 0; j < 4; j++)
				add_to(&sums[to + j], v >> (8 * j) & 255);
			if (w == 0)
				add_to(&counts[cell], 1);
		}
	}
	if (shared == 0)
		return;
	sync_block(); // all blocks are in
	for (uint32_t i = threadIdx.x; i < n * (k + 1); i += blockDim.x) {
		uint32_t v = s_cells[i];
		if (v != 0)
			add_to(i < n * k ? &sums[i] : &counts[i - n * k], v);
	}
}

// Sums of the samples and number of the blocks of every cell.
KERNEL vq_gather(uint32_t *__restrict__ sums,          // n x K, added to
                 uint32_t *__restrict__ counts,        // n, added to
                 const uint32_t *__restrict__ blocks,  // m x K
                 const uint64_t *__restrict__ keys,    // m
                 uint32_t m, uint32_t n, uint32_t k,
                 uint32_t shared)                      // 1: the launch brings n x (K + 1) words of shared memory
{
	add_up<false>(sums, counts, blocks, keys, nullptr, nullptr, m, n, k, shared);
}

// The farthest block of every cell: distance << 32 | ~block, so that of several the first wins. 0 where all are on the
// codeword. One thread per block.
KERNEL vq_farthest(uint64_t *__restrict__ far,         // n, set to 0 before
                   const uint64_t *__restrict__ keys,  // m
                   uint32_t m, uint32_t n)
{
	uint64_t i = thread();
	if (i >= m)
		return;
	uint64_t distance = keys[i] >> index_bits;
	uint32_t cell = (uint32_t)keys[i] & index_mask;
	if (distance == 0 || cell >= n)
		return;
	uint64_t v = distance << 32 | (uint32_t)~i;
	// What stands there only grows: most threads need not ask for the exchange.
	if (v > *(volatile uint64_t *)&far[cell])
		__nvvm_atom_max_gen_ull((unsigned long long *)&far[cell], v);
}

// A codeword's half of a cell that is cut in two, with what the next pass over the blocks needs.
constexpr int32_t no_limit = 0x7fffffff; // of a cell that cannot be cut: no block is beyond it

DEVICE uint32_t mean(uint64_t sum, uint32_t n) { return (uint32_t)((2 * sum + n) / (2 * (uint64_t)n)); }

// Starts (first = 1) or improves the two codewords of every cell: from the farthest block and its mirror image, or from
// the sums of the blocks beyond the limit. One warp per cell.
KERNEL vq_halves(uint8_t *__restrict__ a,              // n x K
                 uint8_t *__restrict__ b,              // n x K
                 uint64_t *__restrict__ gains,         // n
                 int16_t *__restrict__ ways,           // n x K
                 int32_t *__restrict__ limits,         // n
                 uint32_t *__restrict__ beyond,        // n x K, sums of the blocks beyond; left at 0
                 uint32_t *__restrict__ beyond_counts, // n; left at 0
                 const uint64_t *__restrict__ far,     // n, of vq_farthest
                 const uint32_t *__restrict__ sums,    // n x K, of vq_gather
                 const uint32_t *__restrict__ counts,  // n, of vq_gather
                 const uint8_t *__restrict__ blocks,   // m x K
                 const uint8_t *__restrict__ words,    // n x K
                 uint32_t m, uint32_t n, uint32_t k, uint32_t first)
{
	uint32_t cell = (uint32_t)(thread() / warp_size);
	if (cell >= n)
		return;
	uint32_t nb = beyond_counts[cell], na = counts[cell] - nb;
	bool dead;
	if (first != 0)
		dead = far[cell] == 0;
	else
		dead = limits[cell] == no_limit || na == 0 || nb == 0;
	sync_warp(); // all have read what lane 0 writes below
	uint32_t from = ~(uint32_t)far[cell];
	int32_t limit = 0;
	uint32_t apart = 0;
	for (uint32_t j = lane(); j < k; j += warp_size) {
		uint32_t at = cell * k + j, s = beyond[at];
		int32_t va = 0, vb = 0;
		if (!dead && first != 0) {
			va = blocks[(uint64_t)below(from, m) * k + j];
			vb = clip(2 * (int32_t)words[at] - va);
		} else if (!dead) {
			va = (int32_t)mean((uint64_t)sums[at] - s, na);
			vb = (int32_t)mean(s, nb);
		}
		a[at] = (uint8_t)va;
		b[at] = (uint8_t)vb;
		ways[at] = (int16_t)(2 * (vb - va));
		beyond[at] = 0;
		limit += vb * vb - va * va;
		apart += square(va - vb);
	}
	limit = (int32_t)warp_sum((uint32_t)limit);
	apart = warp_sum(apart);
	if (lane() == 0) {
		beyond_counts[cell] = 0;
		limits[cell] = dead ? no_limit : limit;
		gains[cell] = dead || first != 0 ? 0 : (uint64_t)na * nb * apart / ((uint64_t)na + nb);
	}
}

// Sums and number of those blocks of every cell that are beyond its limit.
KERNEL vq_beyond(uint32_t *__restrict__ sums,          // n x K, added to
                 uint32_t *__restrict__ counts,        // n, added to
                 const uint32_t *__restrict__ blocks,  // m x K
                 const uint64_t *__restrict__ keys,    // m
                 const int16_t *__restrict__ ways,     // n x K
                 const int32_t *__restrict__ limits,   // n
                 uint32_t m, uint32_t n, uint32_t k,
                 uint32_t shared)                      // 1: the launch brings n x (K + 1) words of shared memory
{
	add_up<true>(sums, counts, blocks, keys, ways, limits, m, n, k, shared);
}

// The nearest other codeword of every codeword, of several the first. n is at least 2. One warp per codeword.
KERNEL vq_nearest(uint64_t *__restrict__ keys,         // n
                  const uint32_t *__restrict__ words,  // n x K
                  uint32_t n, uint32_t k)
{
	uint32_t i = (uint32_t)(thread() / warp_size), w = k / 4;
	if (i >= n)
		return;
	uint64_t best = ~0ull;
	for (uint32_t j = lane(); j < n; j += warp_size) {
		if (j == i)
			continue;
		uint32_t distance = 0;
		for (uint32_t s = 0; s < w; s++) {
			uint32_t u = words[i * w + s], v = words[j * w + s];
			// Modulo 2^32; the whole is not negative.
			distance += dp4a(u, u, 0) + dp4a(v, v, 0) - 2 * dp4a(u, v, 0);
		}
		best = least(best, (uint64_t)distance << index_bits | j);
	}
	best = warp_least(best);
	if (lane() == 0)
		keys[i] = best;
}

// ---- index table

// How many blocks chose each codeword.
KERNEL vq_count(uint32_t *__restrict__ counts,        // n, added to
                const uint16_t *__restrict__ table,   // m
                uint64_t m, uint32_t n)
{
	__shared__ uint32_t s_counts[most_codewords];
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
		s_counts[i] = 0;
	sync_block(); // the counts are empty
	for (uint64_t i = thread(); i < m; i += (uint64_t)gridDim.x * blockDim.x) {
		uint32_t x = table[i];
		if (x < n)
			add_to(&s_counts[x], 1);
	}
	sync_block(); // all blocks are in
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
		if (s_counts[i] != 0)
			add_to(&counts[i], s_counts[i]);
}

// Gives the entries their new numbers. One thread per entry.
KERNEL vq_renumber(uint16_t *__restrict__ table,     // m
                   const uint16_t *__restrict__ to,  // n
                   uint64_t m, uint32_t n)
{
	uint64_t i = thread();
	if (i < m)
		table[i] = to[below(table[i], n)];
}

// What the index coder has to know of every two codewords as neighbours; see ranker. One thread per pair.
KERNEL vq_sides(uint32_t *__restrict__ up,          // n x n: lower edge of u against upper edge of c, and c
                uint32_t *__restrict__ left,        // n x n: right edge of u against left edge of c
                uint32_t *__restrict__ spans,       // n: greatest less least sample
                const uint8_t *__restrict__ words,  // n x p x q
                uint32_t n, uint32_t p, uint32_t q)
{
	uint64_t i = thread();
	if (i >= (uint64_t)n * n)
		return;
	uint32_t u = (uint32_t)(i / n), c = (uint32_t)(i % n), k = p * q;
	const uint8_t *a = words + u * k, *b = words + c * k;
	uint32_t above = 0, beside = 0;
	for (uint32_t j = 0; j < q; j++)
		above += square((int32_t)a[(p - 1) * q + j] - b[j]);
	for (uint32_t j = 0; j < p; j++)
		beside += square((int32_t)a[j * q + q - 1] - b[j * q]);
	up[i] = above << index_bits | c;
	left[i] = beside << index_bits;
	if (c == 0) {
		uint32_t lo = a[0], hi = a[0];
		for (uint32_t j = 1; j < k; j++) {
			lo = a[j] < lo ? a[j] : lo;
			hi = a[j] > hi ? a[j] : hi;
		}
		spans[u] = hi - lo;
	}
}

// The symbol of every block for the index coder; see symbol in index.go. A table is planes of rows x cols blocks, each cut
// into segments of step rows. One warp per block.
KERNEL vq_ranks(uint32_t *__restrict__ symbols,      // m
                const uint16_t *__restrict__ table,  // first + m, of which symbols are made from first on
                const uint32_t *__restrict__ up, const uint32_t *__restrict__ left, const uint32_t *__restrict__ spans,
                uint64_t first, uint64_t m,
                uint32_t n, uint32_t rows, uint32_t cols, uint32_t step,
                uint32_t shift)                      // of the codeword of least mismatch
{
	uint64_t out = thread() / warp_size;
	if (out >= m)
		return;
	uint64_t i = first + out;
	uint32_t c = (uint32_t)(i % cols), r = (uint32_t)(i / cols % rows);
	uint32_t own = below(table[i], n), activity = 0;
	const uint32_t *from_up = nullptr, *from_left = nullptr;
	if (r % step > 0) {
		uint32_t u = below(table[i - cols], n);
		from_up = up + (uint64_t)u * n;
		activity += spans[u];
	}
	if (c > 0) {
		uint32_t u = below(table[i - 1], n);
		from_left = left + (uint64_t)u * n;
		activity += spans[u];
	}
	uint32_t mine = (from_up != nullptr ? from_up[own] : own) + (from_left != nullptr ? from_left[own] : 0);
	uint32_t lesser = 0, nearest = ~0u;
	for (uint32_t j = lane(); j < n; j += warp_size) {
		uint32_t side = (from_up != nullptr ? from_up[j] : j) + (from_left != nullptr ? from_left[j] : 0);
		lesser += side < mine ? 1 : 0;
		nearest = least(nearest, side);
	}
	lesser = warp_sum(lesser);
	nearest = warp_least(nearest);
	if (lane() == 0)
		symbols[out] = lesser | (nearest & index_mask) >> shift << 12 | bit_length(nearest >> index_bits) << 20 |
		               bit_length(activity) << 25;
}

// ---- decoding

// Pixels first to first+count-1 of an index table, with the inverse of the colour transform. One thread per pixel.
KERNEL vq_expand(uint8_t *__restrict__ pixels,              // count x channels
                 const uint16_t *__restrict__ luma,         // slices x grid of luma
                 const uint16_t *__restrict__ chroma,       // slices x (Co, Cg) x grid of chroma; null for grey
                 const uint8_t *__restrict__ words,         // n x K
                 const uint8_t *__restrict__ chroma_words,  // of chroma; null for grey
                 uint64_t first, uint64_t count,
                 uint32_t width, uint32_t height,
                 uint32_t channels,                         // 1 or 3
                 uint32_t half,                             // 1: chroma of half width and height
                 uint32_t p, uint32_t q, uint32_t n, uint32_t n_chroma)
{
	uint64_t i = thread();
	if (i >= count)
		return;
	uint64_t at = first + i;
	uint32_t x = (uint32_t)(at % width);
	uint32_t y = (uint32_t)(at / width % height);
	uint64_t z = at / ((uint64_t)width * height);
	uint32_t k = p * q, rows = (height + p - 1) / p, cols = (width + q - 1) / q;
	uint32_t index = below(luma[(z * rows + y / p) * cols + x / q], n);
	int32_t v = words[index * k + y % p * q + x % q];
	if (channels == 1) {
		pixels[i] = (uint8_t)v;
		return;
	}
	uint32_t h = (height + half) >> half, w = (width + half) >> half;
	uint32_t xx = x >> half, yy = y >> half;
	rows = (h + p - 1) / p;
	cols = (w + q - 1) / q;
	int32_t colour[2];
	for (uint32_t plane = 0; plane < 2; plane++) {
		index = below(chroma[((2 * z + plane) * rows + yy / p) * cols + xx / q], n_chroma);
		colour[plane] = 2 * (int32_t)chroma_words[index * k + yy % p * q + xx % q] - 256;
	}
	int32_t t = v - (colour[1] >> 1), b = t - (colour[0] >> 1);
	pixels[3 * i] = (uint8_t)clip(b + colour[0]);
	pixels[3 * i + 1] = (uint8_t)clip(colour[1] + t);
	pixels[3 * i + 2] = (uint8_t)clip(b);
}

// The pixels of the table for grey pictures of 4x4 blocks whose width is a multiple of 16 and height one of 4: a thread
// takes four blocks beside each other and writes 16 pixels at a time. The launch brings n x 16 bytes of shared memory
// for the codebook.
KERNEL vq_expand_grey(uint32_t *__restrict__ pixels,       // height x width
                      const uint16_t *__restrict__ table,  // height/4 x width/4
                      const words4 *__restrict__ words,    // n
                      uint32_t width, uint32_t height, uint32_t n)
{
	extern __shared__ __attribute__((aligned(16))) words4 s_book[];
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
		s_book[i] = words[i];
	sync_block(); // the codebook is whole
	// A picture has at most 2^30 samples, so that 32 bits count everything.
	uint32_t fours = width / 16, all = fours * (height / 4), step = gridDim.x * blockDim.x;
	uint32_t i = (uint32_t)thread();
	words2 next = i < all ? ((const words2 *)table)[i] : words2{0, 0};
	while (i < all) {
		words2 x = next;
		uint32_t now = i;
		i += step;
		if (i < all)
			next = ((const words2 *)table)[i]; // under way while this one is written
		words4 b0 = s_book[below(x.x & 0xffff, n)], b1 = s_book[below(x.x >> 16, n)];
		words4 b2 = s_book[below(x.y & 0xffff, n)], b3 = s_book[below(x.y >> 16, n)];
		words4 *out = (words4 *)pixels + (now / fours * 4 * fours + now % fours);
		out[0] = words4{b0.x, b1.x, b2.x, b3.x};
		out[fours] = words4{b0.y, b1.y, b2.y, b3.y};
		out[2 * fours] = words4{b0.z, b1.z, b2.z, b3.z};
		out[3 * fours] = words4{b0.w, b1.w, b2.w, b3.w};
	}
}

// Sum of the squared differences of two pictures, for PSNR.
KERNEL vq_error(uint64_t *__restrict__ sum,  // 1, added to
                const uint8_t *__restrict__ a, const uint8_t *__restrict__ b, uint64_t n)
{
	__shared__ uint64_t s_sum[most_warps];
	uint64_t own = 0;
	for (uint64_t i = thread(); i < n; i += (uint64_t)gridDim.x * blockDim.x)
		own += square((int32_t)a[i] - b[i]);
	own = block_sum(own, s_sum);
	if (threadIdx.x == 0)
		__nvvm_atom_add_gen_ll((long long *)sum, (long long)own);
}
