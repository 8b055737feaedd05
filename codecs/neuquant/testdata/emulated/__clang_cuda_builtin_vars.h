// Stands in for clang's header where a kernel is compiled for the CPU: the lanes of one warp are coroutines, each of which
// runs up to the next instruction that waits for all of them.
#pragma once

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

struct Place {
	uint32_t x, y, z;
};
static Place threadIdx, blockIdx, blockDim = {32, 1, 1}, gridDim = {1, 1, 1};

namespace emulated
{
constexpr uint32_t lanes = 32;
static ucontext_t lane_context[lanes];
static jmp_buf scheduler, lane_point[lanes]; // which, unlike contexts, cost no calls of the system
static char stacks[lanes][1 << 17];
static uint32_t slot[lanes], running, turn;
static bool begun[lanes], ended[lanes];
static void (*body)();

static void wait()
{
	uint32_t self = threadIdx.x;
	if (_setjmp(lane_point[self]) == 0)
		_longjmp(scheduler, 1);
}

static void enter()
{
	body();
	ended[threadIdx.x] = true;
	_longjmp(scheduler, 1);
}

// Runs f in all lanes. All must meet at the same waits.
static void run(void (*f)())
{
	body = f;
	for (uint32_t i = 0; i < lanes; i++) {
		getcontext(&lane_context[i]);
		lane_context[i].uc_stack.ss_sp = stacks[i];
		lane_context[i].uc_stack.ss_size = sizeof stacks[i];
		lane_context[i].uc_link = nullptr;
		begun[i] = ended[i] = false;
		makecontext(&lane_context[i], enter, 0);
	}
	for (running = lanes; running > 0;) {
		for (turn = 0; turn < lanes; turn++) {
			threadIdx.x = turn;
			if (_setjmp(scheduler) == 0) {
				if (begun[turn])
					_longjmp(lane_point[turn], 1);
				begun[turn] = true;
				setcontext(&lane_context[turn]);
			}
			running -= ended[turn] ? 1 : 0;
		}
		if (running != 0 && running != lanes) {
			fprintf(stderr, "some lanes have ended and others wait for them\n");
			exit(1);
		}
	}
}

// Value v of each lane, for the others.
static void give(uint32_t v)
{
	slot[threadIdx.x] = v;
	wait();
}
} // namespace emulated

static inline void __nvvm_bar_warp_sync(uint32_t) { emulated::wait(); }
static inline void __syncthreads() { emulated::wait(); }

static inline int __nvvm_shfl_sync_idx_i32(uint32_t, int v, int from, int)
{
	emulated::give((uint32_t)v);
	v = (int)emulated::slot[from & 31];
	emulated::wait();
	return v;
}
static inline int __nvvm_shfl_sync_down_i32(uint32_t m, int v, int delta, int)
{
	int from = (int)threadIdx.x + delta;
	return __nvvm_shfl_sync_idx_i32(m, v, from < 32 ? from : (int)threadIdx.x, 31);
}
static inline int __nvvm_shfl_sync_up_i32(uint32_t m, int v, int delta, int)
{
	int from = (int)threadIdx.x - delta;
	return __nvvm_shfl_sync_idx_i32(m, v, from >= 0 ? from : (int)threadIdx.x, 31);
}
static inline int __nvvm_match_any_sync_i32(uint32_t, int v)
{
	emulated::give((uint32_t)v);
	uint32_t same = 0;
	for (uint32_t i = 0; i < emulated::lanes; i++)
		same |= (emulated::slot[i] == (uint32_t)v ? 1u : 0u) << i;
	emulated::wait();
	return (int)same;
}
static inline int __nvvm_vote_ballot_sync(uint32_t, bool p)
{
	emulated::give(p ? 1 : 0);
	uint32_t all = 0;
	for (uint32_t i = 0; i < emulated::lanes; i++)
		all |= emulated::slot[i] << i;
	emulated::wait();
	return (int)all;
}
static inline int __nvvm_atom_add_gen_i(int *p, int v)
{
	int before = *p;
	*p += v;
	return before;
}
static inline int __nvvm_atom_or_gen_i(int *p, int v)
{
	int before = *p;
	*p |= v;
	return before;
}
