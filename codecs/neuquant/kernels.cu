// The steps on a device, with the numbers of their Go functions.
//
// A launch is for all problems of a batch. Every sum is of integers and every minimum takes the first of equals, so that no
// result depends on the order in which threads run.

#include "train.cuh"
#include "bins.cuh"
#include "refine.cuh"
#include "map.cuh"
#include "expand.cuh"
