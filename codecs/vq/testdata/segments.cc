// Runs the index decoder's kernels on a CPU: see cpu.h.
//
// Input: for each segment seven words of 32 bits (codewords, rows and columns of a block, blocks of a row, blocks, bytes of the stream,
// 1 for vq_decode_256 where it can), the codewords, the stream, and the table that is expected. Each is decoded twice by one block of
// threads, and twice compared with the table. Output: for each one whether it is damaged, as a word, its table, and as a word whether
// it is not the expected one. An access behind a buffer ends the program, because no memory is there.

#include "cpu.h"

extern "C" {
alignas(16) uint32_t s_memory[128 << 10];
}

#include "expect.cuh"

static Book book;
static Stream streams[2], expected[2]; // one after the other, so that the second one finds what the first one has left
static DecodeParams params;

static void read(void *to, size_t n)
{
	if (fread(to, 1, n, stdin) != n)
		exit(1);
}

// Behind the memory that a launch would bring lies a mark that must stay.
constexpr uint32_t mark = 0x5a5aa5a5;

int main()
{
	uint32_t head[7];
	while (fread(head, 4, 7, stdin) == 7) {
		uint32_t n = head[0], p = head[1], q = head[2], cols = head[3], blocks = head[4], length = head[5];
		bool more = p > 4 || q > 4, few = !more && n <= 256 && head[6] == 1;
		uint32_t lengths = bit_length((p + q) * 255 * 255) + 1, most = bit_length(n - 1);
		uint32_t contexts = (activities + surrounds) * lengths + activities * surrounds + ((n - 1) >> (most > 8 ? most - 8 : 0)) + 1;
		uint32_t words = contexts * places(most);
		Guarded codewords(n * p * q), in(length), table(2 * blocks), again(2 * blocks), row(4 * cols), estimates(4 * (words + warp_size));
		Guarded wanted(2 * blocks), symbols(4 * blocks);
		Guarded edges(16 * n), neighbours(16 * n), more_edges(8 * n), more_neighbours(8 * n);
		read(codewords.at, n * p * q);
		read(in.at, length);
		read(wanted.at, 2 * blocks);
		book = Book{};
		book.words = (uint8_t *)codewords.at;
		book.edges = (uint32_t *)edges.at;
		book.neighbours = (uint32_t *)neighbours.at;
		book.more_edges = more ? (uint32_t *)more_edges.at : nullptr;
		book.more_neighbours = more ? (uint32_t *)more_neighbours.at : nullptr;
		book.n = n;
		book.p = p;
		book.q = q;
		static uint32_t damaged[2], others[2];
		for (int i = 0; i < 2; i++) {
			Stream &stream = streams[i];
			damaged[i] = 0;
			stream = Stream{};
			stream.in = (uint8_t *)in.at;
			stream.table = (uint16_t *)(i == 0 ? table.at : again.at);
			stream.row = (uint32_t *)row.at;
			stream.book = &book;
			stream.damaged = &damaged[i];
			stream.length = length;
			stream.blocks = blocks;
			stream.cols = cols;
			others[i] = 0;
			expected[i] = stream;
			expected[i].table = (uint16_t *)wanted.at;
			expected[i].row = (uint32_t *)symbols.at;
			expected[i].damaged = &others[i];
		}
		static Tables tables;
		static bool known;
		if (!known)
			read(&tables, sizeof tables);
		known = true;
		params = DecodeParams{};
		params.estimates = (uint32_t *)estimates.at;
		params.list = streams;
		params.tables = &tables;
		params.count = 2;
		params.words = words;
		uint32_t brought = sizeof(Tables) / 4 + (few ? 0 : n);
		if (brought >= sizeof s_memory / 4)
			die("too much shared memory");
		s_memory[brought] = mark;
		gridDim = {(n + 31) / 32, 1, 1};
		for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
			body = [] { vq_edges(&book); };
			run_block(32);
		}
		gridDim = {1, 1, 1};
		blockIdx.x = 0;
		if (few)
			body = [] { vq_decode_256(params); };
		else
			body = [] { vq_decode(params); };
		run_block(32);
		if (s_memory[brought] != mark)
			die("writes behind shared memory");
		if (damaged[0] != damaged[1] || damaged[0] == 0 && memcmp(table.at, again.at, 2 * blocks) != 0)
			die("the second time another table");
		gridDim = {(blocks + 7) / 8, 2, 1};
		for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)
			for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
				body = [] { vq_places(expected); };
				run_block(256);
			}
		gridDim = {1, 1, 1};
		blockIdx = {0, 0, 0};
		params.list = expected;
		static_assert(sizeof(Expecting) + 4 <= sizeof s_memory, "shared memory");
		s_memory[sizeof(Expecting) / 4] = mark;
		body = [] { vq_expect(params); };
		run_block(3 * 32);
		if (s_memory[sizeof(Expecting) / 4] != mark)
			die("writes behind shared memory");
		if (others[0] != others[1])
			die("the second time another answer");
		fwrite(&damaged, 4, 1, stdout);
		fwrite(table.at, 2, blocks, stdout);
		fwrite(&others, 4, 1, stdout);
	}
	return 0;
}
