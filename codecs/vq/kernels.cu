// The steps of the codec on a device, in the order of steps.go and with the numbers of steps_cpu.go.
//
// Blocks are K samples one after the other, K = 4, 8, 16 or 64; codewords likewise. Four samples make a word of 32 bits,
// the first in the low byte. A key is distance << 12 | index (steps.go). Every sum is of integers and every minimum is of
// keys that hold the index, so that no result depends on the order in which threads run.

#include "blocks.cuh"
#include "search.cuh"
#include "train.cuh"
#include "start.cuh"
#include "shift.cuh"
#include "index.cuh"
#include "code.cuh"
#include "segments.cuh"
#include "expect.cuh"
#include "decode.cuh"
