// Profile 0: wavelet trees (codecs/pcwt/internal/wavelettree). Elements are 2x2 coefficients with their MQD; groups are
// coded and decoded independently of each other once the MQDs of the level above are known.
#pragma once

#include "../../gpu/include/bits.cuh"
#include "../../gpu/include/warp.cuh"
#include "shared.cuh"

// floor(log2 v), -1 for 0.
DEVICE int32_t level_of(uint32_t v) { return v == 0 ? -1 : 31 - __builtin_clz(v); }

DEVICE uint32_t magnitude(int32_t c) { return (uint32_t)(c < 0 ? -c : c); }

// Coefficient i of element (x, y). Those beyond the band are zero.
DEVICE int32_t tree_coefficient(const Band &b, uint32_t x, uint32_t y, uint32_t i)
{
	uint32_t u = 2 * x + (i & 1), v = 2 * y + (i >> 1);
	return u < b.width && v < b.height ? b.coefficients[(uint64_t)v * b.stride + u] : 0;
}

// The MQD of every element of a band, once those of the level below are known, and Qmax of a top level. One thread per
// element; blockIdx.y is the band.
KERNEL pcwt_quantise(const Band *__restrict__ list)
{
	const Band b = list[blockIdx.y];
	uint64_t i = thread();
	if (i >= (uint64_t)b.columns * b.rows)
		return;
	uint32_t x = (uint32_t)(i % b.columns), y = (uint32_t)(i / b.columns);
	uint32_t all = 0;
	for (uint32_t k = 0; k < 4; k++)
		all |= magnitude(tree_coefficient(b, x, y, k));
	int32_t q = level_of(all);
	if (b.child) {
		for (uint32_t k = 0; k < 4; k++) {
			uint32_t u = 2 * x + (k & 1), v = 2 * y + (k >> 1);
			if (u < b.child_columns && v < b.child_rows) {
				int32_t c = b.child[(uint64_t)v * b.child_columns + u];
				q = c > q ? c : q;
			}
		}
	}
	b.mqd[i] = (int8_t)q;
	if (!b.parent)
		__nvvm_atom_max_gen_i(b.qmax, q);
}

// An element and the MQD of its parent.
struct Element {
	int32_t c[4];
	int32_t mqd;
	int32_t parent;
};

DEVICE Element load_element(const Band &b, uint32_t x, uint32_t y)
{
	Element e;
	e.mqd = b.mqd[(uint64_t)y * b.columns + x];
	e.parent = b.parent ? b.parent[(uint64_t)(y / 2) * ((b.columns + 1) / 2) + x / 2] : *b.qmax;
	for (uint32_t i = 0; i < 4; i++)
		e.c[i] = e.mqd < 0 ? 0 : tree_coefficient(b, x, y, i);
	return e;
}

// The bits that an element takes.
DEVICE uint32_t element_bits(const Element &e, bool zero_signs)
{
	if (e.mqd < 0)
		return (uint32_t)(e.parent + 1);
	uint32_t n = (uint32_t)(e.parent - e.mqd + 1) + 4 * (uint32_t)(e.mqd + 1);
	for (uint32_t i = 0; i < 4; i++)
		n += e.c[i] != 0 || zero_signs;
	return n;
}

// Puts bits one after the other, from bit position at on.
struct BitWriter {
	Span<uint32_t> words;
	uint64_t word;
	uint64_t held; // the last bit lowest
	uint32_t count; // of held, below 32

	__device__ BitWriter(Span<uint32_t> words, uint64_t at) : words(words), word(at / 32), held(0), count(at % 32) {}

	// n is at most 32, and v has no other bits.
	__device__ void put(uint32_t v, uint32_t n)
	{
		held = held << n | v;
		count += n;
		if (count >= 32) {
			count -= 32;
			or_word(words, word++, swap_bytes((uint32_t)(held >> count)));
		}
	}

	__device__ void end() { or_word(words, word, swap_bytes((uint32_t)(held << (32 - count)))); }
};

DEVICE void put_element(Span<uint32_t> words, uint64_t at, const Element &e, bool zero_signs)
{
	if (e.mqd < 0)
		return; // zeros, as the memory is
	BitWriter w(words, at);
	w.put(1, (uint32_t)(e.parent - e.mqd + 1));
	for (uint32_t i = 0; i < 4; i++) {
		if (e.c[i] == 0 && !zero_signs)
			w.put(0, (uint32_t)(e.mqd + 1));
		else
			w.put(magnitude(e.c[i]) << 1 | (e.c[i] > 0), (uint32_t)(e.mqd + 2));
	}
	w.end();
}

// The elements of a group, in the order of coding.
struct GroupElements {
	uint32_t x0, y0, columns, count;

	__device__ GroupElements(const Band &b, uint32_t number)
	{
		x0 = number % b.across * b.group_columns;
		y0 = number / b.across * b.group_rows;
		columns = least(b.columns - x0, b.group_columns);
		count = columns * least(b.rows - y0, b.group_rows);
	}

	__device__ uint32_t x(uint32_t i) const { return x0 + i % columns; }
	__device__ uint32_t y(uint32_t i) const { return y0 + i / columns; }
};

// The number of bits of every group. One block per group.
KERNEL __launch_bounds__(group_threads) pcwt_group_bits(const Band *__restrict__ bands, const Group *__restrict__ groups,
	uint32_t *__restrict__ bits)
{
	__shared__ uint32_t s[most_warps];
	const Group g = groups[blockIdx.x];
	const Band b = bands[g.band];
	GroupElements all(b, g.number);
	uint32_t sum = 0;
	for (uint32_t i = threadIdx.x; i < all.count; i += blockDim.x)
		sum += element_bits(load_element(b, all.x(i), all.y(i)), b.zero_signs);
	sum = block_sum(sum, s);
	if (threadIdx.x == 0)
		bits[blockIdx.x] = sum;
}

// Where the groups of a picture begin in its coded bytes, and how many bytes they take in all. One block per picture.
KERNEL __launch_bounds__(group_threads) pcwt_group_places(const Tree *__restrict__ list)
{
	__shared__ uint64_t s[most_warps];
	const Tree t = list[blockIdx.y];
	uint64_t at = 0;
	for (uint32_t first = 0; first < t.groups; first += blockDim.x) {
		uint32_t i = first + threadIdx.x;
		uint64_t n = i < t.groups ? 4 + (t.bits[i] + 7) / 8 : 0, total;
		uint64_t before = block_sum_before(n, s, total);
		if (i < t.groups)
			t.places[i] = at + before;
		at += total;
	}
	if (threadIdx.x == 0)
		*t.size = at;
}

// The bytes of every group. One block per group; the bytes must be zero before. base is where those of the group's picture
// begin.
KERNEL __launch_bounds__(group_threads) pcwt_group_pack(uint32_t *__restrict__ bytes, uint64_t n, const Band *__restrict__ bands,
	const Group *__restrict__ groups, const uint32_t *__restrict__ bits, const uint64_t *__restrict__ places,
	const uint64_t *__restrict__ bases)
{
	__shared__ uint32_t s[most_warps];
	const Group g = groups[blockIdx.x];
	const Band b = bands[g.band];
	Span<uint32_t> words = {bytes, n / 4};
	GroupElements all(b, g.number);
	uint64_t at = 8 * (bases[g.picture] + places[blockIdx.x]);
	if (threadIdx.x == 0)
		put_high(words, at, swap_bytes(bits[blockIdx.x]), 32);
	at += 32;
	for (uint32_t first = 0; first < all.count; first += blockDim.x) {
		uint32_t i = first + threadIdx.x, size = 0, total;
		Element e;
		if (i < all.count) {
			e = load_element(b, all.x(i), all.y(i));
			size = element_bits(e, b.zero_signs);
		}
		uint32_t before = block_sum_before(size, s, total);
		if (i < all.count)
			put_element(words, at + before, e, b.zero_signs);
		at += total;
	}
}

// Reads bits one after the other. Behind the end are zeros.
struct BitReader {
	Span<const uint32_t> words;
	uint64_t word;
	uint64_t held; // the next bits, from the highest on
	uint32_t count;
	uint32_t taken;

	__device__ BitReader(Span<const uint32_t> words, uint64_t at) : words(words), word(at / 32), held(0), count(0), taken(0)
	{
		fill();
		held <<= at % 32;
		count -= at % 32;
	}

	// Provides at least 32 bits where there are none.
	__device__ void fill()
	{
		if (count < 32) {
			held |= (uint64_t)swap_bytes(words.load(word++, 0)) << (32 - count);
			count += 32;
		}
	}

	__device__ void skip(uint32_t n)
	{
		held <<= n;
		count -= n;
		taken += n;
	}

	__device__ int32_t level(int32_t parent)
	{
		if (parent < 0)
			return -1;
		fill();
		uint32_t high = (uint32_t)(held >> 32);
		int32_t zeros = high == 0 ? 32 : __builtin_clz(high);
		if (zeros > parent) {
			skip((uint32_t)(parent + 1));
			return -1;
		}
		skip((uint32_t)(zeros + 1));
		return parent - zeros;
	}

	// A magnitude of n bits, 1 to 27, and its sign.
	__device__ int32_t coefficient(uint32_t n, bool zero_signs)
	{
		fill();
		int32_t v = (int32_t)(held >> (64 - n));
		if (v == 0 && !zero_signs) {
			skip(n);
			return 0;
		}
		bool positive = held >> (63 - n) & 1;
		skip(n + 1);
		return positive ? v : -v;
	}
};

// The elements of every group of a level, once those of the level above are known. One thread per group: its elements
// follow from each other.
KERNEL __launch_bounds__(reader_threads) pcwt_group_read(const Band *__restrict__ bands, const CodedGroup *__restrict__ groups,
	uint64_t n, const uint32_t *__restrict__ bytes, uint64_t size, uint32_t *__restrict__ errors)
{
	uint64_t number = thread();
	if (number >= n)
		return;
	const CodedGroup g = groups[number];
	const Band b = bands[g.band];
	GroupElements all(b, g.number);
	BitReader r({bytes, size / 4}, 8 * g.at);
	for (uint32_t i = 0; i < all.count; i++) {
		uint32_t x = all.x(i), y = all.y(i);
		int32_t parent = b.parent ? b.parent[(uint64_t)(y / 2) * ((b.columns + 1) / 2) + x / 2] : *b.qmax;
		int32_t q = r.level(parent);
		b.mqd[(uint64_t)y * b.columns + x] = (int8_t)q;
		int32_t *c = b.coefficients + 2 * ((uint64_t)y * b.stride + x);
		for (uint32_t k = 0; k < 4; k++)
			c[(k >> 1) * b.stride + (k & 1)] = q < 0 ? 0 : r.coefficient((uint32_t)(q + 1), b.zero_signs);
	}
	if (r.taken != g.bits)
		errors[g.picture] = error_group; // any thread, the same value
}
