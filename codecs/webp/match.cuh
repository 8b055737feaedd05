// The candidates for backward references (match.go).
//
// Where the pixels agree with those at one of a few distances, row 0 of distances, which is 1, and the near distances in
// rows 1 and so on, is a bit for each position and row: a word of equal is 32 positions from a multiple of 32 on, the first
// one lowest. Words of all rows for the same positions lie side by side. reach is, for every word, how many pixels agree
// from its first position on. So the length of a backward reference at a near distance, or a run of equal pixels, is found in one word
// and the reach of the next.
//
// Far backward references are found by the chain of positions with the same key. Images are cut into chunks that are linked at the
// same time, each with a table of the latest position by key; what a chunk's first positions are linked to is in the
// tables before.
#pragma once

#include "../../gpu/include/scan.cuh"
#include "slot.cuh"

constexpr uint32_t first_of_key = 1u << 31; // in prev, with the key: the chunk has no earlier position of it

DEVICE uint32_t words_of(uint64_t pixels) { return (uint32_t)((pixels + 31) / 32); }

// Sets equal. A warp takes a word of image blockIdx.y, a lane a position; lane k keeps the word of row k.
KERNEL webp_equal(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t n = (uint64_t)image.width * image.height, word = thread() / warp_size, i = word * 32 + lane();
	if (word >= words_of(n))
		return;
	uint32_t v = i < n ? image.coded[i] : 0;
	for (uint32_t first = 0; first < image.rows; first += warp_size) {
		uint32_t kept = 0;
		for (uint32_t k = 0; k < warp_size && first + k < image.rows; k++) {
			uint32_t d = image.distances[first + k];
			uint32_t bits = ballot(i < n && i >= d && image.coded[i - d] == v);
			if (lane() == k)
				kept = bits;
		}
		if (first + lane() < image.rows)
			image.equal[word * image.rows + first + lane()] = kept;
	}
}

// Sets reach, at most max_length. One thread per word of equal of image blockIdx.y: where all pixels agree it looks at
// the next words, as the threads beside it do, 128 at most.
KERNEL webp_reach(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t all = (uint64_t)words_of((uint64_t)image.width * image.height) * image.rows, at = thread();
	if (at >= all)
		return;
	uint32_t n = 0;
	for (uint64_t k = at; k < all && n < max_length; k += image.rows) {
		uint32_t other = ~image.equal[k];
		if (other != 0) {
			n += (uint32_t)__builtin_ctz(other);
			break;
		}
		n += 32;
	}
	image.reach[at] = (uint16_t)least(n, max_length);
}

// How many pixels from i on, which is in the image of n, agree with those at the distance of a row; at most max_length.
DEVICE uint32_t agreeing_near(const Slot &image, uint64_t n, uint64_t i, uint32_t row)
{
	uint64_t word = i / 32;
	uint32_t skip = (uint32_t)(i % 32), other = ~(image.equal[word * image.rows + row] >> skip);
	uint32_t length = other == 0 ? 32 : (uint32_t)__builtin_ctz(other);
	if (length == 32 - skip && word + 1 < words_of(n))
		length += image.reach[(word + 1) * image.rows + row];
	return least(length, max_length);
}

// Sets prev to first_of_key and the key of each position; 0: it has none. One thread per pixel of image blockIdx.y.
KERNEL webp_keys(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t n = (uint64_t)image.width * image.height, i = thread();
	if (i >= n)
		return;
	uint32_t out = 0, run = i + 1 < n ? agreeing_near(image, n, i + 1, 0) : 0;
	if (i + run + 1 < n && i + 2 < n && run < max_length) {
		uint32_t k = image.coded[i] * 0x9e3779b1;
		if (run == 0)
			k ^= image.coded[i + 1] * 0x85ebca6b ^ image.coded[i + 2] * 0xc2b2ae35;
		else
			k ^= run * 0x27d4eb2f ^ image.coded[i + run + 1] * 0xc2b2ae35;
		out = first_of_key | (k ^ k >> 15) * 0x2c1b3c6d >> 16;
	}
	image.prev[i] = out;
}

// Links the positions of each chunk, whose keys are in prev, and leaves the keys of those that are the first. A warp takes
// a chunk of image blockIdx.y, 32 positions at a time. Its table is 1 + the latest position of each key, or 0.
KERNEL webp_link(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t n = (uint64_t)image.width * image.height, chunk = thread() / warp_size;
	if (chunk * link_pixels >= n)
		return;
	uint32_t *latest = image.tables + chunk * link_entries;
	uint64_t end = least(n, (chunk + 1) * link_pixels);
	uint64_t i = chunk * link_pixels + lane();
	uint32_t next = i < end ? image.prev[i] : 0;
	for (; i - lane() < end; i += warp_size) {
		uint32_t own = next;
		next = i + warp_size < end ? image.prev[i + warp_size] : 0;
		uint32_t lanes = same_lanes(own != 0 ? own : lane()), before = before_own(lanes);
		uint32_t *entry = &latest[own & (link_entries - 1)], found = 0;
		if (own != 0)
			found = before != 0 ? (uint32_t)(i - lane()) + last_lane(before) + 1 : *entry;
		sync_warp(); // all have read the table
		if (own != 0 && lane() == last_lane(lanes))
			*entry = (uint32_t)i + 1;
		sync_warp(); // before it is read again
		if (found != 0)
			image.prev[i] = found;
	}
}

// Gives each chunk, instead of its own table, the latest positions before it. One thread per key of image blockIdx.y.
KERNEL webp_carry(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t n = (uint64_t)image.width * image.height;
	if (thread() < link_entries)
		carry(image.tables, link_entries, (uint32_t)((n + link_pixels - 1) / link_pixels), (uint32_t)thread());
}

// Links the first positions of each chunk to those before it. One thread per pixel of image blockIdx.y.
KERNEL webp_join(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t i = thread();
	if (i >= (uint64_t)image.width * image.height)
		return;
	uint32_t v = image.prev[i];
	if ((v & first_of_key) != 0)
		image.prev[i] = image.tables[i / link_pixels * link_entries + (v & (link_entries - 1))];
}

// The least distance code.
DEVICE uint32_t distance_code(const Slot &image, uint32_t d)
{
	uint32_t code = d < 7 * image.width + 9 ? image.distance_codes[d] : 0;
	return code != 0 ? code : d + 120;
}

// The end of the band of position i.
DEVICE uint32_t band_end(const Slot &image, uint32_t i)
{
	uint32_t lo = 0, hi = image.bands - 1;
	while (lo < hi) {
		uint32_t middle = (lo + hi) / 2;
		if (i < image.ends[middle])
			hi = middle;
		else
			lo = middle + 1;
	}
	return image.ends[lo];
}

// A search at a position: of what it has found the number and the longest.
struct Search {
	uint32_t i, most; // the position, and the longest that a backward reference may be
	uint32_t best;    // length, 1 where nothing is found
	uint32_t count;
	uint32_t *to;     // for the candidates; null: they are counted
	bool open;

	__device__ void add(const Slot &image, uint32_t length, uint32_t d)
	{
		if (to != nullptr)
			to[count] = (distance_code(image, d) - 1) << 12 | length;
		count++;
		best = length;
		open = length < image.stop_length && length < most;
	}
};

constexpr uint32_t alone = 32; // pixels that a lane compares by itself: what lanes with a distance in common have is seamless

// How many pixels from the search's position on agree with those at distance d, at most alone and most.
DEVICE uint32_t agreeing_alone(const uint32_t *argb, const Search &s, uint32_t d)
{
	const uint32_t *a = argb + s.i, *b = a - d;
	uint32_t n = least(s.most, alone), k = 0;
	for (; k + 4 <= n; k += 4)
		if (((a[k] ^ b[k]) | (a[k + 1] ^ b[k + 1]) | (a[k + 2] ^ b[k + 2]) | (a[k + 3] ^ b[k + 3])) != 0)
			break;
	while (k < n && a[k] == b[k])
		k++;
	return k;
}

// The lengths of backward references at distances d of which the lanes with more have found the first alone pixels, and that may go on.
// The warp follows one distance at a time, 32 pixels a step, for all lanes that have it: their pixels overlap, so they
// end at the same one. All lanes of the warp call; those with more hold a result.
DEVICE uint32_t agreeing_together(const uint32_t *argb, const Search &s, uint32_t d, bool more)
{
	uint32_t length = 0;
	for (uint32_t lanes = ballot(more); lanes != 0;) {
		uint32_t from = (uint32_t)__builtin_ctz(lanes), common = broadcast(d, from);
		uint32_t same = ballot(more && d == common);
		uint32_t at = broadcast(s.i, from) + alone;
		uint32_t end = broadcast(s.i + s.most, last_lane(same)); // the last lane's reference may end last
		for (;;) {
			uint32_t p = at + lane();
			uint32_t other = ~ballot(p < end && argb[p] == argb[p - common]);
			if (other != 0) {
				at += (uint32_t)__builtin_ctz(other);
				break;
			}
			at += warp_size;
		}
		if (more && d == common)
			length = least(at - s.i, s.most);
		lanes &= ~same;
	}
	return length;
}

// Goes on with a search at near distances. All lanes of the warp call, with the positions of one word.
DEVICE void search_near(const Slot &image, uint64_t n, Search &s)
{
	for (uint32_t row = 1; row < image.rows && ballot(s.open) != 0; row++) {
		if (!s.open)
			continue;
		uint32_t length = least(agreeing_near(image, n, s.i, row), s.most);
		if (length > s.best)
			s.add(image, length, image.distances[row]);
	}
}

// Goes on with a search at earlier positions of the same key. All lanes of the warp call.
DEVICE void search_far(const Slot &image, Search &s)
{
	const uint32_t *argb = image.coded;
	uint32_t own = s.open ? argb[s.i] : 0;
	uint32_t next = s.open && image.depth > 0 ? image.prev[s.i] : 0; // 1 + position
	for (uint32_t left = image.depth; left > 0; left--) {
		s.open = s.open && next != 0 && s.i - (next - 1) <= max_distance;
		if (ballot(s.open) == 0)
			return;
		uint32_t j = next - 1, d = s.i - j, length = 0;
		if (s.open && argb[j + s.best] == argb[s.i + s.best] && argb[j] == own)
			length = agreeing_alone(argb, s, d);
		bool more = length == alone && length < s.most;
		uint32_t longer = agreeing_together(argb, s, d, more);
		if (more)
			length = longer;
		if (length > s.best && length > 2)
			s.add(image, length, d);
		if (s.open)
			next = image.prev[j];
	}
}

// All of a search. All lanes of the warp call, with the positions of one word; to is null or where the candidates go.
DEVICE uint32_t search(const Slot &image, uint64_t n, uint64_t i, uint32_t *to)
{
	Search s = {(uint32_t)i, 0, 1, 0, to, false};
	if (i < n)
		s.most = least(max_length, band_end(image, s.i) - s.i);
	s.open = s.most >= 2;
	search_near(image, n, s);
	search_far(image, s);
	return s.count;
}

// Sets offsets to the number of candidates of each position. A block takes 256 pixels of image blockIdx.y, one per thread.
KERNEL __launch_bounds__(block_threads) webp_count_candidates(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t n = (uint64_t)image.width * image.height, i = thread();
	if (i - lane() >= n)
		return; // the whole warp leaves
	uint32_t count = search(image, n, i, nullptr);
	if (i < n)
		image.offsets[i] = count;
}

// Sets offsets to the running sum over the numbers before (scan.cuh), and result, as 64 bits, to that of all. A block takes
// 2048 pixels of image blockIdx.y, a thread eight of them. This is not done by those who count: a block would wait for
// the slowest search before it.
KERNEL __launch_bounds__(block_threads) webp_offsets(const Slot *__restrict__ slots)
{
	__shared__ uint64_t s_sums[most_warps];
	__shared__ uint32_t s_tile;
	const Slot &image = slots[blockIdx.y];
	uint64_t n = (uint64_t)image.width * image.height;
	if ((uint64_t)blockIdx.x * block_threads * offset_pixels >= n)
		return; // the image has as many blocks as it has tiles, and the whole block leaves
	uint32_t tile = next_tile(image.scratch, &s_tile);
	uint64_t first = ((uint64_t)tile * block_threads + threadIdx.x) * offset_pixels;
	uint32_t counts[offset_pixels];
	uint64_t sum = 0;
#pragma unroll
	for (uint32_t k = 0; k < offset_pixels; k++) {
		counts[k] = first + k < n ? image.offsets[first + k] : 0;
		sum += counts[k];
	}
	uint64_t before = grid_sum_before(sum, image.scratch, tile, s_sums);
#pragma unroll
	for (uint32_t k = 0; k < offset_pixels; k++) {
		if (first + k < n)
			image.offsets[first + k] = (uint32_t)before;
		before += counts[k];
		if (first + k + 1 == n) {
			image.offsets[n] = (uint32_t)before;
			*(uint64_t *)image.result = before;
		}
	}
}

// Sets result to offsets and, behind them, the candidates as code - 1 << 12 | length. A block takes 256 pixels of image
// blockIdx.y, one per thread.
KERNEL __launch_bounds__(block_threads) webp_candidates(const Slot *__restrict__ slots)
{
	const Slot &image = slots[blockIdx.y];
	uint64_t n = (uint64_t)image.width * image.height, i = thread();
	if (i - lane() >= n)
		return; // the whole warp leaves
	uint32_t before = image.offsets[least(i, n)];
	if (i < n)
		image.result[i + 1] = image.offsets[i + 1];
	if (i == 0)
		image.result[0] = 0;
	search(image, n, i, image.result + n + 1 + before);
}
