// Runs the kernels on a CPU: see cpu.h.
//
// Input: how many slices there are, as a word of 32 bits; then for each one its width, height, channels, windows of a row and windows
// of the slice, and the samples of the original and of the decoded image. Output: what is found of each. An access behind the end of
// an image or of the indices ends the program, because no memory is there.

#include "cpu.h"
#include "kernels.cu"

static Slice *slices;
static Found *found;

static void run_grid(uint32_t x, uint32_t y, uint32_t threads)
{
	gridDim = {x, y, 1};
	for (blockIdx.y = 0; blockIdx.y < y; blockIdx.y++)
		for (blockIdx.x = 0; blockIdx.x < x; blockIdx.x++)
			run_block(threads);
}

static const uint8_t *samples(size_t n)
{
	Guarded *g = new Guarded((n + 3) / 4 * 4);
	uint8_t *at = (uint8_t *)g->at + (n + 3) / 4 * 4 - n;
	return fread(at, 1, n, stdin) == n ? at : nullptr;
}

int main()
{
	uint32_t count, windows = 1;
	if (fread(&count, 4, 1, stdin) != 1)
		return 1;
	slices = new Slice[count];
	found = new Found[count]();
	for (uint32_t i = 0; i < count; i++) {
		uint32_t size[5];
		if (fread(size, 4, 5, stdin) != 5)
			return 1;
		Slice &s = slices[i];
		s.width = size[0], s.height = size[1], s.channels = size[2], s.across = size[3], s.windows = size[4];
		size_t n = (size_t)s.width * s.height * s.channels;
		s.original = samples(n);
		s.decoded = samples(n);
		if (s.original == nullptr || s.decoded == nullptr)
			return 1;
		s.indices = (double *)(new Guarded(8 * s.windows * colours_of(s.channels)))->at;
		s.found = found + i;
		windows = windows < size[4] ? size[4] : windows;
	}
	body = [] { compare_samples(slices); };
	run_grid(3, count, block_threads);
	body = [] { compare_windows(slices); };
	run_grid((windows + 63) / 64, count, 64);
	body = [] { compare_totals(slices); };
	run_grid(3, count, warp_size);
	fwrite(found, sizeof(Found), count, stdout);
	return 0;
}
