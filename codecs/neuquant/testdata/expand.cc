// Runs nq_census, nq_rows and nq_expand on a CPU: see cpu.h.
//
// Input: for each picture two words of 32 bits (width, height), most_entries entries, most_entries places, and the indices. Output: how
// many indices there are of each entry, the rows, and the picture. An access behind the memory that a problem has ends the program.

#include "cpu.h"
#include "expand.cuh"

static Problem problem;

static void read(void *to, size_t n)
{
	if (fread(to, 1, n, stdin) != n)
		exit(1);
}

static void run(void (*kernel)(), uint32_t each)
{
	body = kernel;
	// One block more than there are indices for.
	gridDim = {problem.n / (256 * each) + 2, 1, 1};
	for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
		run_block(256);
}

int main()
{
	uint32_t size[2];
	while (fread(size, 4, 2, stdin) == 2) {
		uint32_t n = size[0] * size[1], rows_bytes = size[1] * (1 + size[0]);
		Guarded entries(4 * most_entries), places(most_entries), index((n + 3) / 4 * 4), uses(4 * most_entries), rows(rows_bytes),
			picture((n + 3) / 4 * 12);
		read(entries.at, 4 * most_entries);
		read(places.at, most_entries);
		read(index.at, n);
		problem = Problem{};
		problem.n = n;
		problem.width = size[0];
		problem.index = (uint8_t *)index.at;
		problem.entries = (uint32_t *)entries.at;
		// Nothing is wanted.
		run([] { nq_census(&problem); }, census_indices);
		run([] { nq_rows(&problem); }, 4);
		run([] { nq_expand(&problem); }, 4);
		problem.places = (uint8_t *)places.at;
		problem.uses = (uint32_t *)uses.at;
		problem.rows = (uint8_t *)rows.at;
		problem.picture = (uint8_t *)picture.at;
		run([] { nq_census(&problem); }, census_indices);
		run([] { nq_rows(&problem); }, 4);
		run([] { nq_expand(&problem); }, 4);
		fwrite(uses.at, 4, most_entries, stdout);
		fwrite(rows.at, 1, rows_bytes, stdout);
		fwrite(picture.at, 1, 3 * n, stdout);
	}
	return 0;
}
