// Inflates the zlib streams of a batch (RFC 1950 and 1951), a block of inflate_threads threads for each.
//
// Threads read a stream together although where a symbol begins follows from those before it. What is next of a deflate
// block is divided into spans of span_bits, one a thread. Each thread decodes from a guess, the begin of its span, to the
// first symbol behind it. Prefix codes synchronise themselves: after some symbols a guess has led to the true ones. So
// where a thread ends is mostly where the next one should have begun, which decodes again from there, until none
// changes. That takes two passes mostly, and never more than there are threads: thread i is final after pass i. Then
// a running sum of what they write gives the places of their bytes, and a third pass writes.
//
//   | span 0 | span 1 | span 2 | ...   bits of a deflate block
//   ^start   ^guess   ^guess
//
// A backward reference may read what another thread writes. So bytes are links at first: what lies before the round by its
// distance, what the round writes by its place, which is replaced by the link there until none is left, or a literal.
//
//   0 ... window-1                 a byte before the round, the nearest is window-1
//   window ... window+round_bytes  a byte of the round
//   first_literal + b              byte b
//
// Nothing is trusted: every read of the stream is held against its words, a position behind its end is damage, and what
// is written ends at the size that the header of the image gives. All loops end with one of the two.
#pragma once

#include "shared.cuh"

constexpr uint32_t window = 32768;
constexpr uint32_t first_literal = 65536 - 256;
constexpr uint32_t none = 0xffffffffu;
static_assert(window + round_bytes <= first_literal, "links");
static_assert(round_bytes % 4 == 0, "words");

// An entry of a table, from the lowest bit on: 4 bits, how long the code is; 4 bits of kind; 8 bits, how many extra bits
// follow; 16 bits, the literal, the length or the distance.
constexpr uint32_t kind_literal = 0, kind_base = 1, kind_end = 2, kind_damaged = 3, kind_longer = 4;
constexpr uint32_t entry_damaged = kind_damaged << 4, entry_longer = kind_longer << 4;

constexpr uint32_t longest_code = 15;
constexpr uint32_t lit_symbols = 288, dist_symbols = 32; // two of each are reserved
constexpr uint32_t most_lits = 286, most_dists = 30;     // that a block may have

constexpr uint8_t length_order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}; // RFC 1951, 3.2.7

// Order is the order of the codes of a prefix code: by their lengths, and of one length by their symbols.
struct Order {
	uint16_t base[longest_code + 1];  // where the symbols with codes of n bits begin
	uint16_t start[longest_code + 1]; // the first code of n bits
	uint16_t count[longest_code + 1]; // of codes of n bits
};

// Code is a prefix code: a table of the codes of up to bits bits, and for longer ones the symbols in their order.
template <uint32_t bits, uint32_t symbols> struct Code {
	uint32_t table[1 << bits];
	uint16_t sorted[symbols];
	Order order;
};

using LitCode = Code<lit_bits, lit_symbols>;
using DistCode = Code<dist_bits, dist_symbols>;
using LengthCode = Code<7, 32>;

// The entry of a literal, an end of block or a length, without its code: RFC 1951, 3.2.5.
DEVICE uint32_t lit_entry(uint32_t s)
{
	if (s < 256)
		return s << 16;
	if (s == 256)
		return kind_end << 4;
	if (s == 285)
		return 258u << 16 | kind_base << 4;
	if (s > 285)
		return entry_damaged;
	uint32_t i = s - 257, extra = i < 8 ? 0 : i / 4 - 1;
	uint32_t base = i < 8 ? 3 + i : 3 + ((4 + i % 4) << extra);
	return base << 16 | extra << 8 | kind_base << 4;
}

DEVICE uint32_t dist_entry(uint32_t s)
{
	if (s >= most_dists)
		return entry_damaged;
	uint32_t extra = s < 4 ? 0 : s / 2 - 1;
	uint32_t base = s < 4 ? 1 + s : 1 + ((2 + s % 2) << extra);
	return base << 16 | extra << 8 | kind_base << 4;
}

DEVICE uint32_t reversed(uint32_t code, uint32_t n) { return __builtin_bitreverse32(code) >> (32 - n); }

// What the symbols of a code stand for.
constexpr uint32_t of_lits = 0, of_dists = 1, of_lengths = 2;

DEVICE uint32_t entry_of(uint32_t s, uint32_t what) { return what == of_lits ? lit_entry(s) : what == of_dists ? dist_entry(s) : s << 16; }

// Makes a code of the lengths of its n symbols in bits. All threads of a warp call; others may not read the code before
// the next sync_block. All hold the result: false where the lengths are those of no code. No code at all, and a single one
// of one bit, leave places of the table empty. It is a function of its own because three codes are made: kernels are
// compiled by the driver when a program begins.
static __device__ __attribute__((noinline)) bool make_code(uint32_t *table, uint32_t bits, uint16_t *sorted, Order *order,
                                                           const uint8_t *lengths, uint32_t n, uint32_t what)
{
	// Lane k counts codes of k bits; those of no bits are no codes.
	uint32_t count = 0;
	for (uint32_t at = 0; at < n; at += warp_size) {
		uint32_t length = at + lane() < n ? lengths[at + lane()] : 0;
		for (uint32_t k = 1; k <= longest_code; k++) {
			uint32_t same = ballot(length == k);
			if (lane() == k)
				count += (uint32_t)__builtin_popcount(same);
		}
	}
	// How much of the code space is taken, in units of the longest code.
	uint32_t share = lane() <= longest_code ? count << (longest_code - lane()) : 0;
	uint32_t taken = warp_running_sum(share), base = warp_running_sum(count);
	uint32_t all = broadcast(base, longest_code);
	uint32_t start = lane() <= longest_code ? (taken - share) >> (longest_code - lane()) : 0;
	base -= count;
	bool whole = broadcast(taken, longest_code) == 1u << longest_code;
	if (!whole && all != 0 && !(all == 1 && broadcast(count, 1) == 1))
		return false;
	if (lane() <= longest_code) {
		order->base[lane()] = (uint16_t)base;
		order->start[lane()] = (uint16_t)start;
		order->count[lane()] = (uint16_t)count;
	}
	for (uint32_t i = lane(); i < 1u << bits; i += warp_size)
		table[i] = whole ? entry_longer : entry_damaged;
	sync_warp();
	uint32_t seen = 0; // of codes of k bits by lane k
	for (uint32_t at = 0; at < n; at += warp_size) {
		uint32_t s = at + lane();
		uint32_t length = s < n ? lengths[s] : 0, rank = 0, more = 0;
		for (uint32_t k = 1; k <= longest_code; k++) {
			uint32_t same = ballot(length == k);
			if (length == k)
				rank = (uint32_t)__builtin_popcount(same & ((1u << lane()) - 1));
			if (lane() == k)
				more = (uint32_t)__builtin_popcount(same);
		}
		rank += broadcast(seen, length);
		uint32_t code = broadcast(start, length) + rank, place = broadcast(base, length) + rank;
		seen += more;
		if (length == 0)
			continue;
		sorted[place] = (uint16_t)s;
		if (length <= bits) {
			uint32_t e = entry_of(s, what) | length;
			for (uint32_t i = reversed(code, length); i < 1u << bits; i += 1u << length)
				table[i] = e;
		}
	}
	sync_warp();
	return true;
}

// The entry of the code that the lowest bits are. A code longer than those of the table is found by the order of codes: the
// first of n bits follow on the last of n-1.
template <uint32_t first, uint32_t symbols> DEVICE uint32_t look_up(const Code<first, symbols> &c, uint32_t bits, uint32_t what)
{
	uint32_t e = c.table[bits & ((1u << first) - 1)];
	if ((e & entry_longer) == 0)
		return e;
	uint32_t code = __builtin_bitreverse32(bits);
#pragma unroll 1
	for (uint32_t n = first + 1; n <= longest_code; n++) {
		uint32_t i = (code >> (32 - n)) - c.order.start[n];
		if (i < c.order.count[n])
			return entry_of(c.sorted[c.order.base[n] + i], what) | n;
	}
	return entry_damaged;
}

// Stream is a zlib stream. Bits behind its words are 0.
struct Stream {
	const uint32_t *words;
	uint32_t n;    // words
	uint32_t bits; // of the stream

	__device__ uint32_t word(uint32_t i) const { return i < n ? words[i] : 0; }

	// count bits, 0 to 25, at a bit position.
	__device__ uint32_t take(uint32_t at, uint32_t count) const
	{
		uint64_t both = (uint64_t)word(at / 32 + 1) << 32 | word(at / 32);
		return (uint32_t)(both >> at % 32) & ((1u << count) - 1);
	}
};

// Bits reads a stream on from a bit position.
struct Bits {
	const Stream &stream;
	uint64_t ahead; // the lowest have bits are next
	uint32_t have, next;

	__device__ Bits(const Stream &s, uint32_t at) : stream(s)
	{
		ahead = (uint64_t)s.word(at / 32) >> at % 32;
		have = 32 - at % 32;
		next = at / 32 + 1;
	}
	// 33 bits or more are there afterwards.
	__device__ void refill()
	{
		if (have <= 32) {
			ahead |= (uint64_t)stream.word(next) << have;
			have += 32;
			next++;
		}
	}
	__device__ uint32_t low() const { return (uint32_t)ahead; }
	__device__ void drop(uint32_t count)
	{
		ahead >>= count;
		have -= count;
	}
	__device__ uint32_t at() const { return next * 32 - have; }
};

// Symbol is a symbol of a block: kind_literal, kind_base, kind_end or kind_damaged.
struct Symbol {
	uint32_t kind;
	uint32_t value; // a literal or a length
	uint32_t distance;
};

// Reads the next symbol. One with bits behind the end of the stream is not noticed here.
DEVICE Symbol next_symbol(Bits &b, const LitCode &lits, const DistCode &dists)
{
	b.refill();
	uint32_t e = look_up(lits, b.low(), of_lits);
	b.drop(e & 15);
	Symbol s = {e >> 4 & 15, e >> 16, 0};
	if (s.kind != kind_base)
		return s;
	uint32_t extra = e >> 8 & 0xff;
	s.value += b.low() & ((1u << extra) - 1);
	b.drop(extra);
	b.refill();
	e = look_up(dists, b.low(), of_dists);
	b.drop(e & 15);
	extra = e >> 8 & 0xff;
	s.kind = e >> 4 & 15;
	s.distance = (e >> 16) + (b.low() & ((1u << extra) - 1));
	b.drop(extra);
	return s;
}

// Work is the shared memory of a block.
struct Work {
	LitCode lits;
	DistCode dists;
	uint16_t links[round_bytes];
	uint32_t next[inflate_threads]; // where the span of a thread ends, none behind the end of the deflate block
	uint32_t sums[most_warps];
	uint8_t lengths[lit_symbols + dist_symbols];
	LengthCode short_code;

	// Thread 0 says these to all.
	uint32_t at;   // bit position in the stream
	uint32_t out;  // bytes that are written
	uint32_t kind; // of the deflate block, or what the round has come to
	uint32_t lits_n, dists_n;
	uint32_t last;
	uint32_t bad;
};

constexpr uint32_t round_open = 0, round_end = 1, round_damaged = 2, round_serial = 3;

// Decoded is what a thread finds in its span.
struct Decoded {
	uint32_t end;   // bit position behind the last symbol
	uint32_t bytes; // that the symbols write
	uint32_t state; // round_open, round_end or round_damaged
};

// Decodes from bit position from until a symbol ends at until or behind it, the deflate block ends, or damage is found.
// Each symbol takes a bit at least. With writes it puts what symbols write into links, of which the first is that of byte
// at of all.
template <bool writes>
DEVICE Decoded decode(const Stream &stream, const Work &w, uint32_t from, uint32_t until, uint16_t *links, uint32_t at, uint32_t all)
{
	Bits b(stream, from);
	Decoded r = {from, 0, round_open};
	while (r.end < until) {
		Symbol s = next_symbol(b, w.lits, w.dists);
		r.end = b.at();
		if (s.kind == kind_damaged || r.end > stream.bits) {
			r.state = round_damaged;
			return r;
		}
		if (s.kind == kind_end) {
			r.state = round_end;
			return r;
		}
		if (s.kind == kind_literal) {
			if (writes)
				links[at + r.bytes] = (uint16_t)(first_literal + s.value);
			r.bytes++;
			continue;
		}
		if (writes) {
			uint32_t to = at + r.bytes;
			if (s.distance > all + to) {
				r.state = round_damaged;
				return r;
			}
			// A distance below the length repeats what is being written.
			uint32_t link = window + to - s.distance;
#pragma unroll 1
			for (uint32_t i = 0, j = 0; i < s.value; i++) {
				links[to + i] = (uint16_t)(link + j);
				if (++j == s.distance)
					j = 0;
			}
		}
		r.bytes += s.value;
	}
	return r;
}

// Decodes what is next of a deflate block. All threads call; w.at, w.out and w.kind are set for all.
DEVICE void inflate_round(const Stream &stream, Work &w, uint8_t *raw, uint32_t size)
{
	uint32_t i = threadIdx.x, begin = w.at, out = w.out;
	uint32_t until = begin + (i + 1) * span_bits;
	uint32_t start = begin + i * span_bits;
	Decoded span = {none, 0, round_open};
	bool again = true;
	// After pass k the first k threads are final, so there is no change in the last one.
	for (uint32_t pass = 0; pass <= inflate_threads; pass++) {
		if (again) {
			if (start == none || start >= stream.bits)
				span = {none, 0, start == none ? round_open : round_damaged};
			else
				span = decode<false>(stream, w, start, until, nullptr, 0, 0);
			w.next[i] = span.state == round_open ? span.end : none;
		}
		sync_block();
		uint32_t want = i == 0 ? begin : w.next[i - 1];
		again = want != start;
		start = want;
		if (block_sum((uint32_t)again, w.sums) == 0)
			break;
	}
	// What the spans up to this one write, as far as it may count: no more than 2^24 by a span.
	uint32_t bytes = start == none ? 0 : span.bytes, total;
	uint32_t before = block_sum_before(bytes, w.sums, total);
	bool taken = start != none && before + bytes <= round_bytes;
	// Of all that are taken, which are the first ones, the last says how the round ends.
	uint32_t threads = block_sum((uint32_t)taken, w.sums);
	if (threads == 0) {
		if (i == 0)
			w.kind = round_serial;
		sync_block();
		return;
	}
	if (i == threads - 1) {
		w.at = span.end;
		w.kind = span.state;
		w.out = before + bytes;
	}
	sync_block();
	total = w.out;
	bool bad = w.kind == round_damaged || total > size - out;
	if (!bad && taken)
		bad = decode<true>(stream, w, start, until, w.links, before, out).state == round_damaged;
	bad = block_sum((uint32_t)bad, w.sums) != 0;
	if (bad) {
		if (i == 0)
			w.kind = round_damaged;
		sync_block();
		return;
	}
	// A pass halves the length of all chains at least.
	for (uint32_t pass = 0; pass < 17; pass++) {
		uint32_t open = 0;
		for (uint32_t k = i; k < total; k += inflate_threads) {
			uint32_t link = w.links[k];
			if (link - window < first_literal - window) {
				link = w.links[link - window];
				w.links[k] = (uint16_t)link;
				open |= link - window < first_literal - window;
			}
		}
		if (block_sum(open, w.sums) == 0)
			break;
	}
	for (uint32_t k = i; k < total; k += inflate_threads) {
		uint32_t link = w.links[k];
		raw[out + k] = link >= first_literal ? (uint8_t)(link - first_literal) : raw[out + link - window];
	}
	if (i == 0)
		w.out = out + total;
	sync_block();
}

// Decodes the first span of a round by one warp, whose lanes read the same symbols and copy together: for
// spans that write more than there are links for. All threads call.
DEVICE void inflate_serial(const Stream &stream, Work &w, uint8_t *raw, uint32_t size)
{
	if (warp() == 0) {
		uint32_t at = w.at, until = at + span_bits, out = w.out, state = round_open;
		Bits b(stream, at);
		while (at < until) {
			Symbol s = next_symbol(b, w.lits, w.dists);
			at = b.at();
			if (s.kind == kind_end && at <= stream.bits) {
				state = round_end;
				break;
			}
			uint32_t n = s.kind == kind_literal ? 1 : s.value;
			if (s.kind == kind_damaged || at > stream.bits || n > size - out || s.distance > out) {
				state = round_damaged;
				break;
			}
			if (s.kind == kind_literal) {
				if (lane() == 0)
					raw[out] = (uint8_t)s.value;
			} else {
#pragma unroll 1
				for (uint32_t j = lane(); j < n; j += warp_size)
					raw[out + j] = raw[out - s.distance + j % s.distance];
			}
			out += n;
			sync_warp(); // the next copy may read these bytes
		}
		sync_warp(); // all lanes have read w
		if (lane() == 0) {
			w.at = at;
			w.out = out;
			w.kind = state;
		}
	}
	sync_block();
}

// Reads the header of a deflate block and makes its codes (RFC 1951, 3.2.3). All threads call; w.kind is 0 for a stored
// block, whose length is then in w.lits_n, 1 or 2 for one with codes, and 3 where it is damaged.
DEVICE void read_header(const Stream &stream, Work &w)
{
	uint32_t i = threadIdx.x;
	if (i == 0) {
		uint32_t head = stream.take(w.at, 3);
		w.last = head & 1;
		w.kind = head >> 1;
		w.at += 3;
		if (w.kind == 0) {
			w.at = (w.at + 7) / 8 * 8;
			w.lits_n = stream.take(w.at, 16);
			if (w.lits_n != (stream.take(w.at + 16, 16) ^ 0xffff))
				w.kind = 3;
			w.at += 32;
		} else if (w.kind == 1) {
			w.lits_n = lit_symbols;
			w.dists_n = dist_symbols;
		} else if (w.kind == 2) {
			head = stream.take(w.at, 14);
			w.lits_n = (head & 31) + 257;
			w.dists_n = (head >> 5 & 31) + 1;
			w.at += 14;
			if (w.lits_n > most_lits || w.dists_n > most_dists)
				w.kind = 3;
		}
		if (w.at > stream.bits)
			w.kind = 3;
		w.bad = 0;
	}
	sync_block();
	if (w.kind == 0 || w.kind == 3)
		return;
	if (w.kind == 1) {
		for (uint32_t s = i; s < lit_symbols + dist_symbols; s += inflate_threads)
			w.lengths[s] = s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : s < lit_symbols ? 8 : 5;
	} else if (warp() == 0) {
		// The code for lengths, and the lengths, by one thread.
		uint32_t n = 0;
		if (lane() == 0)
			n = stream.take(w.at - 4, 4) + 4;
		n = broadcast(n, 0);
		w.lengths[lane()] = 0;
		sync_warp();
		if (lane() < n)
			w.lengths[length_order[lane()]] = (uint8_t)stream.take(w.at + 3 * lane(), 3);
		sync_warp();
		bool good = make_code(w.short_code.table, 7, w.short_code.sorted, &w.short_code.order, w.lengths, 19, of_lengths);
		if (lane() == 0) {
			uint32_t all = w.lits_n + w.dists_n;
			Bits b(stream, w.at + 3 * n);
			for (uint32_t s = 0; s < all && good;) {
				b.refill();
				uint32_t e = w.short_code.table[b.low() & 127];
				if ((e >> 4 & 15) != 0 || b.at() > stream.bits) {
					good = false;
					break;
				}
				b.drop(e & 15);
				uint32_t v = e >> 16;
				if (v < 16) {
					w.lengths[s++] = (uint8_t)v;
					continue;
				}
				uint32_t wide = v == 16 ? 2 : v == 17 ? 3 : 7;
				uint32_t times = (v == 18 ? 11 : 3) + (b.low() & ((1u << wide) - 1));
				b.drop(wide);
				if (s + times > all || (v == 16 && s == 0)) {
					good = false;
					break;
				}
				uint8_t value = v == 16 ? w.lengths[s - 1] : 0;
				for (; times > 0; times--)
					w.lengths[s++] = value;
			}
			w.at = b.at();
			if (!good || w.at > stream.bits)
				w.bad = 1;
		}
	}
	sync_block();
	bool bad = w.bad != 0;
	sync_block(); // before w.bad is written again
	if (!bad) {
		bool good = true;
		if (warp() < 2) {
			bool lits = warp() == 0;
			good = make_code(lits ? w.lits.table : w.dists.table, lits ? lit_bits : dist_bits, lits ? w.lits.sorted : w.dists.sorted,
			                 lits ? &w.lits.order : &w.dists.order, lits ? w.lengths : w.lengths + w.lits_n, lits ? w.lits_n : w.dists_n,
			                 lits ? of_lits : of_dists);
		}
		if (!good && lane() == 0)
			w.bad = 1;
	}
	sync_block();
	if (i == 0 && w.bad != 0)
		w.kind = 3;
	sync_block();
}

// Copies a stored block (RFC 1951, 3.2.4), whose length is in w.lits_n. All threads call; w.kind is set as by a round.
DEVICE void copy_stored(const Stream &stream, Work &w, uint8_t *raw, uint32_t size)
{
	uint32_t n = w.lits_n, out = w.out, at = w.at;
	bool bad = n > size - out || n > (stream.bits - at) / 8;
	if (!bad)
		for (uint32_t k = threadIdx.x; k < n; k += inflate_threads)
			raw[out + k] = (uint8_t)stream.take(at + 8 * k, 8);
	sync_block();
	if (threadIdx.x == 0) {
		w.at = at + 8 * n;
		w.out = out + (bad ? 0 : n);
		w.kind = bad ? round_damaged : round_end;
	}
	sync_block();
}

// All threads of a block call. Thread 0 holds the result: whether the stream keeps the rules, but for its checksum.
DEVICE bool inflate(const Image &m)
{
	__shared__ Work w;
	Stream stream = {m.data, (m.data_bytes + 3) / 4, m.data_bytes * 8};
	uint32_t size = m.height * (1 + m.row_bytes);
	if (threadIdx.x == 0) {
		w.at = 16;
		w.out = 0;
		w.last = 0;
		// RFC 1950, 2.2: method 8, a window of at most 32 KiB, no dictionary, a multiple of 31.
		uint32_t h = stream.take(0, 16);
		w.bad = m.data_bytes < 6 || (h & 15) != 8 || (h >> 4 & 15) > 7 || (h >> 13 & 1) != 0 || ((h & 0xff) << 8 | h >> 8) % 31 != 0;
	}
	sync_block();
	if (w.bad != 0)
		return false;
	// Each deflate block takes three bits at least, and each of its rounds one.
	while (w.last == 0) {
		sync_block(); // before thread 0 writes w.last
		read_header(stream, w);
		uint32_t kind = w.kind;
		if (kind == 3)
			return false;
		sync_block(); // before w.kind is used again
		if (kind == 0) {
			copy_stored(stream, w, m.raw, size);
		} else {
			do {
				inflate_round(stream, w, m.raw, size);
				if (w.kind == round_serial) {
					sync_block(); // before w.kind is used again
					inflate_serial(stream, w, m.raw, size);
				}
				kind = w.kind;
				sync_block(); // before w.kind is used again
			} while (kind == round_open);
		}
		if (w.kind == round_damaged)
			return false;
	}
	// The checksum is at the next byte, and nothing follows. The host looks at it.
	return w.out == size && (w.at + 7) / 8 * 8 + 32 == stream.bits;
}
