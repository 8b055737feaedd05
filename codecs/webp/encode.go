package webp

import (
	"context"
	"fmt"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/internal/crew"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// Encode makes one file per picture. See the package comment for what it takes and
// guarantees.
func (c Codec) Encode(ctx context.Context, _ *gpu.Device, batch []*raster.Image, opts codec.Options) []codec.Encoded {
	out := make([]codec.Encoded, len(batch))
	o, err := resolve(opts)
	info := c.Info()
	workers := crew.New()
	workers.Each(len(batch), func(i int) {
		if out[i].Err = err; err == nil {
			out[i].Err = info.Check(batch[i])
		}
		if out[i].Err == nil {
			out[i].Data, out[i].Err = encode(ctx, workers, batch[i], o)
		}
	})
	return out
}

func resolve(opts codec.Options) (*Options, error) {
	if opts == nil {
		return &defaults, nil
	}
	o, ok := opts.(*Options)
	if !ok {
		return nil, fmt.Errorf("webp: options of another codec: %T", opts)
	}
	return o, nil
}

func encode(ctx context.Context, c *crew.Crew, m *raster.Image, o *Options) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := load(m, o.exact)
	nearLossless(p, o.nearLossless)
	colour := m.Channels >= 3 && p.grey()
	s, err := plain(p)
	if err != nil {
		return nil, err
	}
	s.width, s.height, s.alpha = m.Width, m.Height, m.Alpha()
	f := &file{width: m.Width, height: m.Height, alpha: m.Alpha(), colour: colour, bitstream: s.write()}
	if !o.strip {
		f.icc, f.exif = m.Meta.ICC, upright(m.Meta.EXIF)
	}
	return f.write()
}

// plain subtracts green and predicts all pixels by the one on the left.
func plain(p pixels) (*stream, error) {
	t := make([]uint32, len(p.argb))
	for i, v := range p.argb {
		g := v >> 8 & 255
		t[i] = v&0xff00ff00 | (v>>16-g)&255<<16 | (v-g)&255
	}
	const bits = 9
	tw, th := (p.w+1<<bits-1)>>bits, (p.h+1<<bits-1)>>bits
	modes := pixels{tw, th, make([]uint32, tw*th)}
	for i := range modes.argb {
		modes.argb[i] = 0xff000000 | 1<<8
	}
	r := pixels{p.w, p.h, make([]uint32, len(t))}
	for i, v := range t {
		q := uint32(0xff000000)
		switch {
		case i%p.w > 0:
			q = t[i-1]
		case i > 0:
			q = t[i-p.w]
		}
		r.argb[i] = ((v|0x00ff00ff)-(q&0xff00ff00))&0xff00ff00 | ((v|0xff00ff00)-(q&0x00ff00ff))&0x00ff00ff
	}
	return &stream{pixels: r, transforms: []transform{{kind: subtractGreen}, {kind: predictorTransform, bits: bits, data: modes}}}, nil
}
