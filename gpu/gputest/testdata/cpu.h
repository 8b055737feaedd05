// Runs kernels on a CPU, one block after the other: each thread of a block is a fiber, which goes on until it comes to a
// barrier or a function of its warp. A barrier that only a part of a block reaches ends the program.
//
// A program includes this file, then the kernels, and calls run_block for each block with body set to a call of the kernel. What
// kernels have in shared memory is static memory, and what a launch brings is s_memory, which the program defines.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct Dimension {
	unsigned x, y, z;
};
static Dimension threadIdx, blockIdx, blockDim, gridDim;

static void __syncthreads();
static float __nvvm_div_approx_ftz_f(float a, float b) { return a / b; }
static void __nvvm_bar_warp_sync(uint32_t);
static int __nvvm_shfl_sync_down_i32(uint32_t, int, int, int);
static int __nvvm_shfl_sync_up_i32(uint32_t, int, int, int);
static int __nvvm_shfl_sync_idx_i32(uint32_t, int, int, int);
static int __nvvm_shfl_sync_bfly_i32(uint32_t, int, int, int);
static uint32_t __nvvm_vote_ballot_sync(uint32_t, bool);
static long long __nvvm_atom_add_gen_ll(long long *p, long long v) { *p += v; return *p - v; }
static int __nvvm_atom_add_gen_i(int *p, int v) { *p += v; return *p - v; }

extern "C" void switch_to(void **from, void *to);
asm(".globl switch_to\nswitch_to:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");

constexpr int most_threads = 256, stack_bytes = 256 << 10;

struct Fiber {
	void *sp;
	char *stack;
	bool ended;
	uint64_t barriers; // of the block that it has come to
	uint64_t meetings; // of its warp
	int value, result;
};
static Fiber fibers[most_threads];
static void *scheduler;
static int current, threads;
static void (*body)();

static void give_way() { switch_to(&fibers[current].sp, scheduler); }

static void start()
{
	body();
	fibers[current].ended = true;
	give_way();
}

static void die(const char *why)
{
	fprintf(stderr, "block %u, thread %d: %s\n", blockIdx.y, current, why);
	abort();
}

// Waits until fibers from to to-1 have called as often.
static void meet(int from, int to, uint64_t Fiber::*count)
{
	uint64_t own = ++(fibers[current].*count);
	for (;;) {
		bool all = true;
		for (int i = from; i < to; i++) {
			if (fibers[i].*count < own) {
				if (fibers[i].ended)
					die("waits for a thread that has ended");
				all = false;
			}
		}
		if (all)
			return;
		give_way();
	}
}

static void __syncthreads() { meet(0, threads, &Fiber::barriers); }

static void meet_warp() { meet(current / 32 * 32, current / 32 * 32 + 32, &Fiber::meetings); }

static void __nvvm_bar_warp_sync(uint32_t) { meet_warp(); }

// The value of the lane that pick returns. Values stay until all have taken theirs.
template <typename Pick> static int exchange_lanes(int value, Pick pick)
{
	int at = current;
	fibers[at].value = value;
	meet_warp();
	int from = pick(at % 32);
	int v = fibers[at / 32 * 32 + (from < 0 || from > 31 ? at % 32 : from)].value;
	meet_warp();
	return v;
}

static int __nvvm_shfl_sync_down_i32(uint32_t, int v, int delta, int)
{
	return exchange_lanes(v, [=](int i) { return i + delta; });
}
static int __nvvm_shfl_sync_up_i32(uint32_t, int v, int delta, int)
{
	return exchange_lanes(v, [=](int i) { return i - delta; });
}
static int __nvvm_shfl_sync_idx_i32(uint32_t, int v, int from, int)
{
	return exchange_lanes(v, [=](int) { return from & 31; });
}
static int __nvvm_shfl_sync_bfly_i32(uint32_t, int v, int with, int)
{
	return exchange_lanes(v, [=](int i) { return i ^ with; });
}
static uint32_t __nvvm_vote_ballot_sync(uint32_t, bool p)
{
	int at = current;
	fibers[at].value = p;
	meet_warp();
	uint32_t all = 0;
	for (int i = 0; i < 32; i++)
		all |= (uint32_t)fibers[at / 32 * 32 + i].value << i;
	meet_warp();
	return all;
}

static uint32_t least_of_lanes(uint32_t v)
{
	for (int d = 16; d > 0; d /= 2) {
		uint32_t other = (uint32_t)__nvvm_shfl_sync_bfly_i32(~0u, (int)v, d, 31);
		v = other < v ? other : v;
	}
	return v;
}

static uint32_t sum_of_lanes(uint32_t v)
{
	for (int d = 16; d > 0; d /= 2)
		v += (uint32_t)__nvvm_shfl_sync_bfly_i32(~0u, (int)v, d, 31);
	return v;
}

// The product of a matrix of 16 rows and 4 columns with one of 4 rows and 8 columns, plus base: PTX's mma.m16n8k4. Lane 4g+t has
// the bits of column t of rows g and g+8 of the first in x0 and x1, of row t of column g of the second in c, and in d and base
// columns 2t and 2t+1 of row g, then those of row g+8. It ends the program where a factor has more bits than the instruction takes.
template <typename Base> static void multiply_lanes(float (&d)[4], uint32_t x0, uint32_t x1, uint32_t c, Base base)
{
	if (((x0 | x1 | c) & 0x1fff) != 0)
		die("a factor of more than 11 bits");
	for (int i = 0; i < 4; i++)
		d[i] = base[i];
	for (int k = 0; k < 4; k++) {
		float row[2], column[2];
		for (int i = 0; i < 2; i++) {
			int r = exchange_lanes((int)(i == 0 ? x0 : x1), [=](int lane) { return lane / 4 * 4 + k; });
			int s = exchange_lanes((int)c, [=](int lane) { return (lane % 4 * 2 + i) * 4 + k; });
			memcpy(&row[i], &r, 4);
			memcpy(&column[i], &s, 4);
		}
		for (int i = 0; i < 4; i++)
			d[i] += row[i / 2] * column[i % 2];
	}
}

static void run_block(int n)
{
	threads = n;
	blockDim = {(unsigned)n, 1, 1};
	for (int i = 0; i < n; i++) {
		Fiber &f = fibers[i];
		if (f.stack == nullptr)
			f.stack = (char *)malloc(stack_bytes);
		f.ended = false;
		f.barriers = f.meetings = 0;
		void **top = (void **)(((uintptr_t)f.stack + stack_bytes) / 16 * 16);
		*--top = nullptr;
		*--top = (void *)start;
		for (int r = 0; r < 6; r++)
			*--top = nullptr;
		f.sp = top;
	}
	for (bool left = true; left;) {
		left = false;
		// Backwards and forwards in turns: results may not depend on the order.
		static bool back;
		back = !back;
		for (int k = 0; k < n; k++) {
			int i = back ? n - 1 - k : k;
			if (fibers[i].ended)
				continue;
			left = true;
			current = i;
			threadIdx = {(unsigned)i, 0, 0};
			switch_to(&scheduler, fibers[i].sp);
		}
	}
}

// Memory of n bytes that ends where a page ends behind which there is none.
struct Guarded {
	char *pages;
	size_t size;
	char *at;

	explicit Guarded(size_t n)
	{
		constexpr size_t page = 4096;
		size = (n + page - 1) / page * page + page;
		pages = (char *)mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pages == MAP_FAILED || mprotect(pages + size - page, page, PROT_NONE) != 0)
			abort();
		at = pages + size - page - n;
	}
	~Guarded() { munmap(pages, size); }
};
