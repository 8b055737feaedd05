// Runs vq_code on the CPU, with a thread for each thread of a block: the segments of standard input, in the form that
// code_test.go writes, to streams on standard output. What CUDA brings is in the copy of base.cuh that the test makes.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <thread>
#include <vector>

struct Place {
	uint32_t x, y, z;
};
static thread_local Place threadIdx;
static Place blockIdx, blockDim, gridDim;
static pthread_barrier_t barrier;

static void __syncthreads() { pthread_barrier_wait(&barrier); }

// Instructions of headers that vq_code does not call.
static void __nvvm_bar_warp_sync(unsigned) { abort(); }
static int __nvvm_atom_add_gen_i(int *, int) { abort(); }
static int __nvvm_shfl_sync_bfly_i32(unsigned, int, int, int) { abort(); }
static int __nvvm_shfl_sync_down_i32(unsigned, int, int, int) { abort(); }
static int __nvvm_shfl_sync_up_i32(unsigned, int, int, int) { abort(); }
static int __nvvm_shfl_sync_idx_i32(unsigned, int, int, int) { abort(); }
static unsigned __nvvm_vote_ballot_sync(unsigned, bool) { abort(); }

extern "C" {
alignas(16) uint32_t s_memory[1 << 16];
}

#include "codecs/vq/code.cuh"

template <typename T> static std::vector<T> read(size_t n)
{
	std::vector<T> v(n);
	if (fread(v.data(), sizeof(T), n, stdin) != n)
		exit(1);
	return v;
}

int main()
{
	auto head = read<uint32_t>(4); // segments, blocks of threads, words of estimates, 1 for those in global memory
	uint32_t count = head[0], words = head[2];
	auto tables = read<Tables>(1);
	std::vector<Segment> list;
	std::vector<std::vector<uint32_t>> symbols;
	std::vector<std::vector<uint8_t>> out;
	for (uint32_t i = 0; i < count; i++) {
		auto s = read<uint32_t>(5);
		symbols.push_back(read<uint32_t>(s[0]));
		out.emplace_back(s[4]);
		list.push_back(Segment{out[i].data(), symbols[i].data(), s[0], s[1], s[2], s[3], s[4], 0});
	}
	std::vector<uint32_t> lengths(count), estimates((size_t)words * head[1], 0xdeadbeef);
	for (uint32_t &v : s_memory)
		v = 0xdeadbeef;
	CodeParams e = {head[3] != 0 ? estimates.data() : nullptr, lengths.data(), list.data(), tables.data(), count, words};
	blockDim.x = 64;
	gridDim.x = head[1];
	pthread_barrier_init(&barrier, nullptr, blockDim.x);
	for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
		std::vector<std::thread> threads;
		for (uint32_t i = 0; i < blockDim.x; i++)
			threads.emplace_back([i, e] {
				threadIdx.x = i;
				vq_code(e);
			});
		for (std::thread &t : threads)
			t.join();
	}
	for (uint32_t i = 0; i < count; i++) {
		fwrite(&lengths[i], sizeof(uint32_t), 1, stdout);
		fwrite(out[i].data(), 1, out[i].size(), stdout);
	}
}
