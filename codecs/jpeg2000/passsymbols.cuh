// The context modelling of the Part 1 encoder: the decisions of all coding passes, for the arithmetic encoder.
//
// All coefficients are known, and so is what the passes of a bit-plane find significant when they begin. So each bit-plane
// of each code-block is a thread's, that goes over it twice: first for the significance propagation pass, and then, when it
// is known what that found, for the other two. A decision takes a byte, context << 1 | bit. A bit-plane has a slot:
//
//	| coded samples | propagation | refinement | cleanup |
//
// The first part has the samples that the propagation pass coded, four bits for a column and eight columns to a
// word. All parts begin at multiples of 16 bytes.
#pragma once

#include "tier1.cuh"

constexpr uint32_t word_symbols = 16; // decisions of a word of a slot

// The words of coded samples of a bit-plane.
DEVICE uint32_t coded_words(const Scan &b) { return (b.depth * stripes_of(b.height) * ((b.width + 7) / 8) + 3) / 4; }

// Computes of each code-block how many bit-planes it has, the words of its slots, and where the slot of each bit-plane
// begins in them; and the sum of the squares of the coefficients. Coefficients of 9/7 are quantized before (E.1). A warp takes a
// code-block.
KERNEL __launch_bounds__(32 * block_warps)
	jpeg2000_planes(const Scan *__restrict__ blocks, uint32_t *planes, uint32_t *words, uint32_t *starts, uint64_t *energies, uint32_t fraction, uint32_t count)
{
	__shared__ uint32_t s_lengths[block_warps][32]; // coefficients by bits of their magnitude
	uint32_t *lengths = s_lengths[warp()];
	uint32_t index = blockIdx.x * block_warps + warp();
	if (index >= count)
		return;
	const Scan b = blocks[index];
	lengths[lane()] = 0;
	sync_warp();
	uint64_t energy = 0;
	for (uint32_t z = 0; z < b.depth; z++) {
		for (uint32_t y = 0; y < b.height; y++) {
			int32_t *row = b.coefficients + (uint64_t)z * b.slice + (uint64_t)y * b.stride;
			for (uint32_t x = lane(); x < b.width; x += warp_size) {
				int32_t c = row[x];
				if (b.factor != 0) {
					c = (int32_t)(__builtin_bit_cast(float, c) * __builtin_bit_cast(float, b.factor));
					row[x] = c;
				}
				uint32_t m = (c < 0 ? 0u - (uint32_t)c : (uint32_t)c);
				energy += (uint64_t)m * m;
				m >>= fraction;
				if (m != 0)
					__nvvm_atom_add_gen_i((int *)&lengths[32 - (uint32_t)__builtin_clz(m)], 1);
			}
		}
	}
	sync_warp();
	energy = warp_sum(energy);
	// Lane p has bit-plane p, whose new samples are those with p + 1 bits.
	uint32_t fresh = lane() < 31 ? lengths[lane() + 1] : 0;
	uint32_t some = ballot(fresh != 0), all = some == 0 ? 0 : 32 - (uint32_t)__builtin_clz(some);
	uint32_t samples = b.width * b.height * b.depth, columns = b.width * stripes_of(b.height) * b.depth;
	// A sample has a decision, and one on its sign; a run has two more where it ends; a segmentation symbol has 4.
	uint32_t most = samples + fresh + 2 * least(fresh, columns) + 4;
	uint32_t own = lane() < all ? coded_words(b) + most / word_symbols + 3 : 0, sum = warp_running_sum(own);
	starts[(uint64_t)index * 32 + lane()] = sum - own;
	uint32_t total = broadcast(sum, warp_size - 1);
	if (lane() == 0) {
		planes[index] = all;
		words[index] = total;
		energies[index] = energy;
	}
}

// Lists the bit-planes of all code-blocks, from the most significant of each down. plane_offsets and word_offsets are the
// running sums of what jpeg2000_planes computed. A thread takes a code-block.
KERNEL __launch_bounds__(block_threads) jpeg2000_list_planes(const uint64_t *__restrict__ plane_offsets, const uint64_t *__restrict__ word_offsets,
	const uint32_t *__restrict__ starts, BitPlane *list, uint32_t count)
{
	uint64_t index = thread();
	if (index >= count)
		return;
	uint64_t first = plane_offsets[index];
	uint32_t planes = (uint32_t)(plane_offsets[index + 1] - first);
	for (uint32_t i = 0; i < planes; i++) {
		BitPlane p = {};
		p.plane = planes - 1 - i;
		p.block = (uint32_t)index;
		p.first = word_offsets[index] + starts[index * 32 + p.plane];
		list[first + i] = p;
	}
}

// Decisions that are read and counted together.
struct alignas(16) Symbols16 {
	uint32_t word[4];
};

// Writes decisions, eight at a time.
struct SymbolWriter {
	uint64_t *to;
	uint32_t low, high, count; // the last eight decisions, the newest uppermost

	__device__ SymbolWriter(Symbols16 *at) : to((uint64_t *)at), low(0), high(0), count(0) {}

	__device__ void add(uint32_t symbol)
	{
		low = low >> 8 | high << 24;
		high = high >> 8 | symbol << 24;
		if ((++count & 7) == 0)
			to[count / 8 - 1] = (uint64_t)high << 32 | low;
	}

	__device__ void end()
	{
		if ((count & 7) != 0)
			to[count / 8] = ((uint64_t)high << 32 | low) >> (8 * (8 - (count & 7)));
	}

	__device__ uint32_t words() const { return (count + word_symbols - 1) / word_symbols; }
};

// What a column holds of a stripe at a bit-plane, and of the rows above and below: the bit of row r - 1 at 3r.
struct ScanColumn {
	uint32_t before;   // significant before the bit-plane
	uint32_t bits;	   // the bits of the bit-plane
	uint32_t refined;  // refined before
	uint32_t negative;
};

// The stripe that is scanned.
struct Stripe {
	const int32_t *row; // the first of the stripe
	uint32_t width, stride, shift;
	uint32_t rows; // bits 3r: which of the six rows are there

	__device__ ScanColumn load(uint32_t x) const
	{
		ScanColumn c = {};
		if (x >= width)
			return c;
		const int32_t *at = row + x - stride;
#pragma unroll
		for (uint32_t r = 0; r < 6; r++) {
			if ((rows >> (3 * r) & 1) != 0) {
				int32_t v = *at;
				uint32_t t = (v < 0 ? 0u - (uint32_t)v : (uint32_t)v) >> shift;
				c.before |= (t > 1 ? 1u : 0) << (3 * r);
				c.bits |= (t & 1) << (3 * r);
				c.refined |= (t > 3 ? 1u : 0) << (3 * r);
				c.negative |= ((uint32_t)v >> 31) << (3 * r);
			}
			at += stride;
		}
		return c;
	}

	// The magnitude of sample k of column x in units of 1/2^unit_bits of the bit-plane.
	__device__ uint64_t magnitude(uint32_t x, uint32_t k) const
	{
		int32_t v = row[(uint64_t)k * stride + x];
		return (uint64_t)(v < 0 ? 0u - (uint32_t)v : (uint32_t)v) << unit_bits >> shift;
	}
};

// Sums of squared errors, see distortion.go.
constexpr int64_t unit = (int64_t)1 << unit_bits;

// What a sample that becomes significant adds.
DEVICE int64_t measure_significance(const Stripe &s, uint32_t x, uint32_t k)
{
	return s.shift == 0 ? unit : 3 * ((int64_t)s.magnitude(x, k) - unit * 3 / 4);
}

// What a sample that is refined adds.
DEVICE int64_t measure_refinement(const Stripe &s, uint32_t x, uint32_t k)
{
	int64_t u = (int64_t)(s.magnitude(x, k) & (uint64_t)(2 * unit - 1));
	if (s.shift == 0)
		return unit - u;
	return u >= unit ? u - unit * 5 / 4 : unit * 3 / 4 - u;
}

// Four bits at distances of three, from bit 3 on.
DEVICE uint32_t spread_samples(uint32_t v) { return (v & 1) << 3 | (v & 2) << 5 | (v & 4) << 7 | (v & 8) << 9; }

// The samples that the propagation pass coded, as it goes from column to column.
struct CodedSamples {
	const uint32_t *words;
	uint32_t word;

	__device__ CodedSamples(const uint32_t *at) : words(at), word(0) {}

	// Those of column x; columns come in their order.
	__device__ uint32_t load(uint32_t x)
	{
		if (words == nullptr)
			return 0;
		if (x % 8 == 0)
			word = words[x / 8];
		return word >> (4 * (x % 8)) & 15;
	}
};

// A bit-plane of a code-block.
struct PlaneScan {
	const Scan &b;
	const uint8_t *zero; // the contexts of the subband
	const uint8_t *sign;
	uint32_t *coded;
	uint32_t shift, style;
	bool raw, measured; // raw: of the propagation pass
	int64_t sum;

	// The decision on the sign of the sample that sees h of significance and n of signs.
	__device__ uint32_t sign_symbol(uint32_t h, uint32_t n) const
	{
		return sign[(h & seen_across) | (n & h & seen_across) >> 1] ^ (n >> 4 & 1);
	}

	__device__ Stripe stripe(uint32_t z, uint32_t s) const
	{
		Stripe stripe = {b.coefficients + (uint64_t)z * b.slice + (uint64_t)(4 * s) * b.stride, b.width, b.stride, shift, 0};
		stripe.rows = samples_of(s, b.height) << 3;
		if (s > 0)
			stripe.rows |= 1;
		if (4 * s + 4 < b.height && (style & style_causal) == 0)
			stripe.rows |= 1u << 15;
		return stripe;
	}

	// The words of coded samples of a stripe.
	__device__ uint32_t *coded_of(uint32_t z, uint32_t s) const { return coded + (uint64_t)(z * stripes_of(b.height) + s) * ((b.width + 7) / 8); }

	// The significance propagation pass (D.3.1) of a stripe. The result is the number of samples that were significant before.
	__device__ uint32_t propagate(uint32_t z, uint32_t s, SymbolWriter &out)
	{
		const Stripe at = stripe(z, s);
		uint32_t valid = samples_of(s, b.height), known = 0;
		uint32_t *words = coded_of(z, s), word = 0;
		CodedSamples above(s > 0 ? coded_of(z, s - 1) : nullptr);
		ScanColumn next = at.load(0);
		uint32_t field = (next.before | (above.load(0) >> 3 & next.bits & 1)) << 2, negative = next.negative << 2;
		for (uint32_t x = 0; x < b.width; x++) {
			uint32_t bits = next.bits >> 3;
			next = at.load(x + 1);
			uint32_t fresh = x + 1 < b.width ? above.load(x + 1) >> 3 & next.bits & 1 : 0;
			field = (field >> 1 & left_columns) | (next.before | fresh) << 2;
			negative = (negative >> 1 & left_columns) | next.negative << 2;
			known += (uint32_t)__builtin_popcount(field >> 4 & valid);
			uint32_t done = 0;
#pragma unroll
			for (uint32_t k = 0; k < 4; k++) {
				uint32_t h = field >> (3 * k) & seen_of_one;
				if ((h & own_seen) != 0 || (h & seen_around) == 0 || (valid >> (3 * k) & 1) == 0)
					continue;
				uint32_t bit = bits >> (3 * k) & 1;
				done |= 1u << k;
				out.add((uint32_t)zero[h] << 1 | bit);
				if (bit == 0)
					continue;
				uint32_t n = negative >> (3 * k);
				out.add(raw ? n >> 4 & 1 : sign_symbol(h, n));
				field |= own_seen << (3 * k);
				if (measured)
					sum += measure_significance(at, x, k);
			}
			word |= done << (4 * (x % 8));
			if (x % 8 == 7 || x + 1 == b.width) {
				words[x / 8] = word;
				word = 0;
			}
		}
		return known;
	}

	// What a column adds to the field after the propagation pass; done are the samples that it coded: of the row above, of
	// the stripe and of the row below.
	static __device__ uint32_t after(const ScanColumn &c, uint32_t above, uint32_t own, uint32_t below)
	{
		return c.before | (c.bits & ((above >> 3 & 1) | spread_samples(own) | (below & 1) << 15));
	}

	// The magnitude refinement (D.3.3) and the cleanup pass (D.3.4) of a stripe. The sums of the refinement go to refined_sum.
	__device__ void refine_and_clean(uint32_t z, uint32_t s, SymbolWriter &refinement, SymbolWriter &cleanup, int64_t &refined_sum)
	{
		const Stripe at = stripe(z, s);
		uint32_t valid = samples_of(s, b.height), stripes = stripes_of(b.height);
		CodedSamples above(s > 0 ? coded_of(z, s - 1) : nullptr), own(coded_of(z, s)), below(s + 1 < stripes ? coded_of(z, s + 1) : nullptr);
		ScanColumn next = at.load(0);
		uint32_t next_own = own.load(0), fresh = after(next, above.load(0), next_own, below.load(0));
		// The samples above and to the left are those of the passes so far for one field, and of all passes for the other.
		uint32_t field = fresh << 2, clean = ((fresh & ~1u) | ((next.before | next.bits) & 1)) << 2, negative = next.negative << 2;
		for (uint32_t x = 0; x < b.width; x++) {
			ScanColumn here = next;
			uint32_t done = next_own;
			next = at.load(x + 1);
			fresh = 0, next_own = 0;
			if (x + 1 < b.width) {
				next_own = own.load(x + 1);
				fresh = after(next, above.load(x + 1), next_own, below.load(x + 1));
			}
			field = (field >> 1 & left_columns) | fresh << 2;
			clean = (clean >> 1 & left_columns) | ((fresh & ~1u) | ((next.before | next.bits) & 1)) << 2;
			negative = (negative >> 1 & left_columns) | next.negative << 2;
			uint32_t bits = here.bits >> 3;
			uint32_t known = here.before >> 3 & valid, todo = valid & ~known & ~(spread_samples(done) >> 3);
			uint32_t run = 4; // the sample that is known to become significant
			if (todo == per_sample && (clean & all_seen) == 0) {
				bits &= per_sample;
				if (bits == 0) {
					cleanup.add(context_run << 1);
					continue;
				}
				run = (uint32_t)__builtin_ctz(bits) / 3;
				cleanup.add(context_run << 1 | 1);
				cleanup.add(context_uniform << 1 | run >> 1);
				cleanup.add(context_uniform << 1 | (run & 1));
				todo &= ~0u << (3 * run);
			}
#pragma unroll
			for (uint32_t k = 0; k < 4; k++) {
				uint32_t bit = bits >> (3 * k) & 1;
				if ((known >> (3 * k) & 1) != 0) {
					uint32_t context = (here.refined >> (3 * k + 3) & 1) != 0 ? 2 : (field >> (3 * k) & seen_around) != 0 ? 1 : 0;
					refinement.add((context_refinement + context) << 1 | bit);
					if (measured)
						refined_sum += measure_refinement(at, x, k);
				}
				if ((todo >> (3 * k) & 1) == 0)
					continue;
				uint32_t h = clean >> (3 * k) & seen_of_one;
				if (run != k)
					cleanup.add((uint32_t)zero[h] << 1 | bit);
				if (bit == 0)
					continue;
				cleanup.add(sign_symbol(h, negative >> (3 * k)));
				clean |= own_seen << (3 * k);
				if (measured)
					sum += measure_significance(at, x, k);
			}
		}
	}
};

// Writes the decisions of bit-planes, of which list has count, into their slots in symbols, and their numbers into list.
// planes are the bit-planes of code-blocks. sums, unless null, receives three sums of squared errors for each bit-plane. A thread takes a bit-plane.
KERNEL __launch_bounds__(plane_threads) jpeg2000_symbols(const Scan *__restrict__ blocks, const uint32_t *__restrict__ planes, const Tables *__restrict__ tables,
	BitPlane *list, Symbols16 *symbols, int64_t *sums, uint32_t style, uint32_t fraction, uint32_t count)
{
	__shared__ uint8_t s_zero[4 * 512], s_sign[256];
	for (uint32_t i = threadIdx.x; i < 4 * 512; i += plane_threads)
		s_zero[i] = tables->zero[i];
	for (uint32_t i = threadIdx.x; i < 256; i += plane_threads)
		s_sign[i] = tables->sign[i];
	sync_block();
	uint64_t index = thread();
	if (index >= count)
		return;
	BitPlane p = list[index];
	const Scan b = blocks[p.block];
	Symbols16 *slot = symbols + p.first;
	uint32_t pass = 3 * (planes[p.block] - 1 - p.plane); // the cleanup pass; the propagation pass is two before
	PlaneScan scan = {b, s_zero + 512 * (b.orientation & 3), s_sign, (uint32_t *)slot, p.plane + fraction, style, pass >= 2 && is_raw(pass - 2, style), sums != nullptr, 0};
	p.skip = coded_words(b);
	SymbolWriter propagation(slot + p.skip);
	uint32_t known = 0;
	for (uint32_t z = 0; z < b.depth; z++)
		for (uint32_t s = 0; s < stripes_of(b.height); s++)
			known += scan.propagate(z, s, propagation);
	propagation.end();
	p.propagation = propagation.count;
	if (sums != nullptr)
		sums[3 * index] = scan.sum;
	scan.sum = 0;
	SymbolWriter refinement(slot + p.skip + propagation.words());
	SymbolWriter cleanup(slot + p.skip + propagation.words() + (known + word_symbols - 1) / word_symbols);
	int64_t refined_sum = 0;
	for (uint32_t z = 0; z < b.depth; z++)
		for (uint32_t s = 0; s < stripes_of(b.height); s++)
			scan.refine_and_clean(z, s, refinement, cleanup, refined_sum);
	if ((style & style_mark) != 0) {
		for (uint32_t i = 0; i < 4; i++)
			cleanup.add(context_uniform << 1 | (~i & 1)); // 1, 0, 1, 0 (D.5)
	}
	refinement.end();
	cleanup.end();
	p.refinement = refinement.count;
	p.cleanup = cleanup.count;
	list[index] = p;
	if (sums != nullptr) {
		sums[3 * index + 1] = refined_sum;
		sums[3 * index + 2] = scan.sum;
	}
}
