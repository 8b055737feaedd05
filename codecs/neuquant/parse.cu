// The parse of deflate: the rows of an image become literals and matches, as the package internal/deflate finds them. Which
// strings a position is compared with follows from the bytes before it alone, so that a warp looks for those of 32 positions
// at a time. What is taken of them is a chain of decisions, in which the first lane goes from position to position: an image
// takes long, and a thousand images hardly longer.
//
// Memory of a stream: its bytes, with at least eight behind them; tables of the last position of each hash, modulo 65,536; the
// keys of each position, which nq_look writes and nq_parse reads by chunks into shared memory; tokens; and segments. Lanes of a
// warp share a stream and streams share nothing, so that all barriers are those of a warp.
#include "shared.cuh"
#include "../../gpu/include/warp.cuh"

// A key is the length of a match from 16 up, and below it the window less the distance.
constexpr uint32_t one_byte = 1u << 16;
constexpr uint32_t window = 1u << 15;
constexpr uint32_t word_bytes = 8;
constexpr uint32_t least_match = 3, longest_match = 258;
constexpr uint32_t match_bit = 1u << 24;
constexpr uint32_t never = 1u << 20; // what a length costs that no match has

DEVICE void count(uint32_t *p) { __nvvm_atom_add_gen_i((int *)p, 1); }
DEVICE uint32_t greatest(uint32_t a, uint32_t b) { return a > b ? a : b; }

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

// The key of the string whose lowest bits of the position are low, within a distance of most.
DEVICE uint32_t key_of(const uint8_t *data, uint32_t at, uint64_t x, uint32_t low, uint32_t most)
{
	uint32_t distance = least(((at - 1 - low) & 0xffff) + 1, most);
	return equal_bytes(x ^ load_word(data, at - distance)) << 16 | (window - distance);
}

// Puts the position of the lane into a table, and returns the one that the table had under its hash, as if the lanes came one
// after the other. All lanes of the warp call; those that are not busy have no position.
DEVICE uint32_t last_before(uint16_t *table, uint32_t hash, bool busy, uint32_t at)
{
	uint32_t same = same_lanes(busy ? hash : ~lane()), before = same & ((1u << lane()) - 1);
	uint32_t low = busy && before == 0 ? table[hash] : (at - lane() + 31 - (uint32_t)__builtin_clz(before | 1)) & 0xffff;
	sync_warp(); // all have read
	if (busy && same >> lane() == 1)
		table[hash] = (uint16_t)at;
	sync_warp(); // all have written
	return low;
}

// near, chained: of each position of a stream that begins a whole word. One warp a stream.
KERNEL __launch_bounds__(look_threads) nq_look(const Stream *list)
{
	const Stream p = list[blockIdx.x];
	const uint64_t factor = 0x9e3779b97f4a7c15u;
	const uint8_t *data = p.data;
	uint16_t *three = p.tables, *four = three + (1u << short_hash_bits), *six = four + (1u << long_hash_bits);
	uint32_t n = p.n, searched = n < word_bytes ? 0 : n - word_bytes + 1;
	uint32_t bits = 32 - (uint32_t)__builtin_clz(n | 1);
	bits = least(greatest(bits, least_hash_bits), long_hash_bits);
	uint32_t shift = 64 - bits, short_shift = 64 - least(bits, short_hash_bits);
	for (uint32_t from = 0; from < searched; from += warp_size) {
		uint32_t at = from + lane();
		bool busy = at < searched;
		uint64_t x = busy ? load_word(data, at) : 0, y = x << 16;
		if (busy && x == (x << 8 | x >> 56)) {
			uint32_t run = word_bytes;
			if (n - at > word_bytes)
				run += equal(data, at, at + word_bytes, least(n - at - word_bytes, longest_match - word_bytes));
			y ^= (uint64_t)run << 36;
		}
		uint32_t low3 = last_before(three, (uint32_t)((x << 40) * factor >> short_shift), busy, at);
		uint32_t low4 = last_before(four, (uint32_t)((x << 32) * factor >> shift), busy, at);
		uint32_t low6 = last_before(six, (uint32_t)(y * factor >> shift), busy, at);
		if (!busy)
			continue;
		if (at == 0) {
			p.near[0] = p.chained[0] = 0;
			continue;
		}
		p.near[at] = greatest(key_of(data, at, x, low3, most_short), key_of(data, at, x, low4, window));
		p.chained[at] = key_of(data, at, x, low6, window);
	}
}

// The key of a match a byte later.
DEVICE uint32_t less_one(uint32_t key) { return greatest(key, one_byte) - one_byte; }

// The key of the longest match at a position, see long of finder. steps is how many more strings of chains may be looked at.
DEVICE uint32_t long_match(const Stream &p, uint32_t at, uint32_t key, uint32_t chained, int32_t depth, uint32_t &steps)
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

// What a warp has in shared memory.
struct Parse {
	uint32_t longest[chunk_bytes], nearest[chunk_bytes]; // keys of the positions of a chunk
	uint32_t steps[chunk_bytes];                         // the first token of the cheapest from each position on
	uint32_t least[chunk_bytes + 1];                     // what they cost
	uint32_t whole[chunk_bytes], shorter[chunk_bytes], near[chunk_bytes]; // costs of matches: the longest, the same a byte shorter, the nearest
	uint32_t literal[256], length[longest_match + 1], distance[distance_symbols]; // costs in 1/16 bit, with extra bits
	uint32_t symbols[symbol_count], distances[distance_symbols];                  // of the tokens of a segment
	uint8_t fractions[256];                                                       // logarithms of 1 + i/256 in 1/256
	uint32_t end, good, tokens, spent;
};

// The logarithm of n > 0 in 1/256 bit.
DEVICE uint32_t log2_of(const Parse &s, uint32_t n)
{
	uint32_t k = 31 - (uint32_t)__builtin_clz(n);
	return k << 8 | s.fractions[(k > 8 ? n >> (k - 8) : n << (8 - k)) & 255];
}

// The symbol of a distance less 1, and of a length, less 257, with their extra bits (RFC 1951, 3.2.5).
DEVICE uint32_t distance_symbol(uint32_t d)
{
	if (d < 4)
		return d;
	uint32_t n = 31 - (uint32_t)__builtin_clz(d);
	return 2 * n + (d >> (n - 1) & 1);
}
DEVICE uint32_t distance_extra(uint32_t symbol) { return symbol < 4 ? 0 : symbol / 2 - 1; }
DEVICE uint32_t length_symbol(uint32_t length)
{
	uint32_t l = length - least_match;
	if (l < 8 || length == longest_match)
		return l < 8 ? l : 28;
	uint32_t n = 31 - (uint32_t)__builtin_clz(l);
	return 4 * (n - 1) + (l >> (n - 2) & 3);
}
DEVICE uint32_t length_extra(uint32_t symbol) { return symbol < 8 || symbol == 28 ? 0 : symbol / 4 - 1; }

// Sets the costs of lengths and distances by those of their symbols. All lanes of the warp call.
template <typename L, typename D> DEVICE void set_costs(Parse &s, L of_length, D of_distance)
{
	for (uint32_t l = lane(); l <= longest_match; l += warp_size) {
		uint32_t symbol = length_symbol(greatest(l, least_match));
		s.length[l] = l < least_match ? never : of_length(symbol) + 16 * length_extra(symbol);
	}
	for (uint32_t d = lane(); d < distance_symbols; d += warp_size)
		s.distance[d] = of_distance(d) + 16 * distance_extra(d);
	sync_warp(); // the costs are there
}

// Costs before the first segment, see reset of costs. All lanes of the warp call, as of learn and finish.
DEVICE void reset_costs(Parse &s, const Stream &p)
{
	for (uint32_t i = lane(); i < 256; i += warp_size) {
		uint64_t x = (uint64_t)(256 + i) << 22;
		uint32_t bits = 0;
		for (uint32_t k = 0; k < 8; k++) {
			x = x * x >> 30;
			bits <<= 1;
			if (x >= 2ull << 30)
				x >>= 1, bits |= 1;
		}
		s.fractions[i] = (uint8_t)bits;
		s.symbols[i] = 0;
	}
	for (uint32_t i = lane(); i <= chunk_bytes; i += warp_size)
		s.least[i] = 0; // what is no match looks at it too
	sync_warp(); // the counts are 0
	uint32_t head = least(p.n, window);
	for (uint32_t i = lane(); i < head; i += warp_size)
		count(&s.symbols[p.data[i]]);
	sync_warp(); // the counts are whole
	for (uint32_t i = lane(); i < 256; i += warp_size) {
		uint32_t cost = (log2_of(s, head + 256) - log2_of(s, s.symbols[i] + 1)) / 16;
		s.literal[i] = least(greatest(cost, 56u), 9 * 16u);
	}
	set_costs(s, [](uint32_t) { return 5 * 16u; }, [](uint32_t) { return 5 * 16u; });
}

// Costs of the segment whose symbols are counted.
DEVICE void learn(Parse &s)
{
	uint32_t all = 0, far = 0;
	for (uint32_t i = lane(); i < symbol_count; i += warp_size)
		all += s.symbols[i];
	for (uint32_t i = lane(); i < distance_symbols; i += warp_size)
		far += s.distances[i];
	all = broadcast(warp_sum(all), 0);
	far = broadcast(warp_sum(far), 0);
	auto cost = [&s](uint32_t sum, uint32_t count) { return least(log2_of(s, sum + 1) - log2_of(s, count + 1), 13u << 8) / 16; };
	for (uint32_t i = lane(); i < 256; i += warp_size)
		s.literal[i] = greatest(cost(all, s.symbols[i]), 8u);
	set_costs(s, [&](uint32_t l) { return cost(all, s.symbols[257 + l]); }, [&](uint32_t d) { return cost(far, s.distances[d]); });
}

// Writes a segment of the tokens first to end-1, and learns of it.
DEVICE void finish(Parse &s, const Stream &p, uint32_t segment, uint32_t first, uint32_t end, uint32_t bytes, bool ends)
{
	for (uint32_t i = lane(); i < symbol_count; i += warp_size)
		s.symbols[i] = 0;
	for (uint32_t i = lane(); i < distance_symbols; i += warp_size)
		s.distances[i] = 0;
	sync_warp(); // the counts are 0
	for (uint32_t i = first + lane(); i < end; i += warp_size) {
		uint32_t t = p.tokens[i], v = t >> 16 & 255;
		if (t < match_bit) {
			count(&s.symbols[v]);
			continue;
		}
		count(&s.symbols[257 + length_symbol(v + least_match)]);
		count(&s.distances[distance_symbol(t & 0x7fff)]);
	}
	sync_warp(); // the counts are whole
	if (segment < p.most) {
		Segment &to = p.segments[segment];
		for (uint32_t i = lane(); i < symbol_count; i += warp_size)
			to.symbols[i] = s.symbols[i];
		for (uint32_t i = lane(); i < distance_symbols; i += warp_size)
			to.distances[i] = s.distances[i];
		if (lane() == 0)
			to.tokens = end - first, to.bytes = bytes, to.ends = ends ? 1 : 0, to.unused = 0;
	}
	learn(s);
}

// Sets the longest matches of a chunk from first on, up to one that a good match begins at, see search of finder. Lane 0 calls.
DEVICE void search(Parse &s, const Stream &p, uint32_t first, uint32_t end, uint32_t searched, uint32_t &steps)
{
	uint32_t before = 0, at = first;
	s.good = 0;
	for (; at < end && at < searched; at++) {
		uint32_t i = at - first, chained = s.longest[i], key = greatest(s.nearest[i], chained);
		if (key >= word_bytes * one_byte && (key & 0xffff) != (before & 0xffff)) {
			key = greatest(key, before);
			key = long_match(p, at, key, chained, key == before ? search_depth_behind : search_depth, steps);
			if (key >= good_match * one_byte) {
				s.good = key, s.end = at;
				return;
			}
		}
		key = greatest(key, before);
		s.longest[i] = key;
		before = less_one(key);
	}
	for (; at < end; at++) {
		s.longest[at - first] = before, s.nearest[at - first] = 0;
		before = less_one(before);
	}
	s.end = end;
}

// Sets the costs of what may begin at each of n positions, and makes of keys lengths, which end within n, from 16 up and
// distances less 1 below. All lanes of the warp call.
DEVICE void prepare(Parse &s, const uint8_t *data, uint32_t n)
{
	for (uint32_t i = lane(); i < n; i += warp_size) {
		uint32_t k = s.longest[i], l = least(k >> 16, n - i), far = (window - 1 - (k & 0xffff)) & 0x7fff;
		uint32_t cost = s.distance[distance_symbol(far)];
		s.longest[i] = l << 16 | far;
		s.whole[i] = cost + s.length[l];
		s.shorter[i] = l == 0 ? never : cost + s.length[l - 1];
		k = s.nearest[i], l = least(k >> 16, n - i), far = (window - 1 - (k & 0xffff)) & 0x7fff;
		s.nearest[i] = l << 16 | far;
		s.near[i] = s.distance[distance_symbol(far)] + s.length[l];
		s.steps[i] = s.literal[data[i]] << 8 | data[i];
	}
	sync_warp(); // the costs are there
}

// Sets the steps for n bytes, see planGo. What is no match costs too much to be taken. Lane 0 calls.
DEVICE void plan(Parse &s, uint32_t n)
{
	uint32_t next = 0;
	s.least[n] = 0;
	for (uint32_t i = n; i-- > 0;) {
		uint32_t literal = s.steps[i], k = s.longest[i], l = k >> 16, t = k + match_bit - least_match * one_byte;
		uint64_t best = (uint64_t)(next + (literal >> 8)) << 32 | (literal & 255) << 16;
		best = least(best, (uint64_t)(s.whole[i] + s.least[i + l]) << 32 | t);
		best = least(best, (uint64_t)(s.shorter[i] + s.least[i + greatest(l, 1) - 1]) << 32 | (t - one_byte));
		k = s.nearest[i], t = k + match_bit - least_match * one_byte;
		best = least(best, (uint64_t)(s.near[i] + s.least[i + (k >> 16)]) << 32 | t);
		next = (uint32_t)(best >> 32);
		s.least[i] = next, s.steps[i] = (uint32_t)best;
	}
}

// tokens, segments, counts: of the rows of a stream, or counts of 0 where that would take too long. One warp a stream.
KERNEL __launch_bounds__(look_threads) nq_parse(const Stream *list)
{
	__shared__ Parse s;
	const Stream p = list[blockIdx.x];
	uint32_t n = p.n, searched = n < word_bytes ? 0 : n - word_bytes + 1;
	uint32_t steps = p.steps; // of lane 0
	uint32_t at = 0, segments = 0, written = 0; // written: tokens
	reset_costs(s, p);
	do {
		uint32_t began = at, first = written, start = written, before = segments;
		while (at < n && written - start <= most_tokens - chunk_bytes) {
			if (written - first >= segment_tokens && segments - before < most_segments - 1) {
				finish(s, p, segments++, first, written, at - began, false);
				began = at, first = written;
			}
			uint32_t end = least(at + chunk_bytes, n);
			for (uint32_t i = at + lane(); i < end && i < searched; i += warp_size)
				s.longest[i - at] = p.chained[i], s.nearest[i - at] = p.near[i];
			sync_warp(); // the keys are there
			if (lane() == 0) {
				search(s, p, at, end, searched, steps);
				s.spent = steps == 0 ? 1 : 0;
			}
			sync_warp(); // the longest matches are there
			end = s.end;
			prepare(s, p.data + at, end - at);
			if (lane() == 0) {
				plan(s, end - at);
				uint32_t to = written;
				for (uint32_t i = 0; i < end - at;) {
					uint32_t t = s.steps[i];
					p.tokens[to++] = t;
					i += t < match_bit ? 1 : (t >> 16 & 255) + least_match;
				}
				if (s.good != 0)
					p.tokens[to++] = match_bit | ((s.good >> 16) - least_match) << 16 | (window - 1 - (s.good & 0xffff));
				s.tokens = to;
			}
			sync_warp(); // the tokens are there
			written = s.tokens;
			at = s.end + (s.good >> 16);
			bool spent = s.spent != 0;
			sync_warp(); // before s is used again
			if (spent) {
				if (lane() == 0)
					p.counts[0] = p.counts[1] = 0;
				return;
			}
		}
		finish(s, p, segments++, first, written, at - began, true);
	} while (at < n);
	if (lane() == 0)
		p.counts[0] = written, p.counts[1] = segments;
}
