// Code generated from Go structs and constants by make kernels. DO NOT EDIT.
#pragma once

#include "../../gpu/include/base.cuh"

constexpr uint32_t most_entries = 256; // of a palette
constexpr uint32_t opaque_alpha = 4278190080;
constexpr uint32_t bin_bits = 18; // of the number of a bin
constexpr uint32_t bin_parts = 256; // of the bins, of which a warp counts or lists one
constexpr uint32_t thread_colours = 8; // that a thread of nq_map takes
constexpr uint32_t bin_threads = 512; // of a block of nq_bins
constexpr uint32_t bin_colours = 16; // that each of them takes
constexpr uint32_t census_indices = 32; // that a thread of nq_census counts
constexpr uint32_t train_warps = 4; // of a block of nq_train, each with a problem of its own
constexpr uint32_t refine_threads = 512; // of a block of nq_refine, which has a problem
constexpr uint32_t network_words = 1312; // of the state of a training between launches
constexpr uint32_t look_threads = 32; // of a block of nq_look and nq_divide, which has a stream
constexpr uint32_t look_bits = 14; // of the hashes whose table a warp of nq_look has in shared memory
constexpr uint32_t parse_threads = 128; // of a block of nq_parse, which has a stream
constexpr uint32_t pack_threads = 256; // of a block of nq_pack, which has a block of a stream
constexpr uint32_t planned_chunks = 5; // that nq_parse plans at the same time
constexpr uint32_t chunk_bytes = 1024; // that are searched and planned at once
constexpr uint32_t most_tokens = 131072; // between two ends of segments that are written
constexpr uint32_t segment_tokens = 2048; // of the shortest segment but the last
constexpr uint32_t most_segments = 64; // that are joined
constexpr uint32_t least_hash_bits = 9;
constexpr uint32_t long_hash_bits = 15; // of the tables of four and of six bytes
constexpr uint32_t short_hash_bits = 13; // of the table of three bytes
constexpr uint32_t most_short = 8192; // distance of a match of three bytes
constexpr uint32_t search_depth = 100;
constexpr uint32_t search_depth_behind = 4;
constexpr uint32_t good_match = 64; // that is taken at once
constexpr uint32_t symbol_count = 286; // of literals, the end of a block and lengths
constexpr uint32_t distance_symbols = 30;

// Problem is a problem of a batch. Colours are R, G, B, A from the lowest byte up. Colours are read and indices written
// in groups of four, also where the last colours are no whole group.
struct Problem {
	const uint8_t *samples; // n x 3 of opaque colours; null: values
	const uint32_t *values; // n
	uint8_t *index; // n: of the nearest entry; null: not wanted
	uint8_t *picture; // n x 3: the entry of each index; null: not wanted
	uint32_t *uses; // most_entries, zero before: indices of each entry; null: not wanted
	uint8_t *rows; // rows of a PNG file, zero before: n/width x (1 + width); null: not wanted
	const uint8_t *places; // most_entries: the place of each entry in the file
	uint32_t *entries; // most_entries
	uint32_t *network; // network_words: state of the training, see train.cuh
	uint64_t *bins; // 2 << bin_bits, zero before: see bins.cuh
	uint32_t *alphas; // 1 << bin_bits, zero before; null where all is opaque
	uint32_t *occupied; // 1 << bin_bits bits, zero before
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
	uint32_t width; // of the picture that has rows
};
static_assert(sizeof(Problem) == 176, "Problem");
static_assert(__builtin_offsetof(Problem, samples) == 0, "Samples");
static_assert(__builtin_offsetof(Problem, values) == 8, "Values");
static_assert(__builtin_offsetof(Problem, index) == 16, "Index");
static_assert(__builtin_offsetof(Problem, picture) == 24, "Picture");
static_assert(__builtin_offsetof(Problem, uses) == 32, "Uses");
static_assert(__builtin_offsetof(Problem, rows) == 40, "Rows");
static_assert(__builtin_offsetof(Problem, places) == 48, "Places");
static_assert(__builtin_offsetof(Problem, entries) == 56, "Entries");
static_assert(__builtin_offsetof(Problem, network) == 64, "Network");
static_assert(__builtin_offsetof(Problem, bins) == 72, "Bins");
static_assert(__builtin_offsetof(Problem, alphas) == 80, "Alphas");
static_assert(__builtin_offsetof(Problem, occupied) == 88, "Occupied");
static_assert(__builtin_offsetof(Problem, counts) == 96, "Counts");
static_assert(__builtin_offsetof(Problem, colours) == 104, "Colours");
static_assert(__builtin_offsetof(Problem, weights) == 112, "Weights");
static_assert(__builtin_offsetof(Problem, numbers) == 120, "Numbers");
static_assert(__builtin_offsetof(Problem, rests) == 128, "Rests");
static_assert(__builtin_offsetof(Problem, nearest) == 136, "Nearest");
static_assert(__builtin_offsetof(Problem, n) == 144, "N");
static_assert(__builtin_offsetof(Problem, k) == 148, "K");
static_assert(__builtin_offsetof(Problem, opaque) == 152, "Opaque");
static_assert(__builtin_offsetof(Problem, cycle) == 156, "Cycle");
static_assert(__builtin_offsetof(Problem, cycles) == 160, "Cycles");
static_assert(__builtin_offsetof(Problem, stride) == 164, "Stride");
static_assert(__builtin_offsetof(Problem, decay) == 168, "Decay");
static_assert(__builtin_offsetof(Problem, width) == 172, "Width");

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

struct Segment {
	uint32_t tokens;
	uint32_t bytes;
	uint32_t ends;
	uint32_t unused;
	uint32_t symbols[286];
	uint32_t distances[30];
};
static_assert(sizeof(Segment) == 1280, "Segment");
static_assert(__builtin_offsetof(Segment, tokens) == 0, "Tokens");
static_assert(__builtin_offsetof(Segment, bytes) == 4, "Bytes");
static_assert(__builtin_offsetof(Segment, ends) == 8, "Ends");
static_assert(__builtin_offsetof(Segment, unused) == 12, "Unused");
static_assert(__builtin_offsetof(Segment, symbols) == 16, "Symbols");
static_assert(__builtin_offsetof(Segment, distances) == 1160, "Distances");

// Stream is the rows of an image that are parsed. Words of four bytes are read around them.
struct Stream {
	const uint8_t *data; // n
	uint16_t *hashes; // 3 x room: of three, of four and of six bytes
	uint16_t *places; // 3 x room: where they were before
	uint32_t *near; // n: the larger key of the nearest strings of three and of four bytes
	uint32_t *chained; // n: the key of that of six bytes
	uint32_t *longest; // n: the key of the longest match
	uint32_t *good; // n bits: whether a good match may begin there
	uint32_t *chunks; // three words each
	uint32_t *tokens; // n
	Segment *segments; // most
	uint32_t *counts; // of the tokens, the segments and the chunks; 0 where the steps did not suffice
	uint32_t n; // bytes
	uint32_t room; // of the hashes of one length, n or more
	uint32_t most; // segments
	uint32_t steps; // that the search for where chunks begin may take
};
static_assert(sizeof(Stream) == 104, "Stream");
static_assert(__builtin_offsetof(Stream, data) == 0, "Data");
static_assert(__builtin_offsetof(Stream, hashes) == 8, "Hashes");
static_assert(__builtin_offsetof(Stream, places) == 16, "Places");
static_assert(__builtin_offsetof(Stream, near) == 24, "Near");
static_assert(__builtin_offsetof(Stream, chained) == 32, "Chained");
static_assert(__builtin_offsetof(Stream, longest) == 40, "Longest");
static_assert(__builtin_offsetof(Stream, good) == 48, "Good");
static_assert(__builtin_offsetof(Stream, chunks) == 56, "Chunks");
static_assert(__builtin_offsetof(Stream, tokens) == 64, "Tokens");
static_assert(__builtin_offsetof(Stream, segments) == 72, "Segments");
static_assert(__builtin_offsetof(Stream, counts) == 80, "Counts");
static_assert(__builtin_offsetof(Stream, n) == 88, "N");
static_assert(__builtin_offsetof(Stream, room) == 92, "Room");
static_assert(__builtin_offsetof(Stream, most) == 96, "Most");
static_assert(__builtin_offsetof(Stream, steps) == 100, "Steps");

struct Block {
	uint32_t bit;
	uint32_t first;
	uint32_t tokens;
	uint32_t bits;
	uint32_t firsts[512];
	uint32_t distances[32];
};
static_assert(sizeof(Block) == 2192, "Block");
static_assert(__builtin_offsetof(Block, bit) == 0, "Bit");
static_assert(__builtin_offsetof(Block, first) == 4, "First");
static_assert(__builtin_offsetof(Block, tokens) == 8, "Tokens");
static_assert(__builtin_offsetof(Block, bits) == 12, "Bits");
static_assert(__builtin_offsetof(Block, firsts) == 16, "Firsts");
static_assert(__builtin_offsetof(Block, distances) == 2064, "Distances");

// Pack is a block of a stream whose tokens are written.
struct Pack {
	const uint32_t *tokens; // of the stream
	uint32_t *out; // words: the stream from its first byte on
	const Block *block;
	uint32_t words;
	uint32_t unused;
};
static_assert(sizeof(Pack) == 32, "Pack");
static_assert(__builtin_offsetof(Pack, tokens) == 0, "Tokens");
static_assert(__builtin_offsetof(Pack, out) == 8, "Out");
static_assert(__builtin_offsetof(Pack, block) == 16, "Block");
static_assert(__builtin_offsetof(Pack, words) == 24, "Words");
static_assert(__builtin_offsetof(Pack, unused) == 28, "Unused");
