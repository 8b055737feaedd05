// The steps of the codec on a device, with the numbers of the Go code.
//
// Planes and bands are arrays of int32_t. A launch does a step for all pictures of a batch. Nothing depends on the order
// in which threads run: sums and maxima are of integers, and bits are joined by OR.

#include "planes.cuh"
#include "pairs.cuh"
#include "tree.cuh"
#include "slices.cuh"
#include "predict.cuh"
#include "code.cuh"
#include "know.cuh"
#include "decode.cuh"
