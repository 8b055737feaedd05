// The steps of the codec on a device. Everything is integer arithmetic, but for
// float32 in a fixed order around 9/7, and gives the numbers that the Go of packages wavelet,
// ht, bitplane and mq gives; see there for the terms.
//
//	file            step                                              unit of parallel work
//	samples.cuh     samples to components and back                    pixel
//	wavelet53.cuh   5/3 transform, a level at a time                  tile of 64 x 32 samples
//	wavelet97.cuh   9/7 transform, likewise
//	htencode.cuh    High Throughput code-blocks to segments           warp for a code-block
//	gather.cuh      segments one after the other                      warp for a code-block
//	htdecode.cuh    segments to coefficients                          thread, then warp for a code-block
//	passsymbols.cuh Part 1 code-blocks to decisions                   thread for a bit-plane of a code-block
//	mqencode.cuh    decisions to codeword segments                    thread for a code-block
//	passdecode.cuh  codeword segments to coefficients                 thread for a code-block
//	htloss.cuh      quantization before and after Part 15's block coder  warp for a code-block, thread for a row
//	htrefine.cuh    refinement passes of Part 15                      thread for a code-block
//	volume53.cuh    5/3 transform of volumes, along an axis           pair of samples

#include "samples.cuh"
#include "wavelet53.cuh"
#include "wavelet97.cuh"
#include "htencode.cuh"
#include "gather.cuh"
#include "htdecode.cuh"
#include "passsymbols.cuh"
#include "mqencode.cuh"
#include "passdecode.cuh"
#include "volume53.cuh"
#include "htloss.cuh"
#include "htrefine.cuh"
