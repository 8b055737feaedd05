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
	maxSamples   = 1 << 30 // of a picture, over all channels and slices
	maxBlock     = 64      // samples of the largest block, 8x8

	// segmentBlocks bounds the blocks of a segment, the unit of the index table
	// that is coded on its own: 1 megapixel of 4x4 blocks.
	segmentBlocks = 1 << 16

	// trainBlocks bounds the blocks that train a picture's codebook, per
	// codeword; 256 codewords see every block of a 1 megapixel picture.
	trainBlocks = 256
)

const (
	adaptLimit = 60
	probMin    = 64 // no decision costs less than 0.0014 bits

	// rangeTail is the least length of a stream of the range coder.
	rangeTail = 4
)

// adaptRate[n] is the step of an estimate after n decisions, in 1/65536:
// 1/(n+1.5), so that the estimate is the average of the decisions (and of half
// a decision each way) until it reaches adaptLimit.
var adaptRate = func() (t [adaptLimit + 1]uint16) {
	for n := range t {
		t[n] = uint16(2 * 65536 / (2*n + 3))
	}
	return t
}()
