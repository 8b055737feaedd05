// What the steps have in common.
#pragma once

#include "shared.cuh"
#include "../../gpu/include/alllanes.cuh"

typedef uint32_t words2 __attribute__((ext_vector_type(2)));
typedef uint32_t words4 __attribute__((ext_vector_type(4)));

constexpr uint32_t index_mask = (1u << index_bits) - 1;

DEVICE uint32_t add_to(uint32_t *p, uint32_t v) { return (uint32_t)__nvvm_atom_add_gen_i((int *)p, (int)v); }
DEVICE uint32_t below(uint32_t i, uint32_t n) { return i < n ? i : n - 1; }
DEVICE uint32_t bit_length(uint32_t v) { return v == 0 ? 0 : 32 - (uint32_t)__builtin_clz(v); }
DEVICE int32_t clip(int32_t v) { return v < 0 ? 0 : v > 255 ? 255 : v; }
DEVICE uint32_t square(int32_t d) { return (uint32_t)(d * d); }
