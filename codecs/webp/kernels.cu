// The steps on a device, with the numbers of their Go functions.
//
// A launch is for all images of a batch: blockIdx.y is the image, and blockIdx.x reaches as far as the largest one
// needs. Pixels are 0xAARRGGBB in raster order. Prices are table lookups in 1/256 bit, every sum is of integers and every
// minimum takes the first of equals, so that no result depends on the order in which threads run.

#include "load.cuh"
#include "predictor.cuh"
#include "colour.cuh"
#include "entropy.cuh"
#include "match.cuh"
#include "references.cuh"
#include "cache.cuh"
#include "cluster.cuh"
#include "merge.cuh"
#include "pack.cuh"
