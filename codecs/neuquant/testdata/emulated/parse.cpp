// Parses the streams of standard input with the kernels compiled for the CPU: for each stream its bytes, how many steps it
// may take, and the bytes; the answer is the counts of tokens and segments, the tokens and the segments. Numbers have 32 bits.
#include "../../../../gpu/include/base.cuh"

// Lanes share a variable that is shared: one block runs at a time.
#undef __shared__
#define __shared__ static

#include "../../parse.cu"

#include <vector>

static Stream stream;

static bool read(void *p, size_t n) { return fread(p, 1, n, stdin) == n; }

int main()
{
	uint32_t head[3];
	while (read(head, sizeof head)) {
		uint32_t n = head[0];
		std::vector<uint64_t> room(n / 8 + 4); // aligned
		uint8_t *data = (uint8_t *)room.data();
		if (!read(data, n))
			return 1;
		std::vector<uint16_t> tables((1 << short_hash_bits) + 2 * (1 << long_hash_bits));
		std::vector<uint32_t> near(n + 1), chained(n + 1), tokens(n + 1);
		std::vector<Segment> segments(head[1] + 1);
		uint32_t counts[2] = {77, 77};
		stream = {data, tables.data(), near.data(), chained.data(), tokens.data(), segments.data(), counts, n, head[1], head[2], 0};
		emulated::run([] { nq_look(&stream); });
		emulated::run([] { nq_parse(&stream); });
		fwrite(counts, sizeof counts, 1, stdout);
		if (counts[0] > n || counts[1] > head[1])
			return 1;
		fwrite(tokens.data(), 4, counts[0], stdout);
		fwrite(segments.data(), sizeof(Segment), counts[1], stdout);
	}
}
