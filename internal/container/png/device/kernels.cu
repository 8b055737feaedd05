// Kernels that decode PNG files of a batch: png_inflate, png_unfilter and png_check. What they read and write is
// described in inflate.cuh, unfilter.cuh and check.cuh; an image is described by struct Image, of which blockIdx.y is the number.
//
// A stream may hold anything. The host looks at the states and the sums, and decodes itself what is not sound.

#include "check.cuh"
#include "inflate.cuh"
#include "unfilter.cuh"

// images: of the batch; states: one for each, 1 where the stream is sound.
KERNEL __launch_bounds__(inflate_threads) png_inflate(const Image *__restrict__ images, uint32_t *__restrict__ states)
{
	bool sound = inflate(images[blockIdx.y]);
	if (threadIdx.x == 0)
		states[blockIdx.y] = sound;
}

// images, states: those of png_inflate. Blocks have one warp.
KERNEL __launch_bounds__(warp_size) png_unfilter(const Image *__restrict__ images, uint32_t *__restrict__ states)
{
	if (states[blockIdx.y] == 0)
		return;
	bool sound = unfilter(images[blockIdx.y]);
	if (threadIdx.x == 0 && !sound)
		states[blockIdx.y] = 0;
}

// images, states: those of png_unfilter. A block has the rows of an image that are blockIdx.x, modulo gridDim.x.
KERNEL __launch_bounds__(check_threads) png_check(const Image *__restrict__ images, uint32_t *__restrict__ states)
{
	__shared__ uint64_t s_sums[most_warps];
	if (states[blockIdx.y] != 0)
		check(images[blockIdx.y], s_sums);
}
