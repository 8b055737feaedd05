package volume

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/packet"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// encoder holds what the choices for a volume share.
type encoder struct {
	pool   *pool.Pool
	image  *raster.Image
	arrays []array // of the components
}

func newEncoder(p *pool.Pool, m *raster.Image) *encoder {
	e := &encoder{pool: p, image: m, arrays: make([]array, m.Channels)}
	for c := range e.arrays {
		e.arrays[c] = newArray(size{m.Width, m.Height, m.Depth})
	}
	return e
}

// Block is an encoded code-block, the whole of it in one codeword segment.
type Block struct {
	Planes int // bit-planes of the largest magnitude
	Passes int
	Data   []byte
}

// coded are the code-blocks of a subband.
type coded struct {
	*subband
	component int
	list      []Block
}

// encoders hold the working memory of goroutines for code-blocks.
var encoders = sync.Pool{New: func() any { return new(bitplane.Encoder) }}

func (e *encoder) encode(ctx context.Context, c *Coding) ([]byte, error) {
	h := newHeader(e.image.Shape, c)
	h.space = spaceOf(&e.image.Meta)
	load(e.pool, e.arrays, e.image, h.transform)
	for i := range e.arrays {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		e.arrays[i].forward(e.pool, c)
	}
	all := h.arrange()
	var jobs []func()
	for _, resolutions := range all {
		for _, bands := range resolutions {
			for b := range bands {
				for k := range bands[b].list {
					jobs = append(jobs, func() { bands[b].list[k] = e.block(c, &bands[b], k) })
				}
			}
		}
	}
	e.pool.Each(len(jobs), func(i int) {
		if ctx.Err() == nil {
			jobs[i]()
		}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	h.quantization(all)
	return h.file(all), nil
}

// newHeader is the header of a volume that is written with a coding.
func newHeader(s raster.Shape, c *Coding) *header {
	return &header{Shape: s, Coding: *c, guard: 2, layers: 1, transform: Transformed(s)}
}

// arrange lists the code-blocks, which are still to be encoded, by component, resolution
// and subband.
func (h *header) arrange() [][][]coded {
	all := make([][][]coded, h.Channels)
	for i := range all {
		for _, r := range h.Coding.resolutions(size{h.Width, h.Height, h.Depth}) {
			bands := make([]coded, len(r))
			for b := range r {
				bands[b] = coded{&r[b], i, make([]Block, r[b].blocks.samples())}
			}
			all[i] = append(all[i], bands)
		}
	}
	return all
}

// block encodes code-block k of a subband.
func (e *encoder) block(c *Coding, b *coded, k int) Block {
	t := encoders.Get().(*bitplane.Encoder)
	defer encoders.Put(t)
	a := &e.arrays[b.component]
	origin, extent := c.block(b.subband, k)
	coded := t.EncodeSlices(a.samples[a.at(origin):], a.size[axisX], a.size[axisX]*a.size[axisY],
		extent[axisX], extent[axisY], extent[axisZ], b.orientation.planar(), 0)
	return Block{coded.Planes, len(coded.Passes), bytes.Clone(coded.Data)}
}

// quantization sets the exponents, bits per sample and gain, and the guard bits: two, or
// as many more as the coefficients need.
func (h *header) quantization(components [][][]coded) {
	h.exponents = make([]int, h.Coding.subbands())
	for _, resolutions := range components {
		for _, bands := range resolutions {
			for _, b := range bands {
				exponent := h.Bits + b.orientation.gain()
				h.exponents[b.index] = exponent
				for _, block := range b.list {
					h.guard = max(h.guard, block.Planes-exponent+1)
				}
			}
		}
	}
}

// file puts the codestream together.
func (h *header) file(components [][][]coded) []byte {
	b := h.append(nil)
	start := len(b)
	b = codestream.AppendSOD(codestream.AppendSOT(b, 0, 0, 0, 1))
	h.packets(func(_, r, c int) error {
		b = h.appendPacket(b, components[c][r])
		return nil
	})
	const psot = 6 // from the marker SOT
	binary.BigEndian.PutUint32(b[start+psot:], uint32(len(b)-start))
	return codestream.AppendEOC(b)
}

// appendPacket appends the packet of a resolution in the only layer.
func (h *header) appendPacket(b []byte, bands []coded) []byte {
	r := make(resolution, len(bands))
	for i := range bands {
		r[i] = *bands[i].subband
	}
	w := packet.NewVolumeWriter(h.bands(r), func(band, k int) (layer, zeroPlanes int) {
		block := &bands[band].list[k]
		if block.Passes == 0 {
			layer = 1
		}
		return layer, h.planes(&r[band]) - block.Planes
	})
	b = w.AppendHeader(b, 0, func(band, k int) []packet.Length {
		block := &bands[band].list[k]
		if block.Passes == 0 {
			return nil
		}
		return []packet.Length{{Passes: block.Passes, Bytes: len(block.Data)}}
	})
	for i := range bands {
		for k := range bands[i].list {
			b = append(b, bands[i].list[k].Data...)
		}
	}
	return b
}

// levelsOf is the number of decompositions along an axis of n samples after which one low-pass
// sample is left, but at most limit.
func levelsOf(n, limit int) int { return min(limit, bits.Len(uint(max(n, 1)-1))) }
