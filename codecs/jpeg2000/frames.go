package jpeg2000

import (
	"image"
	"math/bits"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/raster"
)

// The values of syntax.
const (
	syntaxPart1 = "j2k"
	syntaxHT    = "htj2k"
)

// The transfer syntaxes of DICOM (PS3.5 A.4.4 and A.4.12).
const (
	dicomPart1 = "1.2.840.10008.1.2.4.90"
	dicomHT    = "1.2.840.10008.1.2.4.202"
)

// frameSide is the longest that the shorter side of the lowest resolution of a frame of High
// Throughput may be.
const frameSide = 64

// Frames implements [codec.FrameOptions]: a raw codestream of one tile. High Throughput has the order
// RPCL, the lengths of tile-parts, and resolutions down to one whose shorter side has at most 64
// samples (PS3.5 10.18). There are never more levels than halve the shorter side to one sample: readers
// fail on small frames that have.
func (o *Options) Frames(s raster.Shape, rgb bool) (codec.Frames, error) {
	if o.Lossy() {
		return codec.Frames{}, codec.Unsupportedf("jpeg2000: DICOM files are coded without loss: leave out bpp, psnr, quality and wavelet=9/7")
	}
	f := *o
	f.container, f.tile, f.volume, f.syntax = "j2k", image.Point{}, "none", ""
	syntax := dicomPart1
	f.mode = modePart1
	if o.syntax == syntaxHT || o.syntax == "" && o.ht() {
		syntax = dicomHT
		f.mode, f.progression, f.tlm, f.layers, f.precincts, f.style = modeHT, codestream.RPCL, true, 1, nil, o.style&codestream.Causal
	}
	side := uint(min(s.Width, s.Height))
	most := bits.Len(side) - 1
	if f.levels == automatic || f.levels > most {
		f.levels = min(photoLevels, most)
	}
	for f.ht() && f.levels < most && (side+1<<f.levels-1)>>f.levels > frameSide {
		f.levels++
	}
	f.separate = o.separate || !rgb
	return codec.Frames{Options: &f, Syntax: syntax, Decorrelated: s.Channels == 3 && !f.separate}, nil
}
