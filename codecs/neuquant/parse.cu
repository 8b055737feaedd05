// The parse of deflate: the rows of an image become literals and matches, as the package internal/deflate finds them.
//
// Most of it is work on single positions: which strings a position is compared with follows from the bytes before it alone, and
// so does the longest match of a search that nothing went before (nq_hash to nq_lengthen). Where chunks begin follows from the
// good matches, which are few (nq_divide); then the chunks of a stream are searched at the same time (nq_search). What is taken
// of the matches depends on what symbols cost, which a segment learns of the one before, and is a chain of decisions from the last
// byte of a chunk to the first. nq_parse makes those of some chunks at the same time, each in a lane, as if all of them were
// of one segment, and drops those that are not. The host makes the codes, and knows where each block begins, and nq_pack writes
// the tokens there.
//
// Memory of a stream: its bytes, with at least sixteen behind them; of each position three hashes, the positions that they lead to,
// modulo 65,536, and three keys; a bit of each position that a good match may begin at; chunks; tokens; and segments. Streams
// share nothing.
#include "symbols.cuh"
#include "../../gpu/include/warp.cuh"

// A key is the length of a match from 16 up, and below it the window less the distance.
constexpr uint32_t one_byte = 1u << 16;
constexpr uint32_t window = 1u << 15;
constexpr uint32_t word_bytes = 8;
constexpr uint32_t never = 1023; // what a match costs that is none: more than four literals

DEVICE void count(uint32_t *p) { __nvvm_atom_add_gen_i((int *)p, 1); }

// Which lanes have the same v. All lanes of the warp call.
DEVICE uint32_t same_lanes(uint32_t v) { return (uint32_t)__nvvm_match_any_sync_i32(whole_warp, (int)v); }

// The eight bytes from at on, of words of four that begin on multiples of four: up to three bytes behind them are read.
DEVICE uint64_t load_word(const uint8_t *data, uint64_t at)
{
	const uint32_t *words = (const uint32_t *)(data + (at & ~(uint64_t)3));
	uint32_t shift = 8 * (at & 3);
	uint64_t low = (uint64_t)words[1] << 32 | words[0];
	return shift == 0 ? low : low >> shift | (uint64_t)words[2] << (64 - shift);
}

// How many of the 8 bytes, from the lowest up, are 0.
DEVICE uint32_t equal_bytes(uint64_t difference)
{
	return difference == 0 ? word_bytes : (uint32_t)__builtin_ctzll(difference) / 8;
}

// How many bytes from a and from b on are the same, most at most.
DEVICE uint32_t equal(const uint8_t *data, uint64_t a, uint64_t b, uint32_t most)
{
	uint32_t n = 0;
	for (; most - n >= word_bytes; n += word_bytes) {
		uint64_t difference = load_word(data, a + n) ^ load_word(data, b + n);
		if (difference != 0)
			return n + equal_bytes(difference);
	}
	while (n < most && data[a + n] == data[b + n])
		n++;
	return n;
}

// How many bytes from a and from b on are the same, most at most, which is 258 or less. All lanes of the warp call and hold the
// result.
DEVICE uint32_t equal_of_warp(const uint8_t *data, uint64_t a, uint64_t b, uint32_t most)
{
	for (uint32_t first = 0; first < most; first += word_bytes * warp_size) {
		uint32_t at = first + word_bytes * lane(), n = word_bytes;
		if (at < most)
			n = least(equal_bytes(load_word(data, a + at) ^ load_word(data, b + at)), most - at);
		uint32_t ends = ballot(at < most && n < word_bytes);
		if (ends != 0) {
			uint32_t from = (uint32_t)__builtin_ctz(ends);
			return first + word_bytes * from + broadcast(n, from);
		}
	}
	return most;
}

// The first position of the thread's warp in a kernel whose warps take 32 positions at a time, and how many all take.
DEVICE uint32_t warp_first() { return (uint32_t)thread() & ~(warp_size - 1); }
DEVICE uint32_t grid_threads() { return gridDim.x * blockDim.x; }

// The end of the positions that begin a whole word, which alone are searched.
DEVICE uint32_t searched(const Stream &p) { return p.n < word_bytes ? 0 : p.n - word_bytes + 1; }

// hashes: of three, four and six bytes from each position on.
KERNEL nq_hash(const Stream *list)
{
	const Stream p = list[blockIdx.y];
	const uint64_t factor = 0x9e3779b97f4a7c15u;
	const uint8_t *data = p.data;
	uint32_t n = p.n;
	uint32_t bits = least(greatest(32 - (uint32_t)__builtin_clz(n | 1), least_hash_bits), long_hash_bits);
	uint32_t shift = 64 - bits, short_shift = 64 - least(bits, short_hash_bits);
	for (uint32_t at = (uint32_t)thread(); at < searched(p); at += grid_threads()) {
		uint64_t x = load_word(data, at), y = x << 16;
		if (x == (x << 8 | x >> 56)) {
			uint32_t run = word_bytes;
			if (n - at > word_bytes)
				run += equal(data, at, at + word_bytes, least(n - at - word_bytes, longest_match - word_bytes));
			y ^= (uint64_t)run << 36;
		}
		p.hashes[at] = (uint16_t)((x << 40) * factor >> short_shift);
		p.hashes[p.room + at] = (uint16_t)((x << 32) * factor >> shift);
		p.hashes[2 * p.room + at] = (uint16_t)(y * factor >> shift);
	}
}

// places: the position before that each hash leads to, by its lowest 16 bits. One warp a stream and part of its tables, as much as
// there is shared memory for, which goes from the first position to the last.
KERNEL __launch_bounds__(look_threads) nq_look(const Stream *list)
{
	__shared__ uint16_t s_table[1u << look_bits];
	constexpr uint32_t parts = 1u << (long_hash_bits - look_bits); // of the table of four bytes, and of that of six
	const Stream p = list[blockIdx.x];
	uint32_t which = (blockIdx.y + parts - 1) / parts, part = which == 0 ? 0 : (blockIdx.y - 1) % parts, end = searched(p);
	const uint16_t *hashes = p.hashes + which * p.room;
	uint16_t *places = p.places + which * p.room;
	for (uint32_t i = lane(); i < 1u << look_bits; i += warp_size)
		s_table[i] = 0;
	sync_warp(); // the table is empty
	auto load = [&](uint32_t at) { return at < end ? hashes[at] : ~0u; };
	uint32_t next = load(lane()), later = load(lane() + warp_size);
	for (uint32_t from = 0; from < end; from += warp_size) {
		uint32_t at = from + lane(), hash = next;
		next = later, later = load(at + 2 * warp_size); // while the table is waited for
		bool busy = hash >> look_bits == part;          // not behind the end
		uint32_t slot = hash & ((1u << look_bits) - 1);
		uint32_t same = same_lanes(busy ? slot : ~lane()), before = same & ((1u << lane()) - 1);
		uint32_t low = before == 0 ? s_table[slot] : (at - lane() + 31 - (uint32_t)__builtin_clz(before | 1)) & 0xffff;
		sync_warp(); // all have read
		if (busy && same >> lane() == 1)
			s_table[slot] = (uint16_t)at;
		if (busy)
			places[at] = (uint16_t)low;
		sync_warp(); // all have written
	}
}

// The key of the string whose lowest bits of the position are low, within a distance of most.
DEVICE uint32_t key_of(const uint8_t *data, uint32_t at, uint64_t x, uint32_t low, uint32_t most)
{
	uint32_t distance = least(((at - 1 - low) & 0xffff) + 1, most);
	return equal_bytes(x ^ load_word(data, at - distance)) << 16 | (window - distance);
}

// near, chained: of each position; 0 of the first, and of those that do not begin a whole word.
KERNEL nq_compare(const Stream *list)
{
	const Stream p = list[blockIdx.y];
	const uint8_t *data = p.data;
	for (uint32_t at = (uint32_t)thread(); at < p.n; at += grid_threads()) {
		uint32_t near = 0, chained = 0;
		if (at != 0 && at < searched(p)) {
			uint64_t x = load_word(data, at);
			near = greatest(key_of(data, at, x, p.places[at], most_short), key_of(data, at, x, p.places[p.room + at], window));
			chained = key_of(data, at, x, p.places[2 * p.room + at], window);
		}
		p.near[at] = near, p.chained[at] = chained;
	}
}

// The key of the longest match at a position, see long of finder. How many bytes are the same is a function's to say. steps are
// how many more strings may be looked at.
template <typename Equal> DEVICE uint32_t long_match(const Stream &p, uint32_t at, uint32_t key, uint32_t chained, int32_t depth, uint32_t &steps, Equal equal)
{
	const uint8_t *data = p.data;
	uint32_t most = least(longest_match, p.n - at);
	uint32_t best = key >> 16, distance = window - (key & 0xffff);
	best += equal(data, at - distance + best, at + best, most - best);
	int32_t other = (int32_t)at - (int32_t)(window - (chained & 0xffff));
	while (best < most && depth > 0 && steps > 0) {
		depth--;
		steps--;
		if (load_word(data, (uint32_t)other + best - word_bytes + 1) == load_word(data, at + best - word_bytes + 1)) {
			uint32_t n = equal(data, (uint32_t)other, at, most);
			depth -= (int32_t)(n >> 4);
			if (n > best)
				best = n, distance = at - (uint32_t)other;
		}
		// At the far edge of the window the place of a link is that of the position itself.
		uint32_t from = at - (uint32_t)other == window ? at : (uint32_t)other;
		uint32_t back = window - (p.chained[from] & 0xffff);
		other -= (int32_t)back;
		if (back == window || other < 0 || at - (uint32_t)other > window)
			break;
	}
	return best << 16 | (window - distance);
}

// longest, good: of each position the longest match if the position before is in none, and whether that is a good one.
KERNEL nq_lengthen(const Stream *list)
{
	const Stream p = list[blockIdx.y];
	for (uint32_t from = warp_first(); from < p.n; from += grid_threads()) {
		uint32_t at = from + lane(), key = 0, steps = ~0u;
		if (at < p.n) {
			uint32_t chained = p.chained[at];
			key = greatest(p.near[at], chained);
			if (key >= word_bytes * one_byte)
				key = long_match(p, at, key, chained, search_depth, steps, equal);
			p.longest[at] = key;
		}
		uint32_t good = ballot(key >= good_match * one_byte);
		if (lane() == 0)
			p.good[from / warp_size] = good;
	}
}

// The key of a match so many bytes later.
DEVICE uint32_t later(uint32_t key, uint32_t bytes) { return greatest(key, bytes * one_byte) - bytes * one_byte; }

// Sets the longest matches of the chunk from at on up to end, or up to a good match; end becomes where that begins. Returns the
// key of the good match, or 0. It takes a step for 32 positions, and ends where there are none left. All lanes of the warp call
// and hold the result.
//
// Keys of 32 positions at a time are those of their own or go on from one before, as a running maximum says, up to the
// first of which a longer match is looked for; with that the next one is found.
DEVICE uint32_t search(const Stream &p, uint32_t at, uint32_t &end, uint32_t &steps)
{
	uint32_t before = 0; // key of what goes on from the position before the lanes'
	for (; at < end && steps > 0; at += warp_size) {
		steps--;
		uint32_t i = at + lane(), chained = 0, own = 0, alone = 0;
		if (i < end) {
			chained = p.chained[i], alone = p.longest[i];
			own = greatest(p.near[i], chained);
		}
		uint32_t key = own, goes = 0, from = 0; // from: the first lane that is not decided
		for (;;) {
			uint32_t most = key + lane() * one_byte; // a key counted from lane 0 on
			for (uint32_t d = 1; d < warp_size; d *= 2) {
				uint32_t other = shuffle_up(most, d);
				most = lane() >= d ? greatest(most, other) : most;
			}
			goes = shuffle_up(most, 1);
			goes = later(lane() == 0 ? before : greatest(goes, before), lane());
			uint32_t found = ballot(lane() >= from && own >= word_bytes * one_byte && (own & 0xffff) != (goes & 0xffff));
			if (found == 0) {
				before = later(greatest(broadcast(most, warp_size - 1), before), warp_size);
				break;
			}
			uint32_t l = (uint32_t)__builtin_ctz(found);
			uint32_t longer = broadcast(alone, l), behind = broadcast(goes, l);
			if (behind > broadcast(own, l))
				longer = long_match(p, at + l, behind, broadcast(chained, l), search_depth_behind, steps, equal_of_warp);
			if (longer >= good_match * one_byte) {
				if (lane() < l)
					p.longest[i] = greatest(key, goes);
				end = at + l;
				return longer;
			}
			key = lane() == l ? longer : key;
			from = l + 1;
		}
		if (i < end)
			p.longest[i] = greatest(key, goes);
	}
	return 0;
}

// A chunk has its first byte, the end of those that are planned, and the key of the good match behind them or 0.
constexpr uint32_t chunk_words = 3;
constexpr uint32_t is_searched = 1u << 31; // in the key

// chunks, counts: where the chunks of a stream are; no chunk where that would take too long. One warp a stream, which searches
// the chunks that may have a good match.
KERNEL __launch_bounds__(look_threads) nq_divide(const Stream *list)
{
	const Stream p = list[blockIdx.x];
	uint32_t at = 0, chunk = 0, steps = p.steps;
	while (at < p.n && steps > 0) {
		uint32_t end = least(at + chunk_bytes, p.n), good = 0;
		bool any = false;
		for (uint32_t from = at & ~(warp_size - 1); from < end; from += warp_size * warp_size) {
			uint32_t first = from + lane() * warp_size, bits = first < end ? p.good[first / warp_size] : 0;
			if (first < at)
				bits &= ~0u << (at - first);
			if (first < end && end - first < warp_size)
				bits &= (1u << (end - first)) - 1;
			any = any || ballot(bits != 0) != 0;
		}
		uint32_t start = at;
		if (any)
			good = search(p, at, end, steps);
		if (lane() == 0) {
			uint32_t *to = p.chunks + chunk_words * chunk;
			to[0] = start, to[1] = end, to[2] = good | (any ? is_searched : 0);
		}
		chunk++;
		at = end + (good >> 16);
	}
	if (lane() == 0)
		p.counts[2] = steps > 0 ? chunk : 0;
}

// longest: of the chunks that are not searched yet. One warp a chunk.
KERNEL nq_search(const Stream *list)
{
	const Stream p = list[blockIdx.y];
	for (uint32_t i = warp_first() / warp_size; i < p.counts[2]; i += grid_threads() / warp_size) {
		const uint32_t *chunk = p.chunks + chunk_words * i;
		uint32_t end = chunk[1], steps = ~0u;
		if ((chunk[2] & is_searched) == 0)
			search(p, chunk[0], end, steps);
	}
}

// A place is a position of a chunk that is planned. Before, it holds costs in 1/16 bit, of the longest match, of the same a byte
// shorter and of the nearest match, each of 10 bits; whether the token of the last is less than those of the others, of which the
// shorter has the lesser; the cost of a literal; and the lengths. Afterwards the cost of all that follows stands in the place
// of the costs, and below it what was chosen.
//
//	bits 0..9   10..19   20..29  30..31  32..39   40..48  49..52
//	     whole  shorter  near    rank    literal  length  length of the nearest
//	     0..2   3..31
//	     choice cost
constexpr uint32_t choice_bits = 3;
enum : uint32_t { take_literal = 0, take_shorter = 2, take_whole = 4 }; // odd: the nearest match

// What a block has in shared memory.
struct Parse {
	uint64_t places[planned_chunks][chunk_bytes + 3]; // three behind the last byte, for matches that are none
	uint32_t tokens[planned_chunks];                  // of each chunk
	uint32_t symbols[symbol_count], distances[distance_symbols];                // of the tokens of a segment
	uint16_t literal[256], length[longest_match + 1], distance[distance_symbols]; // costs in 1/16 bit, with extra bits
	uint8_t fractions[256];                                                     // logarithms of 1 + i/256 in 1/256
};

// The logarithm of n > 0 in 1/256 bit.
DEVICE uint32_t log2_of(const Parse &s, uint32_t n)
{
	uint32_t k = 31 - (uint32_t)__builtin_clz(n);
	return k << 8 | s.fractions[(k > 8 ? n >> (k - 8) : n << (8 - k)) & 255];
}

// Sets the costs of lengths and distances by those of their symbols. All threads of the block call, as of reset_costs and finish.
template <typename L, typename D> DEVICE void set_costs(Parse &s, L of_length, D of_distance)
{
	for (uint32_t l = threadIdx.x; l <= longest_match; l += blockDim.x) {
		uint32_t symbol = length_symbol(greatest(l, least_match));
		s.length[l] = (uint16_t)(of_length(symbol) + 16 * length_extra(symbol));
	}
	for (uint32_t d = threadIdx.x; d < distance_symbols; d += blockDim.x)
		s.distance[d] = (uint16_t)(of_distance(d) + 16 * distance_extra(d));
}

DEVICE void clear_counts(Parse &s)
{
	for (uint32_t i = threadIdx.x; i < symbol_count; i += blockDim.x)
		s.symbols[i] = 0;
	for (uint32_t i = threadIdx.x; i < distance_symbols; i += blockDim.x)
		s.distances[i] = 0;
	sync_block(); // the counts are 0
}

// Costs before the first segment, see reset of costs.
DEVICE void reset_costs(Parse &s, const Stream &p)
{
	for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) {
		uint64_t x = (uint64_t)(256 + i) << 22;
		uint32_t bits = 0;
		for (uint32_t k = 0; k < 8; k++) {
			x = x * x >> 30;
			bits <<= 1;
			if (x >= 2ull << 30)
				x >>= 1, bits |= 1;
		}
		s.fractions[i] = (uint8_t)bits;
	}
	clear_counts(s);
	uint32_t head = least(p.n, window);
	for (uint32_t i = threadIdx.x; i < head; i += blockDim.x)
		count(&s.symbols[p.data[i]]);
	sync_block(); // the counts are whole
	for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) {
		uint32_t cost = (log2_of(s, head + 256) - log2_of(s, s.symbols[i] + 1)) / 16;
		s.literal[i] = (uint16_t)least(greatest(cost, 56u), 9 * 16u);
	}
	set_costs(s, [](uint32_t) { return 5 * 16u; }, [](uint32_t) { return 5 * 16u; });
	sync_block(); // the costs are there
	clear_counts(s);
}

// Writes a segment, whose symbols are counted, and sets the costs by it.
DEVICE void finish(Parse &s, const Stream &p, uint32_t segment, uint32_t tokens, uint32_t bytes, bool ends)
{
	sync_block(); // the counts are whole
	if (segment < p.most) {
		Segment &to = p.segments[segment];
		for (uint32_t i = threadIdx.x; i < symbol_count; i += blockDim.x)
			to.symbols[i] = s.symbols[i];
		for (uint32_t i = threadIdx.x; i < distance_symbols; i += blockDim.x)
			to.distances[i] = s.distances[i];
		if (threadIdx.x == 0)
			to.tokens = tokens, to.bytes = bytes, to.ends = ends ? 1 : 0, to.unused = 0;
	}
	uint32_t matches = broadcast(warp_sum(lane() < distance_symbols ? s.distances[lane()] : 0), 0);
	auto cost = [&s](uint32_t sum, uint32_t count) { return least(log2_of(s, sum + 1) - log2_of(s, count + 1), 13u << 8) / 16; };
	for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x)
		s.literal[i] = (uint16_t)greatest(cost(tokens, s.symbols[i]), 8u);
	set_costs(s, [&](uint32_t l) { return cost(tokens, s.symbols[257 + l]); }, [&](uint32_t d) { return cost(matches, s.distances[d]); });
	sync_block(); // the costs are there
	clear_counts(s);
}

// A distance less 1 of a key.
DEVICE uint32_t far_of(uint32_t key) { return (window - 1 - (key & 0xffff)) & 0x7fff; }

// Makes places of the n positions from first on. All threads of the block call.
DEVICE void prepare(const Parse &s, const Stream &p, uint64_t *places, uint32_t first, uint32_t n)
{
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
		uint32_t longest = p.longest[first + i], near = p.near[first + i], literal = s.literal[p.data[first + i]];
		uint32_t l = least(longest >> 16, n - i), whole = never, shorter = never, far = far_of(longest);
		if (l >= least_match) {
			uint32_t cost = s.distance[distance_symbol(far)];
			whole = cost + s.length[l];
			if (l > least_match)
				shorter = cost + s.length[l - 1];
		}
		uint32_t m = least(near >> 16, n - i), nearest = never, distance = far_of(near);
		if (m >= least_match)
			nearest = s.distance[distance_symbol(distance)] + s.length[m];
		// Of equal costs the least token is taken: the shorter match, or the nearer.
		uint32_t token = m << 16 | distance, rank = (token > ((l - 1) << 16 | far) ? 1 : 0) + (token > (l << 16 | far) ? 1 : 0);
		l = greatest(l, least_match), m = greatest(m, 2u);
		uint32_t low = whole | shorter << 10 | nearest << 20 | rank << 30;
		places[i] = (uint64_t)(literal | l << 8 | m << 17) << 32 | low;
	}
	if (threadIdx.x < 3)
		places[n + threadIdx.x] = 0;
}

// What the best costs that begins at a place, with what was chosen in the lowest bits.
DEVICE uint32_t best_match(const uint32_t *cost, uint32_t i, uint64_t place)
{
	constexpr uint32_t mask = ~((1u << choice_bits) - 1);
	uint32_t low = (uint32_t)place, high = (uint32_t)(place >> 32);
	uint32_t l = high >> 8 & 511, m = high >> 17;
	uint32_t whole = (cost[2 * (i + l)] & mask) + ((low & 1023) << choice_bits | take_whole);
	uint32_t shorter = (cost[2 * (i + l) - 2] & mask) + ((low >> 10 & 1023) << choice_bits | take_shorter);
	uint32_t near = (cost[2 * (i + m)] & mask) + ((low >> 20 & 1023) << choice_bits | low >> 30 << 1 | 1);
	return least(least(whole, shorter), near);
}

// Chooses what begins at each of n places, from the last to the first, see planGo. One lane calls. Matches have two bytes
// at least, also those that are none, so that two places are decided at a time but for their literals.
DEVICE void plan(uint64_t *places, uint32_t n)
{
	constexpr uint32_t mask = ~((1u << choice_bits) - 1);
	uint32_t *cost = (uint32_t *)places;
	uint32_t next = 0, i = n;
	uint64_t first = i > 0 ? places[i - 1] : 0, second = i > 1 ? places[i - 2] : 0;
	for (; i > 1; i -= 2) {
		uint64_t a = first, b = second;
		first = places[i > 2 ? i - 3 : 0], second = places[i > 3 ? i - 4 : 0]; // ahead of what needs them
		uint32_t best_a = best_match(cost, i - 1, a), best_b = best_match(cost, i - 2, b);
		best_a = least(best_a, next + (((uint32_t)(a >> 32) & 255) << choice_bits));
		best_b = least(best_b, (best_a & mask) + (((uint32_t)(b >> 32) & 255) << choice_bits));
		cost[2 * i - 2] = best_a, cost[2 * i - 4] = best_b;
		next = best_b & mask;
	}
	if (i == 1)
		cost[0] = least(best_match(cost, 0, first), next + (((uint32_t)(first >> 32) & 255) << choice_bits));
}

// Goes from the first of n places to the last of those that tokens begin at, and writes them, with their choice and their length,
// behind each other over the places that it has left behind. Returns how many there are. One lane calls.
//
//	bits 0..9      10..12  13..21
//	     position  choice  length
DEVICE uint32_t walk(uint64_t *places, uint32_t n)
{
	uint32_t tokens = 0;
	for (uint32_t i = 0; i < n;) {
		uint64_t place = places[i];
		uint32_t choice = (uint32_t)place & 7, l = (uint32_t)(place >> 40) & 511, m = (uint32_t)(place >> 49) & 15;
		uint32_t length = choice == take_literal ? 1 : choice == take_whole ? l : choice == take_shorter ? l - 1 : m;
		places[tokens++] = i | choice << 10 | length << 13;
		i += length;
	}
	return tokens;
}

// Counts the symbols of a token and writes it.
DEVICE void emit(Parse &s, uint32_t *to, uint32_t token)
{
	uint32_t v = token >> 16 & 255;
	if (token < match_bit) {
		count(&s.symbols[v]);
	} else {
		count(&s.symbols[257 + length_symbol(v + least_match)]);
		count(&s.distances[distance_symbol(token & 0x7fff)]);
	}
	*to = token;
}

// Writes the tokens of a planned chunk from first on. All threads of the block call.
DEVICE void emit_chunk(Parse &s, const Stream &p, const uint64_t *places, uint32_t first, uint32_t n, uint32_t *to)
{
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
		uint32_t v = (uint32_t)places[i], at = first + (v & 1023), choice = v >> 10 & 7, length = v >> 13, token;
		if (choice == take_literal)
			token = (uint32_t)p.data[at] << 16;
		else
			token = match_bit | (length - least_match) << 16 | far_of((choice & 1) != 0 ? p.near[at] : p.longest[at]);
		emit(s, to + i, token);
	}
}

// tokens, segments, counts: of the rows of a stream, or counts of 0 where that would take too long. One block a stream.
KERNEL __launch_bounds__(parse_threads) nq_parse(const Stream *list)
{
	__shared__ Parse s;
	const Stream p = list[blockIdx.x];
	uint32_t chunks = p.counts[2];
	uint32_t chunk = 0, segments = 0, written = 0; // written: tokens
	uint32_t began = 0, first = 0;                 // of the segment: byte and token
	uint32_t start = 0, before = 0;                // token and segment of those that are written together
	reset_costs(s, p);
	while (chunk < chunks) {
		uint32_t planned = least(planned_chunks, chunks - chunk);
		for (uint32_t k = 0; k < planned; k++) {
			const uint32_t *c = p.chunks + chunk_words * (chunk + k);
			prepare(s, p, s.places[k], c[0], c[1] - c[0]);
		}
		sync_block(); // the places are there
		if (threadIdx.x < planned) {
			const uint32_t *c = p.chunks + chunk_words * (chunk + threadIdx.x);
			uint64_t *places = s.places[threadIdx.x];
			plan(places, c[1] - c[0]);
			s.tokens[threadIdx.x] = walk(places, c[1] - c[0]);
		}
		sync_block(); // the tokens are there
		for (uint32_t k = 0; k < planned;) {
			const uint32_t *c = p.chunks + chunk_words * chunk;
			emit_chunk(s, p, s.places[k], c[0], s.tokens[k], p.tokens + written);
			written += s.tokens[k++];
			uint32_t good = c[2] & ~is_searched;
			if (good != 0) {
				if (threadIdx.x == 0)
					emit(s, p.tokens + written, match_bit | ((good >> 16) - least_match) << 16 | far_of(good));
				written++;
			}
			if (++chunk == chunks)
				break;
			bool full = written - start > most_tokens - chunk_bytes;
			if (full || (written - first >= segment_tokens && segments - before < most_segments - 1)) {
				uint32_t next = c[chunk_words];
				finish(s, p, segments++, written - first, next - began, full);
				began = next, first = written;
				if (full)
					start = written, before = segments;
				break; // the chunks behind were planned with other costs
			}
		}
		sync_block(); // before the places are used again
	}
	if (chunks > 0)
		finish(s, p, segments++, written - first, p.n - began, true);
	if (threadIdx.x == 0)
		p.counts[0] = written, p.counts[1] = segments;
}
