package neuquant

import (
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/neuquant/internal/deflate"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

const (
	tableMemory  = 6<<20 + deflate.Memory // lookups, palettes, the encoder of a PNG file
	partMemory   = 14 << 20               // of a goroutine's table of bins: see binTable; its list doubles as it grows
	binMemory    = 24 << 20               // of all bins
	countedBytes = 72                     // of a bin, for images with fewer pixels than bins
	colourBytes  = 80                     // of a colour that is counted, its tables and lists, which double as they grow
)

// Memory is that of the colours of each pixel, their indices and the file, and of the
// bins in which colours are counted, of which each goroutine has a table, and of the colours
// that are counted one by one.
func (c Codec) Memory(s raster.Shape, m *raster.Image, opts codec.Options) codec.Memory {
	o, err := resolve(opts)
	if err != nil {
		o = &defaults
	}
	n := int64(s.Pixels())
	pixel := int64(6) // of opaque colours
	if s.Channels != 3 {
		pixel = 12 // and their list, as of grey
	}
	if s.Alpha() {
		pixel = 21 // and those of the parts
	}
	parts := max(min(int64(pool.Cores()), max(1, n>>18)), (n+binPart-1)/binPart)
	bins := min(parts*partMemory+binMemory, n*countedBytes)
	if s.Channels < 3 {
		bins = min(bins, 1<<20)
	}
	colours := int64(mostCounted)
	if s.Alpha() {
		colours = mostCountedParts
	}
	if o.own {
		colours *= int64(max(1, s.Depth)) // all frames are solved together
	}
	colours = min(n, colours)
	if n <= mostStream {
		pixel += 5 // tokens that a device finds, and counts of their symbols
	}
	var meta int64
	if m != nil {
		meta = int64(len(m.Meta.ICC) + len(m.Meta.EXIF))
	}
	return codec.Memory{
		Encode: n*pixel + bins + colours*colourBytes + tableMemory + meta,
		Decode: decodeMemory(n, s.Channels, o.gif) + meta,
		File:   n + n/2 + tableMemory + meta,
	}
}

// decodeMemory is that of the indices and of the image, which for a GIF file has four
// channels at first, and of its canvas and of the canvas before a frame.
func decodeMemory(pixels int64, channels int, gif bool) int64 {
	if gif {
		return pixels*13 + tableMemory
	}
	return pixels*int64(2+channels) + tableMemory
}
