package vq

// signature opens every .vq file; like PNG's it shows a transfer that altered
// line ends or cut the eighth bit. assetSignature opens codebook files.
const (
	signature      = "\x89PVQ\r\n\x1a\n"
	assetSignature = "\x89VQC\r\n\x1a\n"
)

const (
	maxCodewords = 4096 // indices fit 12 bits
	maxSide      = 65535
	maxSamples   = 1 << 30 // of an image, over all channels and slices
	maxBlock     = 64      // samples of the largest block, 8x8

	// segmentBlocks bounds the blocks of a segment, the unit of the index table
	// that is coded on its own: 1 megapixel of 4x4 blocks.
	segmentBlocks = 1 << 16

	// trainBlocks bounds the blocks that train an image's codebook, per
	// codeword; 256 codewords see every block of a 1 megapixel image.
	trainBlocks = 256
)

const (
	adaptLimit = 60
	probMin    = 32 // no decision costs less than 0.0007 bits

	// rangeTail is the least length of a stream of the range coder.
	rangeTail = 4
)

// adaptRate[n] is the step of an estimate after n decisions, in 1/65536:
// 1/(n+2), so that the estimate is the average of the decisions (and of one
// each way) until it reaches adaptLimit.
var adaptRate = func() (t [64]uint16) {
	for n := range adaptLimit + 1 {
		t[n] = uint16(65536 / (n + 2))
	}
	return t
}()

// logistic[i] is 65536 / (1 + exp(-x)) at x = i/4 - 8, rounded: the probability in
// 1/65536 that belongs to log odds of x. logistic[36] is x = 1: 47911, or 0.731. It
// is written out because exp may differ between machines.
var logistic = [65]int32{
	22, 28, 36, 47, 60, 77, 98, 126,
	162, 208, 267, 342, 439, 562, 720, 922,
	1179, 1506, 1921, 2446, 3108, 3938, 4971, 6249,
	7812, 9702, 11955, 14595, 17625, 21025, 24743, 28693,
	32768, 36843, 40793, 44511, 47911, 50941, 53581, 55834,
	57724, 59287, 60565, 61598, 62428, 63090, 63615, 64030,
	64357, 64614, 64816, 64974, 65097, 65194, 65269, 65328,
	65374, 65410, 65438, 65459, 65476, 65489, 65500, 65508,
	65514,
}

// squash is the probability in 1/65536 for log odds of x/256, -2047 <= x <= 2047:
// logistic with straight lines between its entries.
func squash(x int32) int32 {
	x += 2048
	i := x >> 6 & 63
	return logistic[i] + (logistic[i+1]-logistic[i])*(x&63)>>6
}

// stretch is the inverse of squash by the upper 12 bits of the probability: the
// least log odds x, in 1/256, for which squash(x)>>4 reaches it.
var stretch = func() (t [4096]int16) {
	next := int32(0)
	for x := int32(-2047); x <= 2047; x++ {
		for v := squash(x) >> 4; next <= v; next++ {
			t[next] = int16(x)
		}
	}
	for ; next < 4096; next++ {
		t[next] = 2047
	}
	return t
}()

// stretch32 is stretch for vector instructions.
var stretch32 = func() (t [4096]int32) {
	for v, x := range stretch {
		t[v] = int32(x)
	}
	return t
}()

// mostOdds bounds the log odds where vector instructions work them out: beyond it, as beyond -mostOdds, the probability is at its limit.
const mostOdds = 1952

// squashed[x+2048] is squash(x), within the limits of a probability.
var squashed = func() (t [4096]uint16) {
	for x := int32(-2047); x <= 2047; x++ {
		t[x+2048] = uint16(min(max(squash(x), probMin), 65536-probMin))
	}
	return t
}()
