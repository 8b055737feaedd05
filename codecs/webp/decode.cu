// Decoding (RFC 9649, 3): the host reads a bitstream up to its pixels, as internal/container/webp/lossless does; here pixels
// are decoded, transforms undone, and samples stored. The encoder's kernels share nothing with these but CUDA's helpers.
//
// A launch is for all images of a batch: blockIdx.y is the image. Where a symbol begins is not known before the one before
// it is decoded, so webp_decode_symbols gives a warp to an image: its lanes decode a literal from each of the next 64 bits
// on, then go from one that is one to the next, which takes a shuffle a pixel and not the look-ups of its symbols. Other
// symbols are decoded by all lanes alike, and the pixels of backward references shared. One image takes long, and hundreds
// hardly longer. Predictors need the pixel to the left and the row
// above, so webp_undo_predictor gives a block to an image: many rows at a time, each two pixels behind the one above.
// The other transforms take a thread a pixel.
//
// Pixels are bytes R, G, B, A, from the lowest up. Nothing is read or written outside the memory of an image, whatever the
// bitstream holds; where it breaks a rule the image's state says so, and the host decodes it.
#include "coded.cuh"
#include "../../gpu/include/warp.cuh"

DEVICE uint32_t tiles_across(uint32_t n, uint32_t bits) { return (n + (1u << bits) - 1) >> bits; }

// The 64 bits of the bitstream from pos on, the first one lowest; beyond its end they are 0.
DEVICE uint64_t bits_from(const CodedImage &image, uint64_t pos)
{
	uint32_t i = (uint32_t)(pos / 32), s = (uint32_t)pos % 32, a = 0, b = 0, c = 0;
	if (i + 2 < image.word_count) {
		a = image.words[i];
		b = image.words[i + 1];
		c = image.words[i + 2];
	} else {
		a = i < image.word_count ? image.words[i] : 0;
		b = i + 1 < image.word_count ? image.words[i + 1] : 0;
	}
	return (uint64_t)funnel_right(b, c, s) << 32 | funnel_right(a, b, s);
}

// The symbol that begins with the lowest bit, which takes 15 bits at most: they are taken away, and length grows by them.
// See codedEntries in coded.go for what entries hold.
DEVICE uint32_t symbol(const uint16_t *table, uint32_t mask, uint64_t &bits, uint32_t &length)
{
	uint32_t e = table[(uint32_t)bits & mask], n = e & 15;
	if (n > first_bits) {
		e = table[(e >> 4) * 2 + ((uint32_t)(bits >> first_bits) & ((1u << (n - first_bits)) - 1))];
		n = e & 15;
	}
	bits >>= n;
	length += n;
	return e >> 4;
}

// A length or distance code with its extra bits (3.6.2.2). Codes of distances end with 39, which has 18.
DEVICE uint32_t extended(uint32_t code, uint64_t &bits, uint32_t &length)
{
	if (code < 4)
		return code + 1;
	uint32_t extra = (code - 2) >> 1, v = (uint32_t)bits & ((1u << extra) - 1);
	bits >>= extra;
	length += extra;
	return ((2 + (code & 1)) << extra) + v + 1;
}

// A literal, and how many bits it takes: no_literal where there is another symbol.
struct Literal {
	uint32_t pixel, length;
};
constexpr uint32_t no_literal = 255;
constexpr uint32_t nowhere = ~0u;

// The literals that begin with the lowest bits, without branches, so that the look-ups of one hide behind those of the
// other. A lane calls for itself.
DEVICE void two_literals(const uint16_t *tables, const Group &g, uint64_t bits, uint64_t far_bits, Literal &near, Literal &far)
{
	uint32_t n = 0, far_n = 0;
	uint32_t green = symbol(tables + g.green, g.green_mask, bits, n), far_green = symbol(tables + g.green, g.green_mask, far_bits, far_n);
	uint32_t red = symbol(tables + g.red, g.red_mask, bits, n), far_red = symbol(tables + g.red, g.red_mask, far_bits, far_n);
	uint32_t blue = symbol(tables + g.blue, g.blue_mask, bits, n), far_blue = symbol(tables + g.blue, g.blue_mask, far_bits, far_n);
	uint32_t alpha = g.only_alpha, far_alpha = alpha;
	if (g.alpha_mask != 0) {
		alpha = symbol(tables + g.alpha, g.alpha_mask, bits, n) << 24;
		far_alpha = symbol(tables + g.alpha, g.alpha_mask, far_bits, far_n) << 24;
	}
	near = {red | green << 8 | blue << 16 | alpha, green < literals ? n : no_literal};
	far = {far_red | far_green << 8 | far_blue << 16 | far_alpha, far_green < literals ? far_n : no_literal};
}

// The place of a pixel in a colour cache (3.6.2.3), which is computed of alpha, red, green, blue.
DEVICE uint32_t cache_place(uint32_t pixel, uint32_t bits)
{
	uint32_t argb = (pixel & 0xff00ff00) | (pixel & 255) << 16 | (pixel >> 16 & 255);
	return argb * 0x1e35a7bdu >> (32 - bits);
}

DEVICE void latest(uint32_t *p, uint32_t v) { __nvvm_atom_max_gen_ui(p, v); }

// Pixels of the coded image, and whether the bitstream breaks a rule. One warp an image.
KERNEL __launch_bounds__(32) webp_decode_symbols(const CodedImage *__restrict__ images)
{
	// The colour cache: of each place 1 + the last position there, 0 for none. The pixel itself is read when the place is, so
	// that pixels enter by maximum, in any order. Behind it as many tables, in the order of their groups, as there is room
	// for: all lanes look something else up, and the slowest would wait for the far memory each time.
	__shared__ uint32_t s_memory[shared_words];

	const CodedImage image = images[blockIdx.y];
	if (blockIdx.x != 0)
		return;
	uint32_t *s_cache = s_memory;
	const uint32_t places = image.cache_bits > 0 ? 1u << image.cache_bits : 0;
	uint16_t *s_tables = (uint16_t *)(s_memory + places);
	const uint32_t near_entries = least(image.entry_count, 2 * (shared_words - places));
	for (uint32_t i = lane(); i < places; i += warp_size)
		s_cache[i] = 0;
	for (uint32_t i = lane(); i < near_entries / 2; i += warp_size)
		s_memory[places + i] = ((const uint32_t *)image.tables)[i];
	sync_warp(); // the cache is empty, and tables are there

	const uint32_t width = image.coded_width, pixels = width * image.height;
	const uint32_t across = tiles_across(width, image.tile_bits);
	const uint16_t *tables = image.tables;
	uint32_t *out = image.pixels;
	uint64_t pos = image.first_bit;
	uint32_t at = 0, to = 0, entered = 0;
	uint32_t x = 0, y = 0; // of pixel to
	bool broken = false;
	Group g = image.groups[0];
	while (at < pixels) {
		if (at >= to) {
			if (at != to) {
				// A backward reference went beyond.
				y = at / width;
				x = at - y * width;
			}
			// As many tiles of the row as have the same group.
			uint32_t number = 0;
			to = pixels;
			if (image.numbers != nullptr) {
				const uint32_t *row = image.numbers + (uint64_t)(y >> image.tile_bits) * across;
				uint32_t tile = x >> image.tile_bits;
				number = row[tile] & 0xffff;
				for (tile++; tile < across && (row[tile] & 0xffff) == number; tile++) {
				}
				uint32_t edge = least(width, tile << image.tile_bits);
				to = at + edge - x;
				number = (number & 255) << 8 | number >> 8;
				x = edge == width ? 0 : edge;
				y += edge == width ? 1 : 0;
			}
			g = image.groups[least(number, image.group_count - 1)];
			tables = g.end <= near_entries ? s_tables : image.tables;
		}
		Literal near, far;
		two_literals(tables, g, bits_from(image, pos + lane()), bits_from(image, pos + warp_size + lane()), near, far);
		if (near.length == 0) {
			// All codes of the group have one symbol, so that all pixels are the same and take no bits.
			for (; at + lane() < to; at += warp_size)
				out[at + lane()] = near.pixel;
			at = to;
			continue;
		}
		uint32_t offset = 0, n = 0, near_at = nowhere, far_at = nowhere;
		while (at < to && offset < warp_size && (n = broadcast(near.length, offset)) != no_literal) {
			if (lane() == offset)
				near_at = at;
			at++;
			offset += n;
		}
		while (n != no_literal && at < to && offset >= warp_size && offset < 2 * warp_size && (n = broadcast(far.length, offset % warp_size)) != no_literal) {
			if (lane() == offset % warp_size)
				far_at = at;
			at++;
			offset += n;
		}
		if (near_at != nowhere)
			out[near_at] = near.pixel;
		if (far_at != nowhere)
			out[far_at] = far.pixel;
		pos += offset;
		if (n != no_literal)
			continue;
		uint32_t taken = 0;
		uint64_t bits = bits_from(image, pos);
		uint32_t green = symbol(tables + g.green, g.green_mask, bits, taken);
		sync_warp(); // what single lanes have written is read by all below
		if (green < literals + lengths) {
			uint32_t length = extended(green - literals, bits, taken);
			pos += taken;
			taken = 0;
			bits = bits_from(image, pos);
			uint32_t code = symbol(tables + g.distance, g.distance_mask, bits, taken);
			code = extended(code, bits, taken);
			uint32_t back = code > near_codes ? code - near_codes : image.near_distances[code - 1];
			if (back > at || length > pixels - at) {
				broken = true;
				break;
			}
			for (uint32_t i = lane(); i < length; i += warp_size)
				out[at + i] = out[at - back + i % back];
			at += length;
		} else {
			for (uint32_t i = entered + lane(); i < at; i += warp_size)
				latest(&s_cache[cache_place(out[i], image.cache_bits)], i + 1);
			entered = at;
			sync_warp(); // the cache is up to date
			uint32_t place = green - literals - lengths;
			uint32_t last = place < places ? s_cache[place] : 0;
			if (lane() == 0)
				out[at] = last == 0 ? 0 : out[last - 1];
			at++;
		}
		pos += taken;
		sync_warp(); // pixels and the cache have been read before anybody changes them
	}
	// More bits than there are were made up as zeros.
	if (lane() == 0 && (broken || pos > image.bits))
		image.state->broken = 1;
}

// What round r undoes of an image: its transforms, the last one first.
DEVICE const Transform *undone_in(const CodedImage &image, uint32_t round)
{
	return round < image.transform_count ? &image.transforms[image.transform_count - 1 - round] : nullptr;
}

// Where the pixels are before transform t is undone: those of a palette, of which several shared a pixel, change their place.
DEVICE uint32_t *pixels_before(const CodedImage &image, const Transform *t)
{
	return t + 1 < image.transforms + image.widened ? image.wide_pixels : image.pixels;
}

// Sums byte by byte.
DEVICE uint32_t add_bytes(uint32_t a, uint32_t b)
{
	constexpr uint32_t odd = 0x00ff00ff;
	return (((a & odd) + (b & odd)) & odd) | (((a & ~odd) + (b & ~odd)) & ~odd);
}

// Means byte by byte, rounded down.
DEVICE uint32_t average(uint32_t a, uint32_t b) { return (a & b) + ((a ^ b) >> 1 & 0x7f7f7f7f); }

DEVICE int32_t byte_of(uint32_t v, uint32_t shift) { return (int32_t)(v >> shift & 255); }
DEVICE int32_t magnitude(int32_t v) { return v < 0 ? -v : v; }
DEVICE uint32_t held_to_byte(int32_t v) { return v < 0 ? 0 : v > 255 ? 255 : (uint32_t)v; }

// The prediction of a mode (3.5.1) from the pixels to the left, above, above left and above right.
DEVICE uint32_t prediction(uint32_t mode, uint32_t l, uint32_t t, uint32_t tl, uint32_t tr)
{
	switch (mode) {
	case 0:
		return 0xff000000;
	case 1:
		return l;
	case 2:
		return t;
	case 3:
		return tr;
	case 4:
		return tl;
	case 5:
		return average(average(l, tr), t);
	case 6:
		return average(l, tl);
	case 7:
		return average(l, t);
	case 8:
		return average(tl, t);
	case 9:
		return average(t, tr);
	case 10:
		return average(average(l, tl), average(t, tr));
	case 11: {
		int32_t to_l = 0, to_t = 0;
		for (uint32_t s = 0; s < 32; s += 8) {
			to_l += magnitude(byte_of(t, s) - byte_of(tl, s));
			to_t += magnitude(byte_of(l, s) - byte_of(tl, s));
		}
		return to_l < to_t ? l : t;
	}
	case 12: {
		uint32_t p = 0;
		for (uint32_t s = 0; s < 32; s += 8)
			p |= held_to_byte(byte_of(l, s) + byte_of(t, s) - byte_of(tl, s)) << s;
		return p;
	}
	default: {
		uint32_t mean = average(l, t), p = 0;
		for (uint32_t s = 0; s < 32; s += 8) {
			int32_t a = byte_of(mean, s);
			p |= held_to_byte(a + (a - byte_of(tl, s)) / 2) << s;
		}
		return p;
	}
	}
}

// Undoes a predictor transform, if it is the one of the round. One block an image: thread i has row i of predictor_rows, two
// pixels behind the row above, whose pixels it gets as they are made: from the lane before, at the edge of a warp through
// shared memory, and above the first row from what was made before.
//
//   step s   thread 0: x = s     thread 1: x = s-2     thread 2: x = s-4 ...
KERNEL __launch_bounds__(predictor_rows) webp_undo_predictor(const CodedImage *__restrict__ images, uint32_t round)
{
	// What the last lane of each warp has made, in even and odd steps.
	__shared__ uint32_t s_made[2][predictor_rows / warp_size];

	const CodedImage image = images[blockIdx.y];
	const Transform *t = undone_in(image, round);
	if (blockIdx.x != 0 || t == nullptr || t->kind != predictor)
		return;
	const int32_t width = (int32_t)t->width, height = (int32_t)image.height;
	const uint32_t bits = t->bits, across = tiles_across(t->width, bits);
	uint32_t *pixels = pixels_before(image, t);
	for (int32_t base = 0; base < height; base += predictor_rows) {
		const int32_t rows = height - base < (int32_t)predictor_rows ? height - base : (int32_t)predictor_rows;
		const int32_t y = base + (int32_t)threadIdx.x;
		uint32_t *row = pixels + (int64_t)y * width;
		const uint32_t *modes = t->pix + (uint64_t)((uint32_t)y >> bits) * across;
		uint32_t left = 0, above = 0, above_left = 0, made = 0, own_first = 0, mode = 0, next = 0;
		for (int32_t s = -1; s < width + 2 * rows - 2; s++) {
			const int32_t x = s - 2 * (int32_t)threadIdx.x;
			// Pixel x+1 of the row above, which was made in the step before.
			uint32_t above_right = shuffle_up(made, 1);
			if (threadIdx.x == 0)
				above_right = y > 0 && x + 1 < width ? row[x + 1 - width] : 0;
			else if (lane() == 0)
				above_right = s_made[s & 1][warp() - 1];
			// Loaded a step before it is needed, because the memory is far.
			uint32_t v = next;
			if (y < height && x + 1 >= 0 && x + 1 < width)
				next = row[x + 1];
			if (y < height && x >= 0 && x < width) {
				if (y == 0) {
					v = add_bytes(v, x == 0 ? 0xff000000 : left);
				} else if (x == 0) {
					v = add_bytes(v, above);
				} else {
					if (x == 1 || (x & ((1 << bits) - 1)) == 0)
						mode = modes[x >> bits] >> 8 & 15;
					// The row above goes on with the first pixel of the row itself.
					v = add_bytes(v, prediction(mode, left, above, above_left, x + 1 < width ? above_right : own_first));
				}
				row[x] = v;
				left = v;
				made = v;
				if (x == 0)
					own_first = v;
			}
			above_left = above;
			above = above_right;
			if (lane() == warp_size - 1)
				s_made[(s + 1) & 1][warp()] = made;
			sync_block(); // what was made in this step is there in the next, and the last row for the next rows
		}
	}
}

// Undoes the transform of the round, if it is another one. One thread a pixel of what comes out.
KERNEL webp_undo_others(const CodedImage *__restrict__ images, uint32_t round)
{
	const CodedImage image = images[blockIdx.y];
	const Transform *t = undone_in(image, round);
	const uint32_t i = (uint32_t)thread();
	if (t == nullptr || t->kind == predictor || i >= t->width * image.height)
		return;
	uint32_t *pixels = pixels_before(image, t);
	if (t->kind == subtract_green) {
		uint32_t v = pixels[i], green = v >> 8 & 255;
		pixels[i] = add_bytes(v, green | green << 16);
		return;
	}
	const uint32_t y = i / t->width, x = i - y * t->width;
	if (t->kind == cross_colour) {
		uint32_t m = t->pix[(uint64_t)(y >> t->bits) * tiles_across(t->width, t->bits) + (x >> t->bits)];
		uint32_t v = pixels[i];
		int32_t green = (int8_t)(v >> 8), green_to_red = (int8_t)(m >> 16), green_to_blue = (int8_t)(m >> 8), red_to_blue = (int8_t)m;
		uint32_t red = (v + (uint32_t)(green_to_red * green >> 5)) & 255;
		uint32_t blue = (v >> 16) + (uint32_t)(green_to_blue * green >> 5) + (uint32_t)(red_to_blue * (int32_t)(int8_t)red >> 5);
		pixels[i] = (v & 0xff00ff00) | red | (blue & 255) << 16;
		return;
	}
	// Indices of a palette, of which 1 << bits share the green of a pixel.
	if (t->bits == 0) {
		pixels[i] = t->pix[pixels[i] >> 8 & 255];
		return;
	}
	uint32_t wide = 8 >> t->bits;
	uint32_t packed = image.pixels[(uint64_t)y * image.coded_width + (x >> t->bits)] >> 8 & 255;
	image.wide_pixels[i] = t->pix[packed >> (wide * (x & ((1u << t->bits) - 1))) & ((1u << wide) - 1)];
}

// Where the pixels are when all transforms are undone.
DEVICE const uint32_t *final_pixels(const CodedImage &image)
{
	return image.widened != 0 ? image.wide_pixels : image.pixels;
}

// Whether a pixel is not grey. One thread a pixel.
KERNEL webp_find_colour(const CodedImage *__restrict__ images)
{
	const CodedImage image = images[blockIdx.y];
	const uint32_t i = (uint32_t)thread();
	bool coloured = false;
	if (i < image.width * image.height) {
		uint32_t v = final_pixels(image)[i];
		coloured = (v & 255) != (v >> 8 & 255) || (v & 255) != (v >> 16 & 255);
	}
	if (ballot(coloured) != 0 && lane() == 0)
		image.state->coloured = 1;
}

// Stores samples, and with them how many channels there are. One thread for each four pixels, whose samples fill whole words.
KERNEL webp_store(const CodedImage *__restrict__ images)
{
	const CodedImage image = images[blockIdx.y];
	const uint32_t n = image.width * image.height, i = 4 * (uint32_t)thread();
	if (i >= n)
		return;
	const uint32_t *pixels = final_pixels(image);
	uint32_t v[4];
	for (uint32_t k = 0; k < 4; k++)
		v[k] = i + k < n ? pixels[i + k] : 0;
	const bool coloured = image.state->coloured != 0, alpha = image.alpha != 0;
	uint32_t *to = image.samples + (uint64_t)thread() * ((coloured ? 3 : 1) + (alpha ? 1 : 0));
	if (coloured && alpha) {
		for (uint32_t k = 0; k < 4; k++)
			to[k] = v[k];
	} else if (coloured) {
		to[0] = (v[0] & 0xffffff) | v[1] << 24;
		to[1] = (v[1] >> 8 & 0xffff) | v[2] << 16;
		to[2] = (v[2] >> 16 & 0xff) | v[3] << 8;
	} else if (alpha) {
		to[0] = (v[0] & 255) | v[0] >> 24 << 8 | (v[1] & 255) << 16 | v[1] >> 24 << 24;
		to[1] = (v[2] & 255) | v[2] >> 24 << 8 | (v[3] & 255) << 16 | v[3] >> 24 << 24;
	} else {
		to[0] = (v[0] & 255) | (v[1] & 255) << 8 | (v[2] & 255) << 16 | (v[3] & 255) << 24;
	}
}
