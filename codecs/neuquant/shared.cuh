// Code generated from Go structs and constants by make kernels. DO NOT EDIT.
#pragma once

#include "../../gpu/include/base.cuh"

constexpr uint32_t most_entries = 256; // of a palette
constexpr uint32_t opaque_alpha = 4278190080;
constexpr uint32_t bin_bits = 18; // of the number of a bin
constexpr uint32_t bin_parts = 256; // of the bins, of which a warp counts or lists one
constexpr uint32_t thread_colours = 8; // that a thread of nq_bins and nq_map takes
constexpr uint32_t train_warps = 4; // of a block of nq_train, each with a problem of its own
constexpr uint32_t refine_threads = 512; // of a block of nq_refine, which has a problem
constexpr uint32_t network_words = 1312; // of the state of a training between launches

// Problem is a problem of a batch. Colours are R, G, B, A from the lowest byte up. What lies behind the last colour,
// up to a multiple of 256 bytes, may be read, and the index there be written.
struct Problem {
	const uint8_t *samples; // n x 3 of opaque colours; null: values
	const uint32_t *values; // n
	uint8_t *index; // n: of the nearest entry; null: not wanted
	uint32_t *entries; // most_entries
	uint32_t *network; // network_words: state of the training, see train.cuh
	uint64_t *bins; // 1 << bin_bits, zero before: see bins.cuh
	uint32_t *alphas; // 1 << bin_bits, zero before; null where all is opaque
	uint32_t *counts; // bin_parts + 1: occupied bins of each part of the bins, and of all
	uint32_t *colours; // of the occupied bins, in rising order: the mean
	uint32_t *weights; // how many colours
	uint32_t *numbers; // the bin
	uint32_t *rests; // 4 sums, of the bits of the components that the number lacks
	uint8_t *nearest; // the entry
	uint32_t n; // colours
	uint32_t k; // entries
	uint32_t opaque; // 1: all colours have alpha 255
	uint32_t cycle; // samples of a cycle
	uint32_t cycles; // all samples
	uint32_t stride; // colours from sample to sample
	uint32_t decay; // of the learning rate
	uint32_t unused;
};
static_assert(sizeof(Problem) == 136, "Problem");
static_assert(__builtin_offsetof(Problem, samples) == 0, "Samples");
static_assert(__builtin_offsetof(Problem, values) == 8, "Values");
static_assert(__builtin_offsetof(Problem, index) == 16, "Index");
static_assert(__builtin_offsetof(Problem, entries) == 24, "Entries");
static_assert(__builtin_offsetof(Problem, network) == 32, "Network");
static_assert(__builtin_offsetof(Problem, bins) == 40, "Bins");
static_assert(__builtin_offsetof(Problem, alphas) == 48, "Alphas");
static_assert(__builtin_offsetof(Problem, counts) == 56, "Counts");
static_assert(__builtin_offsetof(Problem, colours) == 64, "Colours");
static_assert(__builtin_offsetof(Problem, weights) == 72, "Weights");
static_assert(__builtin_offsetof(Problem, numbers) == 80, "Numbers");
static_assert(__builtin_offsetof(Problem, rests) == 88, "Rests");
static_assert(__builtin_offsetof(Problem, nearest) == 96, "Nearest");
static_assert(__builtin_offsetof(Problem, n) == 104, "N");
static_assert(__builtin_offsetof(Problem, k) == 108, "K");
static_assert(__builtin_offsetof(Problem, opaque) == 112, "Opaque");
static_assert(__builtin_offsetof(Problem, cycle) == 116, "Cycle");
static_assert(__builtin_offsetof(Problem, cycles) == 120, "Cycles");
static_assert(__builtin_offsetof(Problem, stride) == 124, "Stride");
static_assert(__builtin_offsetof(Problem, decay) == 128, "Decay");
static_assert(__builtin_offsetof(Problem, unused) == 132, "Unused");

// TrainParams is what nq_train takes.
struct TrainParams {
	const Problem *list;
	uint32_t count; // problems
	uint32_t first; // sample of this launch
	uint32_t most; // samples of this launch
	uint32_t unused;
};
static_assert(sizeof(TrainParams) == 24, "TrainParams");
static_assert(__builtin_offsetof(TrainParams, list) == 0, "List");
static_assert(__builtin_offsetof(TrainParams, count) == 8, "Count");
static_assert(__builtin_offsetof(TrainParams, first) == 12, "First");
static_assert(__builtin_offsetof(TrainParams, most) == 16, "Most");
static_assert(__builtin_offsetof(TrainParams, unused) == 20, "Unused");
