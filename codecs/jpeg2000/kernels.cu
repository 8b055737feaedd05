// The steps of the codec on a device. Everything is integer arithmetic and gives the numbers that the Go of packages wavelet
// and ht gives; see there for the terms.
//
//	file            step                                              unit of parallel work
//	samples.cuh     samples to components and back                    pixel
//	wavelet53.cuh   5/3 transform, a level at a time                  tile of 64 x 32 samples
//	htencode.cuh    High Throughput code-blocks to segments           warp for a code-block
//	gather.cuh      segments one after the other                      warp for a code-block
//	htdecode.cuh    segments to coefficients                          thread, then warp for a code-block

#include "samples.cuh"
#include "wavelet53.cuh"
#include "htencode.cuh"
#include "gather.cuh"
#include "htdecode.cuh"
