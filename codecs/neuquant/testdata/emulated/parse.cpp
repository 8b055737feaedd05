// Parses the streams of standard input with the kernels compiled for the CPU: for each stream its bytes, how many steps it
// may take, and the bytes; the answer is the counts of tokens and segments, the tokens and the segments. Numbers have 32 bits.
#include "../../../../gpu/include/base.cuh"

// Lanes share a variable that is shared: one block runs at a time.
#undef __shared__
#define __shared__ static

#include "../../parse.cu"
#include "../../pack.cu"

#include <vector>

static Stream stream;

static bool read(void *p, size_t n) { return fread(p, 1, n, stdin) == n; }

// Packs the tokens of standard input, which are between how many blocks, tokens and words of the result there are, and the blocks.
static Pack pack;
static int pack_blocks()
{
	uint32_t head[3];
	while (read(head, sizeof head)) {
		std::vector<uint32_t> tokens(head[1] + 1), words(head[2] + 1);
		std::vector<Block> blocks(head[0] + 1);
		if (!read(tokens.data(), 4 * head[1]) || !read(blocks.data(), sizeof(Block) * head[0]))
			return 1;
		for (uint32_t i = 0; i < head[0]; i++) {
			pack = {tokens.data(), words.data(), &blocks[i], head[2], 0};
			emulated::run([] { nq_pack(&pack); });
		}
		fwrite(words.data(), 4, head[2], stdout);
	}
	return 0;
}

int main(int count, char **)
{
	if (count > 1)
		return pack_blocks();
	uint32_t head[3];
	while (read(head, sizeof head)) {
		uint32_t n = head[0];
		std::vector<uint64_t> room(n / 8 + 4); // aligned
		uint8_t *data = (uint8_t *)room.data();
		if (!read(data, n))
			return 1;
		std::vector<uint16_t> hashes(3 * n), places(3 * n);
		std::vector<uint32_t> near(n), chained(n), longest(n), good(n / 32 + 1), chunks(3 * (n / good_match + 2)), tokens(n + 1);
		std::vector<Segment> segments(head[1] + 1);
		uint32_t counts[3] = {77, 77, 77};
		stream = {data, hashes.data(), places.data(), near.data(), chained.data(), longest.data(), good.data(), chunks.data(), tokens.data(), segments.data(), counts, n, n, head[1], head[2]};
		blockIdx.x = 0;
		emulated::run([] { nq_hash(&stream); });
		for (blockIdx.y = 0; blockIdx.y < 1 + 2 * (1 << (long_hash_bits - look_bits)); blockIdx.y++)
			emulated::run([] { nq_look(&stream); });
		blockIdx.y = 0;
		emulated::run([] { nq_compare(&stream); });
		emulated::run([] { nq_lengthen(&stream); });
		emulated::run([] { nq_divide(&stream); });
		emulated::run([] { nq_search(&stream); });
		emulated::run([] { nq_parse(&stream); });
		fwrite(counts, 4, 2, stdout);
		if (counts[0] > n || counts[1] > head[1])
			return 1;
		fwrite(tokens.data(), 4, counts[0], stdout);
		fwrite(segments.data(), sizeof(Segment), counts[1], stdout);
	}
}
