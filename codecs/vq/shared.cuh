// Code generated from Go structs and constants by make kernels. DO NOT EDIT.
#pragma once

#include "../../gpu/include/base.cuh"

constexpr uint32_t index_bits = 12; // of a key
constexpr uint32_t most_codewords = 4096;
constexpr uint32_t seed_blocks = 16; // to draw from, for each codeword
constexpr uint32_t seed_rounds = 8; // a round adds one codeword for every so many that there are
constexpr uint64_t sample_seed = 2;
constexpr uint32_t block_threads = 1024; // where an item has one block of threads
constexpr uint32_t search_threads = 256;
constexpr uint32_t search_many = 1024; // blocks for a block of threads
constexpr uint32_t search_many_64 = 512; // likewise, of 64 samples
constexpr uint32_t search_few = 256; // likewise, where there are few
constexpr uint32_t activities = 10; // bit lengths of an activity
constexpr uint32_t mismatches = 22; // and of a mismatch
constexpr uint32_t surrounds = 13;
constexpr uint32_t mixed = 4; // contexts of a decision
constexpr uint32_t context_start_1 = 220;
constexpr uint32_t context_start_2 = 506;
constexpr uint32_t context_start_3 = 636;
constexpr uint32_t no_rank = 2; // bit length that stands for the rank of a missing neighbour
constexpr uint32_t mix_start = 16384; // first weight of an estimate
constexpr uint32_t mix_shift = 15; // rate of the weights
constexpr uint32_t prob_min = 32; // of a probability, in 1/65536
constexpr uint32_t adapt_limit = 60; // of the decisions that an estimate counts
constexpr uint32_t chunk_blocks = 32; // that the model is ahead of the range coder
constexpr uint32_t chunk_decisions = 736;
constexpr uint32_t decisions_room = 768; // with a word of each lane for what is none
constexpr uint32_t expect_one = 2147483648; // of a decision: it is 1
constexpr uint32_t expect_left = 131071; // of a decision: what it leaves of the range, in 1/65536

// Image is an image and where its blocks go.
struct Image {
	uint8_t *luma; // slices x grid of luma x K
	uint8_t *chroma; // slices x (Co, Cg) x grid of chroma x K; null for grey
	const uint8_t *pixels; // slices x height x width x channels
	uint32_t width;
	uint32_t height;
	uint32_t slices;
	uint32_t channels; // 1 or 3
	uint32_t half; // 1: chroma of half width and height
	uint32_t p; // rows of a block
	uint32_t q; // columns of a block
	uint32_t unused;
};
static_assert(sizeof(Image) == 56, "Image");
static_assert(__builtin_offsetof(Image, luma) == 0, "Luma");
static_assert(__builtin_offsetof(Image, chroma) == 8, "Chroma");
static_assert(__builtin_offsetof(Image, pixels) == 16, "Pixels");
static_assert(__builtin_offsetof(Image, width) == 24, "Width");
static_assert(__builtin_offsetof(Image, height) == 28, "Height");
static_assert(__builtin_offsetof(Image, slices) == 32, "Slices");
static_assert(__builtin_offsetof(Image, channels) == 36, "Channels");
static_assert(__builtin_offsetof(Image, half) == 40, "Half");
static_assert(__builtin_offsetof(Image, p) == 44, "P");
static_assert(__builtin_offsetof(Image, q) == 48, "Q");
static_assert(__builtin_offsetof(Image, unused) == 52, "Unused");

// Sample is blocks to train on, drawn from all.
struct Sample {
	uint32_t *out; // most x K
	const uint32_t *blocks; // m x K
	uint32_t m;
	uint32_t most;
	uint32_t k;
	uint32_t unused;
};
static_assert(sizeof(Sample) == 32, "Sample");
static_assert(__builtin_offsetof(Sample, out) == 0, "Out");
static_assert(__builtin_offsetof(Sample, blocks) == 8, "Blocks");
static_assert(__builtin_offsetof(Sample, m) == 16, "M");
static_assert(__builtin_offsetof(Sample, most) == 20, "Most");
static_assert(__builtin_offsetof(Sample, k) == 24, "K");
static_assert(__builtin_offsetof(Sample, unused) == 28, "Unused");

// Search is a search for the nearest codewords.
struct Search {
	uint64_t *keys; // m; may be null
	uint16_t *table; // m; may be null
	const uint32_t *blocks; // m x K
	const uint32_t *words; // n x K
	const uint32_t *rest; // not 0: there is nothing to do; may be null
	uint32_t m;
	uint32_t n;
};
static_assert(sizeof(Search) == 48, "Search");
static_assert(__builtin_offsetof(Search, keys) == 0, "Keys");
static_assert(__builtin_offsetof(Search, table) == 8, "Table");
static_assert(__builtin_offsetof(Search, blocks) == 16, "Blocks");
static_assert(__builtin_offsetof(Search, words) == 24, "Words");
static_assert(__builtin_offsetof(Search, rest) == 32, "Rest");
static_assert(__builtin_offsetof(Search, m) == 40, "M");
static_assert(__builtin_offsetof(Search, n) == 44, "N");

// SearchParams is what the searches take.
struct SearchParams {
	Search one; // the only one, which a kernel has at hand sooner than from a list
	const Search *list; // of several; null: there is one
	uint32_t most; // codewords that take part, of each codebook
	uint32_t unused;
};
static_assert(sizeof(SearchParams) == 64, "SearchParams");
static_assert(__builtin_offsetof(SearchParams, one) == 0, "One");
static_assert(__builtin_offsetof(SearchParams, list) == 48, "List");
static_assert(__builtin_offsetof(SearchParams, most) == 56, "Most");
static_assert(__builtin_offsetof(SearchParams, unused) == 60, "Unused");

// Training is one codebook in training.
struct Training {
	const uint32_t *blocks; // m x K
	uint64_t *keys; // m, of the last search
	uint8_t *words; // n x K
	uint8_t *last; // n x K, words as they were before the pass
	uint32_t *sums; // n x K; 0 before the blocks are added up
	uint32_t *counts; // n; likewise
	uint64_t *far; // n, of vq_farthest; 0 before
	uint8_t *a; // n x K, the codewords of the first halves of the cells
	uint8_t *b; // n x K, of the second ones
	uint64_t *gains; // n, of the halves
	int16_t *directions; // n x K, twice from the first half to the second
	int32_t *limits; // n, of the products with directions, beyond which the second half is
	uint32_t *beyond; // n x K, sums of the second halves; 0 between the steps
	uint32_t *beyond_counts; // n; likewise
	uint64_t *others; // n, keys of the nearest other codewords
	uint64_t *costs; // n, what it costs when a cell joins that of the other
	uint16_t *cheap; // n, the cells by ascending cost
	uint16_t *dear; // n, the cells by descending gain
	uint32_t *near; // of the blocks that the first codewords are drawn from
	uint32_t *state; // see State in train.cuh; 0 at first
	uint32_t m;
	uint32_t n;
	uint32_t k;
	uint32_t unused;
};
static_assert(sizeof(Training) == 176, "Training");
static_assert(__builtin_offsetof(Training, blocks) == 0, "Blocks");
static_assert(__builtin_offsetof(Training, keys) == 8, "Keys");
static_assert(__builtin_offsetof(Training, words) == 16, "Words");
static_assert(__builtin_offsetof(Training, last) == 24, "Last");
static_assert(__builtin_offsetof(Training, sums) == 32, "Sums");
static_assert(__builtin_offsetof(Training, counts) == 40, "Counts");
static_assert(__builtin_offsetof(Training, far) == 48, "Far");
static_assert(__builtin_offsetof(Training, a) == 56, "A");
static_assert(__builtin_offsetof(Training, b) == 64, "B");
static_assert(__builtin_offsetof(Training, gains) == 72, "Gains");
static_assert(__builtin_offsetof(Training, directions) == 80, "Directions");
static_assert(__builtin_offsetof(Training, limits) == 88, "Limits");
static_assert(__builtin_offsetof(Training, beyond) == 96, "Beyond");
static_assert(__builtin_offsetof(Training, beyond_counts) == 104, "BeyondCounts");
static_assert(__builtin_offsetof(Training, others) == 112, "Others");
static_assert(__builtin_offsetof(Training, costs) == 120, "Costs");
static_assert(__builtin_offsetof(Training, cheap) == 128, "Cheap");
static_assert(__builtin_offsetof(Training, dear) == 136, "Dear");
static_assert(__builtin_offsetof(Training, near) == 144, "Near");
static_assert(__builtin_offsetof(Training, state) == 152, "State");
static_assert(__builtin_offsetof(Training, m) == 160, "M");
static_assert(__builtin_offsetof(Training, n) == 164, "N");
static_assert(__builtin_offsetof(Training, k) == 168, "K");
static_assert(__builtin_offsetof(Training, unused) == 172, "Unused");

// Index is an index table.
struct Index {
	uint16_t *table; // m
	uint32_t *counts; // most, added to
	const uint16_t *to; // the new numbers; null where all codewords are used
	const uint8_t *words; // n x p x q
	uint32_t *up; // n x n: lower edge of u against upper edge of c, and c
	uint32_t *left; // n x n: right edge of u against left edge of c
	uint32_t *spans; // n: greatest less least sample
	uint32_t *symbols; // m
	uint32_t m;
	uint32_t n; // codewords
	uint32_t most; // codewords before the renumbering
	uint32_t rows; // blocks of a plane, downwards
	uint32_t cols; // and across
	uint32_t step; // rows of a segment
	uint32_t shift; // of the codeword of least mismatch
	uint32_t p;
	uint32_t q;
	uint32_t unused;
};
static_assert(sizeof(Index) == 104, "Index");
static_assert(__builtin_offsetof(Index, table) == 0, "Table");
static_assert(__builtin_offsetof(Index, counts) == 8, "Counts");
static_assert(__builtin_offsetof(Index, to) == 16, "To");
static_assert(__builtin_offsetof(Index, words) == 24, "Words");
static_assert(__builtin_offsetof(Index, up) == 32, "Up");
static_assert(__builtin_offsetof(Index, left) == 40, "Left");
static_assert(__builtin_offsetof(Index, spans) == 48, "Spans");
static_assert(__builtin_offsetof(Index, symbols) == 56, "Symbols");
static_assert(__builtin_offsetof(Index, m) == 64, "M");
static_assert(__builtin_offsetof(Index, n) == 68, "N");
static_assert(__builtin_offsetof(Index, most) == 72, "Most");
static_assert(__builtin_offsetof(Index, rows) == 76, "Rows");
static_assert(__builtin_offsetof(Index, cols) == 80, "Cols");
static_assert(__builtin_offsetof(Index, step) == 84, "Step");
static_assert(__builtin_offsetof(Index, shift) == 88, "Shift");
static_assert(__builtin_offsetof(Index, p) == 92, "P");
static_assert(__builtin_offsetof(Index, q) == 96, "Q");
static_assert(__builtin_offsetof(Index, unused) == 100, "Unused");

struct ResumeParams {
	const Training *list;
	uint32_t count;
	uint32_t all; // 1: also where split has all codewords
};
static_assert(sizeof(ResumeParams) == 16, "ResumeParams");
static_assert(__builtin_offsetof(ResumeParams, list) == 0, "List");
static_assert(__builtin_offsetof(ResumeParams, count) == 8, "Count");
static_assert(__builtin_offsetof(ResumeParams, all) == 12, "All");

struct AddParams {
	const Training *list;
	uint32_t most;
	uint32_t shared; // bytes of shared memory that the launch brings
};
static_assert(sizeof(AddParams) == 16, "AddParams");
static_assert(__builtin_offsetof(AddParams, list) == 0, "List");
static_assert(__builtin_offsetof(AddParams, most) == 8, "Most");
static_assert(__builtin_offsetof(AddParams, shared) == 12, "Shared");

struct HalvesParams {
	const Training *list;
	uint32_t most;
	uint32_t first; // 1: start from the farthest blocks
};
static_assert(sizeof(HalvesParams) == 16, "HalvesParams");
static_assert(__builtin_offsetof(HalvesParams, list) == 0, "List");
static_assert(__builtin_offsetof(HalvesParams, most) == 8, "Most");
static_assert(__builtin_offsetof(HalvesParams, first) == 12, "First");

struct OrderParams {
	const Training *list;
	uint32_t most;
	uint32_t costs; // 1: by costs, too
};
static_assert(sizeof(OrderParams) == 16, "OrderParams");
static_assert(__builtin_offsetof(OrderParams, list) == 0, "List");
static_assert(__builtin_offsetof(OrderParams, most) == 8, "Most");
static_assert(__builtin_offsetof(OrderParams, costs) == 12, "Costs");

struct ShiftParams {
	const Training *list;
	uint32_t most;
	uint32_t bold;
	uint32_t over;
	uint32_t unused;
};
static_assert(sizeof(ShiftParams) == 24, "ShiftParams");
static_assert(__builtin_offsetof(ShiftParams, list) == 0, "List");
static_assert(__builtin_offsetof(ShiftParams, most) == 8, "Most");
static_assert(__builtin_offsetof(ShiftParams, bold) == 12, "Bold");
static_assert(__builtin_offsetof(ShiftParams, over) == 16, "Over");
static_assert(__builtin_offsetof(ShiftParams, unused) == 20, "Unused");

// Expansion is pixels of an image that its index tables are expanded to.
struct Expansion {
	uint8_t *pixels; // count x channels
	const uint16_t *luma; // slices x grid of luma
	const uint16_t *chroma; // slices x (Co, Cg) x grid of chroma; null for grey
	const uint8_t *words; // n x K
	const uint8_t *chroma_words; // n_chroma x K; null for grey
	uint64_t first;
	uint64_t count;
	uint32_t width;
	uint32_t height;
	uint32_t channels; // 1 or 3
	uint32_t half; // 1: chroma of half width and height
	uint32_t p;
	uint32_t q;
	uint32_t n;
	uint32_t n_chroma;
};
static_assert(sizeof(Expansion) == 88, "Expansion");
static_assert(__builtin_offsetof(Expansion, pixels) == 0, "Pixels");
static_assert(__builtin_offsetof(Expansion, luma) == 8, "Luma");
static_assert(__builtin_offsetof(Expansion, chroma) == 16, "Chroma");
static_assert(__builtin_offsetof(Expansion, words) == 24, "Words");
static_assert(__builtin_offsetof(Expansion, chroma_words) == 32, "ChromaWords");
static_assert(__builtin_offsetof(Expansion, first) == 40, "First");
static_assert(__builtin_offsetof(Expansion, count) == 48, "Count");
static_assert(__builtin_offsetof(Expansion, width) == 56, "Width");
static_assert(__builtin_offsetof(Expansion, height) == 60, "Height");
static_assert(__builtin_offsetof(Expansion, channels) == 64, "Channels");
static_assert(__builtin_offsetof(Expansion, half) == 68, "Half");
static_assert(__builtin_offsetof(Expansion, p) == 72, "P");
static_assert(__builtin_offsetof(Expansion, q) == 76, "Q");
static_assert(__builtin_offsetof(Expansion, n) == 80, "N");
static_assert(__builtin_offsetof(Expansion, n_chroma) == 84, "NChroma");

struct ExpandGreyParams {
	uint8_t *pixels; // height x width
	const uint16_t *table; // height/4 x width/4
	const uint8_t *words; // n x 16
	uint32_t width;
	uint32_t height;
	uint32_t n;
	uint32_t unused;
};
static_assert(sizeof(ExpandGreyParams) == 40, "ExpandGreyParams");
static_assert(__builtin_offsetof(ExpandGreyParams, pixels) == 0, "Pixels");
static_assert(__builtin_offsetof(ExpandGreyParams, table) == 8, "Table");
static_assert(__builtin_offsetof(ExpandGreyParams, words) == 16, "Words");
static_assert(__builtin_offsetof(ExpandGreyParams, width) == 24, "Width");
static_assert(__builtin_offsetof(ExpandGreyParams, height) == 28, "Height");
static_assert(__builtin_offsetof(ExpandGreyParams, n) == 32, "N");
static_assert(__builtin_offsetof(ExpandGreyParams, unused) == 36, "Unused");

// Segment is a segment of an index table to code.
struct Segment {
	uint8_t *out; // room
	const uint32_t *symbols; // blocks
	uint32_t blocks;
	uint32_t cols; // blocks of a row
	uint32_t n; // codewords
	uint32_t contexts;
	uint32_t room;
	uint32_t unused;
};
static_assert(sizeof(Segment) == 40, "Segment");
static_assert(__builtin_offsetof(Segment, out) == 0, "Out");
static_assert(__builtin_offsetof(Segment, symbols) == 8, "Symbols");
static_assert(__builtin_offsetof(Segment, blocks) == 16, "Blocks");
static_assert(__builtin_offsetof(Segment, cols) == 20, "Cols");
static_assert(__builtin_offsetof(Segment, n) == 24, "N");
static_assert(__builtin_offsetof(Segment, contexts) == 28, "Contexts");
static_assert(__builtin_offsetof(Segment, room) == 32, "Room");
static_assert(__builtin_offsetof(Segment, unused) == 36, "Unused");

// Tables are the tables of the index coder.
struct Tables {
	int32_t logistic[65];
	int16_t stretch[4096];
	uint16_t rates[64];
};
static_assert(sizeof(Tables) == 8580, "Tables");
static_assert(__builtin_offsetof(Tables, logistic) == 0, "Logistic");
static_assert(__builtin_offsetof(Tables, stretch) == 260, "Stretch");
static_assert(__builtin_offsetof(Tables, rates) == 8452, "Rates");

// Coder is the state of a segment in shared memory. The estimates of mixed decisions are in global memory.
struct Coder {
	Tables tables;
	int32_t weights[180]; // of the estimates of each place
	uint32_t low[156]; // estimates of the bits that are not mixed, by length, then by bit
	uint32_t counts[2]; // decisions of two chunks
	uint32_t decisions[1472];
};
static_assert(sizeof(Coder) == 15820, "Coder");
static_assert(__builtin_offsetof(Coder, tables) == 0, "Tables");
static_assert(__builtin_offsetof(Coder, weights) == 8580, "Weights");
static_assert(__builtin_offsetof(Coder, low) == 9300, "Low");
static_assert(__builtin_offsetof(Coder, counts) == 9924, "Counts");
static_assert(__builtin_offsetof(Coder, decisions) == 9932, "Decisions");

struct CodeParams {
	uint32_t *estimates; // words of each block of threads
	uint32_t *lengths; // count
	const Segment *list;
	const Tables *tables;
	uint32_t count;
	uint32_t words;
};
static_assert(sizeof(CodeParams) == 40, "CodeParams");
static_assert(__builtin_offsetof(CodeParams, estimates) == 0, "Estimates");
static_assert(__builtin_offsetof(CodeParams, lengths) == 8, "Lengths");
static_assert(__builtin_offsetof(CodeParams, list) == 16, "List");
static_assert(__builtin_offsetof(CodeParams, tables) == 24, "Tables");
static_assert(__builtin_offsetof(CodeParams, count) == 32, "Count");
static_assert(__builtin_offsetof(CodeParams, words) == 36, "Words");

// Book is a codebook, and what the index decoder has to know of its codewords: see vq_edges.
struct Book {
	const uint8_t *words; // n x p x q
	uint32_t *edges; // n x 4
	uint32_t *neighbours; // n x 4
	uint32_t *more_edges; // n x 2; null but for blocks of 8x8
	uint32_t *more_neighbours; // n x 2; likewise
	uint32_t n;
	uint32_t p;
	uint32_t q;
	uint32_t unused;
};
static_assert(sizeof(Book) == 56, "Book");
static_assert(__builtin_offsetof(Book, words) == 0, "Words");
static_assert(__builtin_offsetof(Book, edges) == 8, "Edges");
static_assert(__builtin_offsetof(Book, neighbours) == 16, "Neighbours");
static_assert(__builtin_offsetof(Book, more_edges) == 24, "MoreEdges");
static_assert(__builtin_offsetof(Book, more_neighbours) == 32, "MoreNeighbours");
static_assert(__builtin_offsetof(Book, n) == 40, "N");
static_assert(__builtin_offsetof(Book, p) == 44, "P");
static_assert(__builtin_offsetof(Book, q) == 48, "Q");
static_assert(__builtin_offsetof(Book, unused) == 52, "Unused");

// Stream is the stream of a segment of an index table.
struct Stream {
	const uint8_t *in; // length
	uint16_t *table; // blocks, of the segment
	uint32_t *row; // cols, for the last row that was decoded; blocks, the symbols, where a table is expected
	const Book *book;
	uint32_t *damaged; // set to 1 where the bytes are not those of a segment
	uint32_t length;
	uint32_t blocks;
	uint32_t cols; // blocks of a row
	uint32_t unused;
};
static_assert(sizeof(Stream) == 56, "Stream");
static_assert(__builtin_offsetof(Stream, in) == 0, "In");
static_assert(__builtin_offsetof(Stream, table) == 8, "Table");
static_assert(__builtin_offsetof(Stream, row) == 16, "Row");
static_assert(__builtin_offsetof(Stream, book) == 24, "Book");
static_assert(__builtin_offsetof(Stream, damaged) == 32, "Damaged");
static_assert(__builtin_offsetof(Stream, length) == 40, "Length");
static_assert(__builtin_offsetof(Stream, blocks) == 44, "Blocks");
static_assert(__builtin_offsetof(Stream, cols) == 48, "Cols");
static_assert(__builtin_offsetof(Stream, unused) == 52, "Unused");

struct DecodeParams {
	uint32_t *estimates; // words of each block of threads; in vq_expect one more for each lane
	const Stream *list;
	const Tables *tables;
	uint32_t count;
	uint32_t words; // of estimates
};
static_assert(sizeof(DecodeParams) == 32, "DecodeParams");
static_assert(__builtin_offsetof(DecodeParams, estimates) == 0, "Estimates");
static_assert(__builtin_offsetof(DecodeParams, list) == 8, "List");
static_assert(__builtin_offsetof(DecodeParams, tables) == 16, "Tables");
static_assert(__builtin_offsetof(DecodeParams, count) == 24, "Count");
static_assert(__builtin_offsetof(DecodeParams, words) == 28, "Words");

// Prepared is what is known of a block before the model comes to it, where its index is expected; see expect.cuh.
struct Prepared {
	uint32_t contexts[4]; // where their estimates begin
	uint32_t masks[8]; // of places 0 to 31 a bit for each that is decided, for each that is 1, and both of the bits that are not mixed; then of those behind
	uint32_t place; // of its first decision among those of the chunk
	uint32_t last; // of its last decision, and as many further as its bits that are not mixed begin behind the first of all
	uint32_t unused[2];
};
static_assert(sizeof(Prepared) == 64, "Prepared");
static_assert(__builtin_offsetof(Prepared, contexts) == 0, "Contexts");
static_assert(__builtin_offsetof(Prepared, masks) == 16, "Masks");
static_assert(__builtin_offsetof(Prepared, place) == 48, "Place");
static_assert(__builtin_offsetof(Prepared, last) == 52, "Last");
static_assert(__builtin_offsetof(Prepared, unused) == 56, "Unused");

// Expecting is chunks of a segment of which the indices are expected, in shared memory: two that are prepared, and the
// decisions of two.
struct Expecting {
	Prepared prepared[64];
	uint32_t decisions[1536];
	Tables tables;
	uint32_t counts[4]; // decisions of the last chunks
};
static_assert(sizeof(Expecting) == 18836, "Expecting");
static_assert(__builtin_offsetof(Expecting, prepared) == 0, "Prepared");
static_assert(__builtin_offsetof(Expecting, decisions) == 4096, "Decisions");
static_assert(__builtin_offsetof(Expecting, tables) == 10240, "Tables");
static_assert(__builtin_offsetof(Expecting, counts) == 18820, "Counts");
