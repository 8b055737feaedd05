// The kernels compare_windows, compare_totals and compare_samples.
//
// An image is compared slice by slice, and each kernel takes slice blockIdx.y of the list. compare_windows gives a thread to each window
// of SSIM, in raster order; compare_totals adds the indices of the windows of a channel in that order, a warp for each channel, so
// that sums do not depend on how threads run; compare_samples shares the pixels of a slice among all its threads.
//
//	indices of a slice:  channel 0: window 0, window 1, ...   channel 1: window 0, ...

#include "../../gpu/include/atomic.cuh"
#include "shared.cuh"

// Colours of a pixel of so many channels: all but alpha.
DEVICE constexpr uint32_t colours_of(uint32_t channels) { return channels % 2 == 0 ? channels - 1 : channels; }

// Sample c of a pixel, multiplied by alpha where it is a colour of a pixel with alpha.
template <uint32_t channels> DEVICE uint32_t seen(const uint8_t *pixel, uint32_t c)
{
	if (colours_of(channels) == channels || c == channels - 1)
		return pixel[c];
	return ((uint32_t)pixel[c] * pixel[channels - 1] + 127) / 255;
}

// Sums are those over the samples of a channel in a window: of both images, of their squares and of their products.
struct Sums {
	uint32_t s1, s2, s11, s22, s12;
};

// Equation 13 for a window, with the operations of raster.Quality in their order.
DEVICE double index_of(const Sums &s)
{
	constexpr double n = window * window, c1 = (0.01 * 255) * (0.01 * 255), c2 = (0.03 * 255) * (0.03 * 255);
	double m1 = s.s1 / n, m2 = s.s2 / n;
	double v1 = s.s11 / n - m1 * m1, v2 = s.s22 / n - m2 * m2, covariance = s.s12 / n - m1 * m2;
	double above = (2 * m1 * m2 + c1) * (2 * covariance + c2);
	double below = (m1 * m1 + m2 * m2 + c1) * (v1 + v2 + c2);
	return above / below;
}

template <uint32_t channels> DEVICE void compare_window(const Slice &s, uint64_t i)
{
	constexpr uint32_t colours = colours_of(channels);
	uint64_t y = i / s.across * stride, x = i % s.across * stride;
	Sums sums[colours] = {};
	for (uint32_t j = 0; j < window; j++) {
		uint64_t from = ((y + j) * s.width + x) * channels;
		const uint8_t *a = s.original + from, *b = s.decoded + from;
		for (uint32_t k = 0; k < window; k++, a += channels, b += channels) {
#pragma unroll
			for (uint32_t c = 0; c < colours; c++) {
				uint32_t p = seen<channels>(a, c), q = seen<channels>(b, c);
				sums[c].s1 += p;
				sums[c].s2 += q;
				sums[c].s11 += p * p;
				sums[c].s22 += q * q;
				sums[c].s12 += p * q;
			}
		}
	}
#pragma unroll
	for (uint32_t c = 0; c < colours; c++)
		s.indices[c * s.windows + i] = index_of(sums[c]);
}

// The index of each window of each colour.
KERNEL compare_windows(const Slice *__restrict__ list)
{
	const Slice s = list[blockIdx.y];
	uint64_t i = thread();
	if (i >= s.windows)
		return;
	switch (s.channels) {
	case 1: return compare_window<1>(s, i);
	case 2: return compare_window<2>(s, i);
	case 3: return compare_window<3>(s, i);
	case 4: return compare_window<4>(s, i);
	}
}

// The sum of the indices of each colour, to which blockIdx.x belongs.
KERNEL __launch_bounds__(warp_size) compare_totals(const Slice *__restrict__ list)
{
	const Slice s = list[blockIdx.y];
	if (blockIdx.x >= colours_of(s.channels))
		return;
	const double *indices = s.indices + blockIdx.x * s.windows;
	double total = 0, next = lane() < s.windows ? indices[lane()] : 0;
	for (uint64_t from = 0; from < s.windows; from += warp_size) {
		uint64_t own = __builtin_bit_cast(uint64_t, next), then = from + warp_size + lane();
		next = then < s.windows ? indices[then] : 0; // on its way while those before are added
		// Behind the last window a lane has 0, which changes no sum.
#pragma unroll
		for (uint32_t k = 0; k < warp_size; k++)
			total += __builtin_bit_cast(double, broadcast(own, k));
	}
	if (lane() == 0)
		s.found->totals[blockIdx.x] = __builtin_bit_cast(uint64_t, total);
}

template <uint32_t channels> DEVICE void compare_pixel(const Slice &s, uint64_t i, uint64_t &different, uint64_t &squares)
{
	const uint8_t *a = s.original + i * channels, *b = s.decoded + i * channels;
#pragma unroll
	for (uint32_t c = 0; c < channels; c++) {
		different += a[c] != b[c];
		int32_t d = (int32_t)seen<channels>(a, c) - (int32_t)seen<channels>(b, c);
		squares += (uint32_t)(d * d);
	}
}

// How many samples differ, and the sum of the squared differences as they are seen.
KERNEL __launch_bounds__(block_threads) compare_samples(const Slice *__restrict__ list)
{
	__shared__ uint64_t s_warps[most_warps];
	const Slice s = list[blockIdx.y];
	uint64_t different = 0, squares = 0;
	for (uint64_t i = thread(); i < (uint64_t)s.width * s.height; i += (uint64_t)gridDim.x * blockDim.x) {
		switch (s.channels) {
		case 1: compare_pixel<1>(s, i, different, squares); break;
		case 2: compare_pixel<2>(s, i, different, squares); break;
		case 3: compare_pixel<3>(s, i, different, squares); break;
		case 4: compare_pixel<4>(s, i, different, squares); break;
		}
	}
	different = block_sum(different, s_warps);
	squares = block_sum(squares, s_warps);
	if (threadIdx.x == 0 && different != 0) {
		add_global(&s.found->different, different);
		add_global(&s.found->squares, squares);
	}
}
