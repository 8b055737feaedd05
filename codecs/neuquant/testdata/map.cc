// Runs nq_map on a CPU: see cpu.h.
//
// Input: for each problem three words of 32 bits (colours, entries, 1 where the colours are samples without alpha), the entries,
// and the colours. Output: the index of each colour. An access behind the memory that a problem has ends the program.

#include "cpu.h"
#include "map.cuh"

static Problem problem;

static void read(void *to, size_t n)
{
	if (fread(to, 1, n, stdin) != n)
		exit(1);
}

static size_t rounded(size_t n) { return (n + 255) / 256 * 256; }

int main()
{
	uint32_t head[3];
	while (fread(head, 4, 3, stdin) == 3) {
		uint32_t n = head[0], k = head[1];
		size_t size = head[2] == 1 ? 3 * (size_t)n : 4 * (size_t)n;
		Guarded entries(4 * most_entries), colours(rounded(size + 8)), index(rounded(n));
		read(entries.at, 4 * k);
		read(colours.at, size);
		problem = Problem{};
		if (head[2] == 1)
			problem.samples = (uint8_t *)colours.at;
		else
			problem.values = (uint32_t *)colours.at;
		problem.index = (uint8_t *)index.at;
		problem.entries = (uint32_t *)entries.at;
		problem.n = n;
		problem.k = k;
		// One block more than there are colours for.
		gridDim = {n / (256 * thread_colours) + 2, 1, 1};
		for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
			body = [] { nq_map(&problem); };
			run_block(256);
		}
		fwrite(index.at, 1, n, stdout);
	}
	return 0;
}
