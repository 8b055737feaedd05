package webp

import (
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// Bytes for each pixel that the search holds at most, by effort: the pixels as they
// come, without green and behind their transforms (4 each), runs and earlier positions
// (6), what is known of the cache (1), the parse and the one before (6 each), of each
// position its candidates (4, and 4 for each of keptCandidates) and costs (4), and the
// code. Effort 9 has the pixels of up to nine strategies at once.
var searchMemory = [10]int64{0: 50, 1: 40, 2: 64, 3: 64, 4: 64, 5: 64, 6: 64, 7: 72, 8: 72, 9: 160}

// photoMemory is the same for an image whose copies are not looked for.
var photoMemory = [10]int64{0: 50, 1: 28, 2: 28, 3: 28, 4: 28, 5: 28, 6: 28, 7: 28, 8: 28, 9: 36}

const (
	encodeTables = 6 << 20 // histograms, tables of costs and of groups
	decodeBytes  = 6       // for each pixel: R, G, B, A, and the pixels of a transform
	decodeTables = 1 << 20
)

// Memory is proportional to the pixels, whatever the channels, and for an image whose
// samples say that it is a photograph less than for its shape.
func (Codec) Memory(m *raster.Image, opts codec.Options) codec.Memory {
	o, err := resolve(opts)
	if err != nil {
		o = &defaults
	}
	n := int64(m.Width) * int64(m.Height) * int64(m.Depth)
	meta := int64(len(m.Meta.ICC) + len(m.Meta.EXIF))
	search := searchMemory[o.effort]
	if len(m.Pix) > 0 && o.nearLossless == 100 && photograph(load(m, o.exact)) {
		search = photoMemory[o.effort]
	}
	return codec.Memory{
		Encode: n*search + encodeTables + meta,
		Decode: n*decodeBytes + decodeTables + meta,
		File:   n*int64(m.Channels) + n/4 + decodeTables + meta,
	}
}

// photograph says what choose finds of p.
func photograph(p pixels) bool {
	seen := count(p, censusPixels)
	return seen.photo()
}

// Header reads the container and the header of the bitstream.
func (Codec) Header(data []byte) (codec.Header, error) {
	f, err := open(data)
	if err != nil {
		return codec.Header{}, err
	}
	h := codec.Header{Width: f.width, Height: f.height, Depth: 1, Channels: 3, Bits: 8}
	if f.alpha {
		h.Channels = 4
	}
	n := int64(f.width) * int64(f.height)
	h.Memory = n*decodeBytes + decodeTables + int64(len(f.icc)+len(f.exif))
	if turn, _ := raster.EXIFOrientation(f.exif); turn > 1 {
		h.Memory += h.Size() // turned into an image of its own
	}
	return h, nil
}
