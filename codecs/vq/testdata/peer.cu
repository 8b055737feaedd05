// The search of the paper (its Algorithm 3) as the yardstick of the benchmarks: one block a thread, 64 threads a block of
// threads, one codeword at a time, distances with the square root in floating point, blocks and codewords in columns.
// Nothing but the benchmarks uses it.

#include "../../../gpu/include/base.cuh"

DEVICE float root(float v)
{
	float r;
	asm("sqrt.rn.f32 %0, %1;" : "=f"(r) : "f"(v));
	return r;
}

KERNEL peer_search(uint32_t *__restrict__ table,       // m
                   const float *__restrict__ blocks,   // k x m
                   const float *__restrict__ words,    // k x n
                   uint32_t m, uint32_t n, uint32_t k)
{
	uint64_t i = thread();
	if (i >= m)
		return;
	uint32_t nearest = 0;
	float shortest = 3.4e38f;
	for (uint32_t c = 0; c < n; c++) {
		float distance = 0;
		for (uint32_t z = 0; z < k; z++) {
			float d = blocks[(uint64_t)z * m + i] - words[z * n + c];
			distance += d * d;
		}
		distance = root(distance);
		nearest = distance < shortest ? c : nearest;
		shortest = distance < shortest ? distance : shortest;
	}
	table[i] = nearest;
}
