package webp

import (
	"sync"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// Bytes for each pixel that the search holds at most, by effort: the pixels as they
// come, without green and behind their transforms (4 each), runs and earlier positions
// (6), what is known of the cache (1), the parse and the one before (6 each), of each
// position its candidates (4, and 4 for each of keptCandidates) and costs (4), and the
// code. Effort 9 has the pixels of up to nine strategies at once.
var searchMemory = [10]int64{0: 50, 1: 40, 2: 64, 3: 64, 4: 64, 5: 64, 6: 64, 7: 72, 8: 72, 9: 160}

// photoMemory is the same for an image that is coded as a photograph.
var photoMemory = [10]int64{0: 50, 1: 28, 2: 28, 3: 28, 4: 28, 5: 28, 6: 28, 7: 28, 8: 28, 9: 36}

const (
	encodeTables = 6 << 20 // histograms, tables of costs and of groups
	decodeBytes  = 6       // for each pixel: R, G, B, A, and the pixels of a transform
	decodeTables = 1 << 20
)

// Memory is proportional to the pixels, whatever the channels, and for an image whose
// samples say that it is a photograph less than for its shape.
func (Codec) Memory(s raster.Shape, m *raster.Image, opts codec.Options) codec.Memory {
	o, err := resolve(opts)
	if err != nil {
		o = &defaults
	}
	n := int64(s.Pixels())
	var meta int64
	if m != nil {
		meta = int64(len(m.Meta.ICC) + len(m.Meta.EXIF) + len(m.Meta.XMP))
	}
	search := searchMemory[o.effort]
	if m != nil && len(m.Pix) > 0 && o.nearLossless == 100 && photograph(m, o.exact) {
		search = photoMemory[o.effort]
	}
	return codec.Memory{
		Encode: n*search + encodeTables + meta,
		Decode: n*decodeBytes + decodeTables + meta,
		File:   n*int64(s.Channels) + n/4 + decodeTables + meta,
	}
}

// photograph says what choose finds of m. Of a large image some rows say it.
func photograph(m *raster.Image, exact bool) bool {
	memory := memories.Get().(*encoderMemory)
	defer memory.release()
	if rows := search.SampledRows(m.Width, m.Height, search.AnalysisPixels); rows != nil {
		p := format.Pixels{W: m.Width, H: len(rows), ARGB: memory.pixelsOf(m.Width * len(rows))}
		for i, y := range rows {
			loadFrom(p.ARGB[i*p.W:][:p.W], m, y*p.W, exact)
		}
		if photo, sure := search.IsPhotoBy(p); sure {
			return photo
		}
	}
	seen := search.Analyse(loadImage(memory.pixelsOf(m.Width*m.Height), pool.Of(1), m, exact), search.AnalysisPixels)
	return seen.IsPhoto()
}

// encoderMemory is what an image needs from its samples to its file, used again by the next one:
// the kernel clears each page of new memory.
type encoderMemory struct {
	pixels []uint32
	file   []byte
}

// memories are those that nobody uses.
var memories = sync.Pool{New: func() any { return new(encoderMemory) }}

// mostKept is how many bytes of a kind are kept at most: no budget knows of them.
const mostKept = 4 << 20

// release gives back the memory, which nothing refers to any more.
func (e *encoderMemory) release() {
	if 4*cap(e.pixels) > mostKept {
		e.pixels = nil
	}
	memories.Put(e)
}

// pixelsOf is memory for n pixels, with any contents.
func (e *encoderMemory) pixelsOf(n int) []uint32 {
	if cap(e.pixels) < n {
		e.pixels = gpu.View[uint32](codec.Uncleared(4 * n))
	}
	return e.pixels[:n]
}

// write returns f with the bitstream of s, in memory of its own. A large file, of which there would be two for a while, is
// not copied there.
func (e *encoderMemory) write(c *pool.Pool, f *file, s *bitstream.Stream) ([]byte, error) {
	out, err := f.writeInto(e.file, func(out []byte) []byte { return s.AppendTo(out, f.behind(), c) })
	if err != nil || cap(out) > mostKept {
		return out[:len(out):len(out)], err
	}
	e.file = out
	data := codec.Uncleared(len(out))
	copy(data, out)
	return data, nil
}
