// Kernels that try the helpers of include/ on a card; selftest.go compares their results with the same in Go.
//
// One thread per element, blocks of 256 in one dimension. All sizes are in elements.

#include "include/base.cuh"
#include "include/bits.cuh"
#include "include/scan.cuh"
#include "include/warp.cuh"

// sums[b] and leasts[b] are the sum and the least value of block b.
KERNEL gpu_reduce(uint64_t *__restrict__ sums,      // one per block
                  uint32_t *__restrict__ leasts,    // one per block
                  const uint32_t *__restrict__ in,  // n
                  uint32_t n)
{
	__shared__ uint64_t s_sum[most_warps];
	__shared__ uint32_t s_least[most_warps];
	uint64_t i = thread();
	uint32_t v = i < n ? in[i] : 0;
	uint64_t sum = block_sum((uint64_t)v, s_sum);
	uint32_t least = block_least(i < n ? v : ~0u, s_least);
	if (threadIdx.x == 0) {
		sums[blockIdx.x] = sum;
		leasts[blockIdx.x] = least;
	}
}

// out[i] is the sum of in[0] to in[i-1].
KERNEL gpu_scan(uint64_t *__restrict__ out,       // n
                uint64_t *state,                  // 1 + blocks, zero
                const uint32_t *__restrict__ in,  // n
                uint32_t n)
{
	__shared__ uint64_t s_sum[most_warps];
	__shared__ uint32_t s_tile;
	uint32_t tile = next_tile(state, &s_tile);
	uint64_t i = (uint64_t)tile * blockDim.x + threadIdx.x;
	uint64_t before = grid_sum_before(i < n ? in[i] : 0, state, tile, s_sum);
	if (i < n)
		out[i] = before;
}

// Writes the least counts[i] bits of values[i] at bit at[i], in both orders.
KERNEL gpu_pack(uint32_t *__restrict__ low,            // words, zero
                uint32_t *__restrict__ high,           // words, zero
                const uint32_t *__restrict__ values,   // n
                const uint32_t *__restrict__ counts,   // n, each 0 to 32
                const uint64_t *__restrict__ at,       // n
                uint64_t words, uint32_t n)
{
	uint64_t i = thread();
	if (i >= n)
		return;
	put_low({low, words}, at[i], values[i], counts[i]);
	put_high({high, words}, at[i], values[i], counts[i]);
}

// Reads back what gpu_pack wrote.
KERNEL gpu_unpack(uint32_t *__restrict__ from_low,       // n
                  uint32_t *__restrict__ from_high,      // n
                  const uint32_t *__restrict__ low,      // words
                  const uint32_t *__restrict__ high,     // words
                  const uint32_t *__restrict__ counts,   // n, each 0 to 32
                  const uint64_t *__restrict__ at,       // n
                  uint64_t words, uint32_t n)
{
	uint64_t i = thread();
	if (i >= n)
		return;
	from_low[i] = get_low({low, words}, at[i], counts[i]);
	from_high[i] = get_high({high, words}, at[i], counts[i]);
}
