// What kernels need of CUDA, for clang without NVIDIA's headers:
//
//   clang-19 -x cuda --cuda-device-only --cuda-gpu-arch=sm_75 -nocudainc -nocudalib -ffp-contract=off -O3 -S
//
// Qualifiers, threadIdx and its kin, and thin names for instructions. "make kernels" compiles; see package gputest.
//
// The headers of this folder hold device functions for all codecs. Each says which threads call it and which of them
// hold the result. Results do not depend on the order in which threads run: sums and minima of integers only.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __restrict__ __restrict

#include <__clang_cuda_builtin_vars.h>

#define KERNEL extern "C" __global__ void
#define DEVICE static inline __device__ __attribute__((always_inline))

constexpr uint32_t warp_size = 32;
constexpr uint32_t whole_warp = 0xffffffffu;

// Position of the thread in its one-dimensional block and of the thread in the grid.
DEVICE uint32_t lane() { return threadIdx.x % warp_size; }
DEVICE uint32_t warp() { return threadIdx.x / warp_size; }
DEVICE uint64_t thread() { return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; }

// All threads of the block: waits, and makes their writes to shared and global memory visible to each other.
DEVICE void sync_block() { __syncthreads(); }

// All 32 threads of the warp.
DEVICE void sync_warp() { __nvvm_bar_warp_sync(whole_warp); }

// Dot product of four unsigned bytes with four others, plus c.
DEVICE uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t d;
	asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
	return d;
}

DEVICE uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }
DEVICE uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

// Bits 32-s to 63-s of high:low; s is 0 to 32.
DEVICE uint32_t funnel_left(uint32_t low, uint32_t high, uint32_t s)
{
	uint32_t d;
	asm("shf.l.clamp.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(low), "r"(high), "r"(s));
	return d;
}

// Bits s to s+31 of high:low; s is 0 to 32.
DEVICE uint32_t funnel_right(uint32_t low, uint32_t high, uint32_t s)
{
	uint32_t d;
	asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(low), "r"(high), "r"(s));
	return d;
}

// The four bytes in reverse order.
DEVICE uint32_t swap_bytes(uint32_t v) { return __builtin_bswap32(v); }

// A view of n elements that no access leaves: a kernel that gets wrong sizes loses its result, never another's memory.
template <typename T> struct Span {
	T *at;
	uint64_t n;

	__device__ T load(uint64_t i, T otherwise) const { return i < n ? at[i] : otherwise; }
	__device__ void store(uint64_t i, T v) const
	{
		if (i < n)
			at[i] = v;
	}
};
