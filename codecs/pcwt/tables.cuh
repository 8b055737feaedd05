// Profile 1, decoding: what a block of decoders has in shared memory of the set of its level.
//
//	| weights of the band | starts of tokens | firsts |
//
// A slot is decoded in two loads: the first token of the bucket that it lies in, and where the tokens from there on begin. Slots
// behind these, some in a hundred, are searched for. A row of starts goes on with 1 << 14 behind its last token.
#pragma once

#include "lanes.cuh"

constexpr uint32_t predict_rows = 3 * 2 * textures; // of a band and a level class: its rows, columns and textures
constexpr uint32_t scale_rows = 2 * 2 * directions;

// The weights of terms of the band itself.
struct alignas(16) OwnWeights {
	int32_t scale[scale_rows][8]; // of features 0 to 3, 6 and 7
	TwoWords predict[predict_rows]; // of taps 0 to 3
	int32_t far[predict_rows];		// of tap 12 in its low half
};

// A token and the range of slots that it has.
struct Range {
	uint32_t token, start, end;
};

// Where tables lie in shared memory. Files with the flag fast take the tables of one fraction only, and no weights of taps.
template <bool fast> struct SharedTables {
	static constexpr uint32_t count = fast ? contexts : table_count;
	static constexpr uint32_t log_slots = log_bucket_slots, log_buckets = 14 - log_slots; // of a bucket; of a table
	static constexpr uint32_t weight_bytes = fast ? sizeof(OwnWeights::scale) : sizeof(OwnWeights);
	static constexpr uint32_t start_bytes = 2 * start_stride * count;
	static constexpr uint32_t bytes = weight_bytes + start_bytes + (count << log_buckets);
	static_assert(bytes == (fast ? fast_tables : shared_tables), "the host asks for that");

	OwnWeights *weights;
	uint16_t *starts;
	uint8_t *firsts;

	__device__ SharedTables(uint8_t *memory)
		: weights((OwnWeights *)memory), starts((uint16_t *)(memory + weight_bytes)), firsts(memory + weight_bytes + start_bytes) {}

	// All threads of the block call.
	template <int b> __device__ void load(const Model &m) const
	{
		copy(starts, m.set->starts, start_bytes);
		copy(firsts, m.set->firsts, count << log_buckets);
		for (uint32_t i = threadIdx.x; i < scale_rows; i += blockDim.x) {
			Weights w(m.set->scale + 16 * ((m.level_class * 3 + b) * scale_rows + i));
			for (int32_t j = 0; j < 4; j++)
				weights->scale[i][j] = w.of(j);
			weights->scale[i][4] = w.of(6), weights->scale[i][5] = w.of(7);
		}
		if (!fast)
			for (uint32_t i = threadIdx.x; i < predict_rows; i += blockDim.x) {
				const uint32_t *w = (const uint32_t *)(m.set->predict + 16 * ((m.level_class * 3 + b) * predict_rows + i));
				weights->predict[i] = {w[0], w[1]};
				if (b == 0)
					weights->far[i] = (int32_t)w[6];
			}
		sync_block(); // every thread reads what others have loaded
	}

	// Copies a multiple of 16 bytes.
	static __device__ void copy(void *to, const void *from, uint32_t n)
	{
		constexpr uint32_t at_once = 4; // loads that are under way
		using Words = uint32_t __attribute__((vector_size(sizeof(FourWords))));
		n /= sizeof(Words);
		for (uint32_t first = threadIdx.x; first < n; first += at_once * blockDim.x) {
			Words v[at_once] = {};
#pragma unroll
			for (uint32_t j = 0; j < at_once; j++)
				if (first + j * blockDim.x < n)
					v[j] = ((const Words *)from)[first + j * blockDim.x];
#pragma unroll
			for (uint32_t j = 0; j < at_once; j++)
				if (first + j * blockDim.x < n)
					((Words *)to)[first + j * blockDim.x] = v[j];
		}
	}

	// The token of a slot, which is searched for only if it is wanted.
	__device__ Range range(uint32_t table, uint32_t slot, bool wanted) const
	{
		uint32_t bucket = (table << log_buckets) + (slot >> log_slots), first = firsts[bucket];
		const uint16_t *s = starts + table * start_stride + first;
		uint32_t zero = s[0], one = s[1], two = s[2], three = s[3];
		bool after = slot >= one, last = slot >= two;
		Range r = {first + after + last, last ? two : after ? one : zero, last ? three : after ? two : one};
		if (wanted && slot >= three)
			r = search(table, slot, first + 3, bucket);
		return r;
	}

	// Searches from a token on, at most up to the first one of the next bucket.
	__device__ Range search(uint32_t table, uint32_t slot, uint32_t token, uint32_t bucket) const
	{
		const uint16_t *s = starts + table * start_stride;
		bool ends = (slot >> log_slots) + 1 == 1u << log_buckets;
		uint32_t last = ends ? tokens - 1 : firsts[bucket + 1];
		while (token < last) {
			uint32_t middle = (token + last + 1) / 2;
			bool above = slot >= s[middle];
			token = above ? middle : token;
			last = above ? last : middle - 1;
		}
		return {token, s[token], s[token + 1]};
	}
};
