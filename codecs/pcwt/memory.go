package pcwt

import (
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// Bytes that coding takes.
const (
	sampleBytes = 24      // for each sample of a slice at work: planes, bands, what the model keeps
	liftedBytes = 8       // for each sample of a volume that is coded along z
	coderBytes  = 2 << 20 // tables, and a coder for each goroutine
)

// decodeMemory is what decoding at 1/2^reduce takes.
func (h *header) decodeMemory(reduce int) int64 {
	s := h.shape
	s.Width, s.Height = reduced(s.Width, reduce), reduced(s.Height, reduce)
	return memoryFor(s, h.zLevels > 0, h.side()) + h.meta.Size()
}

func memoryFor(s raster.Shape, lifted bool, side int) int64 {
	slice := int64(s.Width) * int64(s.Height) * int64(s.Channels)
	n := int64(s.Size()) + slice*int64(min(s.Depth, together))*sampleBytes + 64*int64(s.Depth)
	if lifted {
		n += slice * int64(s.Depth) * liftedBytes
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
	n := memoryFor(s, lifted, 1<<tileLog)
	stored := int64(s.Samples())*int64(s.Bits)/8 + int64(s.Depth) + 1<<12
	return codec.Memory{Encode: n + 3*stored + meta, Decode: n + meta, File: 4*stored + meta}
}
