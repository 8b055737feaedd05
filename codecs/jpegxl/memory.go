package jpegxl

import (
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// Bytes for each sample of all planes: two of a coefficient; where a file is encoded also
// tokens, of four bytes each and at most one for a coefficient and one for a block, and
// the states of those of the groups at work.
const (
	coefficientBytes = 2
	tokenBytes       = 5
	stateBytes       = 4

	tables      = 24 << 20 // counts of contexts, distributions, Brotli
	maxMetadata = 64 << 20 // bytes that Brotli may unpack of one box
)

// padded is the number of samples of all planes, those included that pad the image.
func padded(s raster.Shape) int64 {
	return int64(s.Width+15) * int64(s.Height+15) * int64(max(s.Channels, 1))
}

// decodeMemory is what restoring a file and decoding its JPEG takes: the coefficients
// and the JPEG file, or the JPEG file and its decoder, which holds coefficients too.
func decodeMemory(s raster.Shape) int64 {
	return padded(s)*(2*coefficientBytes+2) + tables
}

// Memory is proportional to the samples: coefficients without loss have no larger form
// than two bytes.
func (Codec) Memory(s raster.Shape, _ *raster.Image, _ codec.Options) codec.Memory {
	n := padded(s)
	return codec.Memory{
		Encode: n*(2*coefficientBytes+tokenBytes+stateBytes) + tables,
		Decode: decodeMemory(s),
		File:   n*2 + tables,
	}
}
