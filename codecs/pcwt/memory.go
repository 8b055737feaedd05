package pcwt

import (
	"image"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// Bytes that coding takes.
const (
	sampleBytes = 24      // for each sample of a slice at work: planes, bands, what the model keeps
	liftedBytes = 8       // for each sample of a volume that is coded along z
	coderBytes  = 2 << 20 // tables, and a coder for each goroutine
)

// decodeMemory is what decoding rectangle r of the image at 1/2^reduce takes.
func (h *header) decodeMemory(reduce int, r image.Rectangle) int64 {
	s := h.shape
	s.Width, s.Height = reduced(s.Width, reduce), reduced(s.Height, reduce)
	work := int64(s.Width) * int64(s.Height) * int64(s.Channels)
	if h.profile == 1 && !h.stored() {
		n := int64(0)
		for class := range h.zLevels + 1 {
			n = max(n, h.windows(class, reduce, r).samples())
		}
		last := int64(reduced(h.shape.Width, h.levels)) * int64(reduced(h.shape.Height, h.levels)) * int64(s.Channels)
		work = min(work, n+last+int64(r.Dx())*int64(r.Dy())*int64(s.Channels))
	}
	s.Width, s.Height = r.Dx(), r.Dy()
	return memoryFor(s, work, h.zLevels > 0, h.side()) + h.meta.Size()
}

// memoryFor is what coding of images of shape s takes, of which so many samples of a slice are at work.
func memoryFor(s raster.Shape, work int64, lifted bool, side int) int64 {
	n := int64(s.Size()) + work*int64(min(s.Depth, together))*sampleBytes + 64*int64(s.Depth)
	if lifted {
		n += int64(s.Width) * int64(s.Height) * int64(s.Channels) * int64(s.Depth) * liftedBytes
	}
	return n + 16*coderBytes*int64(max(side, 64))/64
}

// Memory is proportional to the slices that are at work at a time, and to all where a volume may be coded along z.
func (Codec) Memory(s raster.Shape, m *raster.Image, opts codec.Options) codec.Memory {
	o, err := resolve(opts)
	if err != nil {
		o = &defaults
	}
	var meta int64
	if m != nil {
		meta = m.Meta.Size()
	}
	lifted := s.Depth > 1 && o.effort > 0 && o.profile == 1
	tileLog, _ := o.layout(s)
	n := memoryFor(s, int64(s.Width)*int64(s.Height)*int64(s.Channels), lifted, 1<<tileLog)
	stored := int64(s.Samples())*int64(s.Bits)/8 + int64(s.Depth) + 1<<12
	return codec.Memory{Encode: n + 3*stored + meta, Decode: n + meta, File: 4*stored + meta}
}
