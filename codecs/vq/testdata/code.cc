// Runs vq_code on a CPU, see cpu.h: the segments of standard input, in the form that code_test.go writes, to streams on standard
// output.

#include <vector>

#include "cpu.h"

extern "C" {
alignas(16) uint32_t s_memory[1 << 16];
}

#include "code.cuh"

static CodeParams params;

template <typename T> static std::vector<T> read(size_t n)
{
	std::vector<T> v(n);
	if (fread(v.data(), sizeof(T), n, stdin) != n)
		exit(1);
	return v;
}

int main()
{
	auto head = read<uint32_t>(3); // segments, blocks of threads, words of estimates
	uint32_t count = head[0], words = head[2];
	auto tables = read<Tables>(1);
	std::vector<Segment> list;
	std::vector<std::vector<uint32_t>> symbols;
	std::vector<std::vector<uint8_t>> out;
	for (uint32_t i = 0; i < count; i++) {
		auto s = read<uint32_t>(5);
		symbols.push_back(read<uint32_t>(s[0]));
		out.emplace_back(s[4]);
		list.push_back(Segment{out[i].data(), symbols[i].data(), s[0], s[1], s[2], s[3], s[4], 0});
	}
	std::vector<uint32_t> lengths(count), estimates((size_t)words * head[1], 0xdeadbeef);
	for (uint32_t &v : s_memory)
		v = 0xdeadbeef;
	params = CodeParams{estimates.data(), lengths.data(), list.data(), tables.data(), count, words};
	gridDim.x = head[1];
	body = [] { vq_code(params); };
	for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
		run_block(64);
	for (uint32_t i = 0; i < count; i++) {
		fwrite(&lengths[i], sizeof(uint32_t), 1, stdout);
		fwrite(out[i].data(), 1, out[i].size(), stdout);
	}
}
