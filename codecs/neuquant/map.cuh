// Nearest entries. With distance = |x|^2 + |c|^2 - 2 x.c, the first of the nearest entries has the greatest key
// (x.c << 9) - (|c|^2 << 8 | index): one dot product, one shift and addition, one maximum. From capability 8.0 on nq_map has
// its keys of the tensor cores, see map_round.
#pragma once

#include "problem.cuh"

constexpr int32_t farthest = -0x7fffffff; // a key that no entry has

DEVICE int32_t least_signed(int32_t a, int32_t b) { return a < b ? a : b; }
DEVICE int32_t greatest_signed(int32_t a, int32_t b) { return a > b ? a : b; }

// What a key is made of: the entry and its own part. Behind the last come entries that are never nearest.
DEVICE words2 palette_entry(uint32_t colour, uint32_t index, uint32_t k)
{
	words2 e = {0, (uint32_t)farthest};
	if (index < k)
		e.x = colour, e.y = 0 - (dp4a(colour, colour, 0) << 8 | index);
	return e;
}

// Some units shift and add, others multiply and add: the compiler gives some keys to each where this is a shift.
DEVICE int32_t palette_key(uint32_t x, uint32_t colour, uint32_t base) { return (int32_t)((dp4a(x, colour, 0) << 9) + base); }

// What a key says: the index of the entry, and how much farther it is than the colour is from black.
DEVICE uint32_t key_index(int32_t key) { return (0 - (uint32_t)key) & 255; }
DEVICE int32_t key_distance(int32_t key) { return (int32_t)(0 - (uint32_t)key) >> 8; }

#if __CUDA_ARCH__ >= 800

typedef float floats4 __attribute__((ext_vector_type(4)));

DEVICE uint32_t float_bits(float v) { return __builtin_bit_cast(uint32_t, v); }
DEVICE float bits_float(uint32_t v) { return __builtin_bit_cast(float, v); }

constexpr uint32_t map_tiles = 8;                 // of 16 colours, that a warp takes at once
constexpr float out_of_reach = 16777216;          // a key that is greater than that of any entry
constexpr uint32_t greatest_norm = 4 * 255 * 255; // |x|^2 at most

static_assert(thread_colours * warp_size % (16 * map_tiles) == 0, "a warp takes its colours in whole rounds");

// d = x c + base for 16 colours (rows) and 8 entries (columns) of 4 components, products and sums in f32 of numbers of 11 bits.
// Lane 4g+t holds component t of colours g and g+8 in x and of entry g in c, and in base and d colour g with entries 2t and
// 2t+1, then colour g+8 with the two.
DEVICE void multiply(float (&d)[4], uint32_t x0, uint32_t x1, uint32_t c, floats4 base)
{
	asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
	    : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
	    : "r"(x0), "r"(x1), "r"(c), "f"(base.x), "f"(base.y), "f"(base.z), "f"(base.w));
}

// The palette as multiply takes it. A key is 32 (|c|^2 - 2 x.c + greatest_norm) + index / 8, so that c holds -64 times a component,
// and base what follows from c alone. All are whole numbers, and no sum of some of them is 2^24 or more: f32 holds each of them, in
// whichever order they are added. A key is not less than 0, so that the bits of keys are in the order of the keys: the lesser of
// whole numbers takes half the time of that of floats. Two keys of a lane that are equal but for index / 8 are of entries at the
// same distance, of which the first one is less.
struct __attribute__((aligned(16))) Palette {
	uint32_t components[4 * most_entries]; // bits of those of each entry
	float bases[2 * most_entries];         // of entries i and i+1, i and i+1, i+2 and i+3, ...

	__device__ void set(uint32_t i, uint32_t colour, bool filled)
	{
		for (uint32_t t = 0; t < 4; t++)
			components[4 * i + t] = filled ? float_bits(-64 * (float)(int32_t)component(colour, t)) : 0;
		float base = filled ? (float)(int32_t)(32 * (dp4a(colour, colour, 0) + greatest_norm) + i / 8) : out_of_reach;
		uint32_t at = i / 2 * 4 + i % 2;
		bases[at] = bases[at + 2] = base;
	}
};

// Of a pair of lanes, whose numbers differ by the bit with, the one that lacks it gets the lesser a of both, the other the lesser b.
DEVICE int32_t least_of_half(int32_t a, int32_t b, uint32_t with)
{
	bool second = (lane() & with) != 0;
	int32_t mine = second ? b : a, other = second ? a : b;
	return least_signed(mine, (int32_t)exchange((uint32_t)other, with));
}

// The nearest entries of the 16 map_tiles colours from first on. Lane 4g+t has component t of 2 map_tiles colours that lie side
// by side, the g-th of such groups; at the end it has the indices of four of them, the t-th of the group.
DEVICE void map_round(const Problem &p, const Palette &s_palette, uint32_t tiles, uint32_t n, uint32_t first)
{
	uint32_t g = lane() / 4, t = lane() % 4, i = first + 2 * map_tiles * g;
	uint32_t x[2 * map_tiles];
	uint32_t near[2 * map_tiles][2]; // bits of keys
#pragma unroll
	for (uint32_t q = 0; q < 2 * map_tiles; q += 4) {
		uint32_t four[4] = {0, 0, 0, 0};
		if (i + q < n)
			four_colours(p, i + q, four);
#pragma unroll
		for (uint32_t j = 0; j < 4; j++) {
			x[q + j] = float_bits((float)(int32_t)component(four[j], t));
			near[q + j][0] = near[q + j][1] = float_bits(out_of_reach);
		}
	}
	for (uint32_t tile = 0; tile < tiles; tile += 2) {
		uint32_t c[2];
		floats4 base[2];
#pragma unroll
		for (uint32_t j = 0; j < 2; j++) {
			c[j] = s_palette.components[4 * (8 * (tile + j) + g) + t];
			base[j] = *(const floats4 *)&s_palette.bases[4 * (4 * (tile + j) + t)];
		}
#pragma unroll
		for (uint32_t v = 0; v < map_tiles; v++) {
			float key[2][4];
#pragma unroll
			for (uint32_t j = 0; j < 2; j++)
				multiply(key[j], x[2 * v], x[2 * v + 1], c[j], base[j]);
#pragma unroll
			for (uint32_t e = 0; e < 4; e++) {
				uint32_t &nearest = near[2 * v + e / 2][e % 2];
				nearest = least(nearest, least(float_bits(key[0][e]), float_bits(key[1][e])));
			}
		}
	}
	// With the column a key is 256 times the distance and what all have, plus the index.
	int32_t key[2 * map_tiles];
#pragma unroll
	for (uint32_t q = 0; q < 2 * map_tiles; q++) {
		bool second = near[q][1] < near[q][0];
		key[q] = 8 * (int32_t)bits_float(second ? near[q][1] : near[q][0]) + (int32_t)(2 * t + (second ? 1 : 0));
	}
	int32_t half[map_tiles];
#pragma unroll
	for (uint32_t q = 0; q < map_tiles; q++) {
		half[q] = least_of_half(key[q], key[map_tiles + q], 2);
	}
	uint32_t indices = 0;
#pragma unroll
	for (uint32_t q = 0; q < map_tiles / 2; q++) {
		indices |= key_index(-least_of_half(half[q], half[map_tiles / 2 + q], 1)) << (8 * q);
	}
	if (i + 4 * t < n)
		*(uint32_t *)(p.index + i + 4 * t) = indices;
}

// index of all colours, where it is not null. A warp takes thread_colours times 32 of them, in rounds of 16 map_tiles;
// blockIdx.y is the problem.
KERNEL __launch_bounds__(256) nq_map(const Problem *list)
{
	__shared__ Palette s_palette;
	const Problem &p = list[blockIdx.y];
	if (p.index == nullptr || blockIdx.x * thread_colours * blockDim.x >= p.n)
		return;
	uint32_t tiles = (p.k + 15) / 16 * 2, n = p.n;
	for (uint32_t j = threadIdx.x; j < 8 * tiles; j += blockDim.x)
		s_palette.set(j, j < p.k ? p.entries[j] : 0, j < p.k);
	sync_block(); // the palette is there
	uint32_t first = thread_colours * (blockIdx.x * blockDim.x + warp() * warp_size);
#pragma unroll 1
	for (uint32_t done = 0; done < thread_colours * warp_size; done += 16 * map_tiles)
		map_round(p, s_palette, tiles, n, first + done);
}

#else

constexpr uint32_t map_groups = thread_colours / 4; // of four colours that a thread takes

// index of all colours, where it is not null. A thread takes map_groups times four colours that lie side by side, and all
// threads read the same entries at the same time; blockIdx.y is the problem.
KERNEL __launch_bounds__(256) nq_map(const Problem *list)
{
	__shared__ __attribute__((aligned(16))) words2 s_entries[most_entries];
	const Problem &p = list[blockIdx.y];
	uint32_t first = 4 * (blockIdx.x * map_groups * blockDim.x + threadIdx.x), step = 4 * blockDim.x;
	if (p.index == nullptr || 4 * blockIdx.x * map_groups * blockDim.x >= p.n)
		return;
	uint32_t filled = (p.k + 3) / 4 * 4;
	for (uint32_t j = threadIdx.x; j < filled; j += blockDim.x)
		s_entries[j] = palette_entry(j < p.k ? p.entries[j] : 0, j, p.k);
	sync_block(); // the entries are there
	uint32_t x[map_groups][4];
	int32_t near[map_groups][4];
#pragma unroll
	for (uint32_t g = 0; g < map_groups; g++) {
		uint32_t i = first + g * step;
#pragma unroll
		for (uint32_t q = 0; q < 4; q++)
			x[g][q] = 0, near[g][q] = farthest;
		if (i < p.n)
			four_colours(p, i, x[g]);
	}
	for (uint32_t j = 0; j < filled; j += 4) {
#pragma unroll
		for (uint32_t pair = 0; pair < 4; pair += 2) {
			words4 e = *(const words4 *)&s_entries[j + pair];
#pragma unroll
			for (uint32_t g = 0; g < map_groups; g++) {
#pragma unroll
				for (uint32_t q = 0; q < 4; q++) {
					near[g][q] = greatest_signed(near[g][q], palette_key(x[g][q], e.x, e.y));
					near[g][q] = greatest_signed(near[g][q], palette_key(x[g][q], e.z, e.w));
				}
			}
		}
	}
#pragma unroll
	for (uint32_t g = 0; g < map_groups; g++) {
		uint32_t i = first + g * step, four = 0;
#pragma unroll
		for (uint32_t q = 0; q < 4; q++)
			four |= key_index(near[g][q]) << (8 * q);
		if (i < p.n)
			*(uint32_t *)(p.index + i) = four;
	}
}

#endif
