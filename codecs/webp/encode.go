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
	s, err := photo(ctx, c, p, plans[o.effort])
	if err != nil {
		return nil, err
	}
	s.width, s.height, s.alpha = m.Width, m.Height, m.Alpha()
	f := &file{width: m.Width, height: m.Height, alpha: m.Alpha(), colour: colour, bitstream: s.writeOn(c)}
	if !o.strip {
		f.icc, f.exif = m.Meta.ICC, raster.UprightEXIF(m.Meta.EXIF)
	}
	return f.write()
}
