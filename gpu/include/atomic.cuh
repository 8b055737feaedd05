// Additions to global memory. Any thread calls, each for itself.
#pragma once

#include "base.cuh"

// Adds v in global memory, and nobody reads what was there.
DEVICE void add_global(uint32_t *p, uint32_t v)
{
	asm volatile("red.global.add.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}

DEVICE void add_global(uint64_t *p, uint64_t v)
{
	asm volatile("red.global.add.u64 [%0], %1;" : : "l"(p), "l"(v) : "memory");
}
