// Runs the kernels on a CPU: see cpu.h.
//
// Input: for each image, five words of 32 bits (bytes of the stream, height, bytes of a row, bytes of a pixel, 0) and the
// stream. Output: for each one its state as a word, and its sums and its samples where that is 1. An access behind a buffer
// ends the program, because no memory is there.

#include "cpu.h"
#include "kernels.cu"

static Image image;
static uint32_t state;
static uint64_t sums[4];

int main()
{
	uint32_t head[5];
	while (fread(head, 4, 5, stdin) == 5) {
		size_t n = (size_t)head[1] * head[2];
		Guarded data((head[0] + 3) / 4 * 4), raw(n + head[1]), samples(n);
		if (fread(data.at, 1, head[0], stdin) != head[0])
			return 1;
		image.data = (uint32_t *)data.at;
		image.raw = (uint8_t *)raw.at;
		image.samples = (uint8_t *)samples.at;
		image.data_bytes = head[0];
		image.height = head[1];
		image.row_bytes = head[2];
		image.pixel_bytes = head[3];
		image.sums = sums;
		state = 0;
		body = [] { png_inflate(&image, &state); };
		run_block(inflate_threads);
		body = [] { png_unfilter(&image, &state); };
		run_block(32);
		body = [] { png_check(&image, &state); };
		gridDim = {3, 1, 1};
		memset(sums, 0, sizeof sums);
		for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
			run_block(check_threads);
		blockIdx.x = 0;
		fwrite(&state, 4, 1, stdout);
		if (state == 1)
			fwrite(sums, 8, 4, stdout), fwrite(image.samples, 1, n, stdout);
	}
	return 0;
}
