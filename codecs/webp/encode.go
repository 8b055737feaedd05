package webp

import (
	"context"
	"fmt"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/raster"
)

// Encode makes one file per image. See the package comment for what it takes and
// guarantees.
func (c Codec) Encode(ctx context.Context, run codec.Run, items []codec.Item, opts codec.Options) []codec.Encoded {
	batch := codec.Images(items)
	out := make([]codec.Encoded, len(batch))
	o, err := resolve(opts)
	info := c.Info()
	var taken []int
	for i, m := range batch {
		if out[i].Err = err; err == nil {
			out[i].Err = info.Check(m.Shape)
		}
		if out[i].Err == nil {
			taken = append(taken, i)
		}
	}
	workers := run.Cores()
	share, end := run.Share(batching)
	defer end()
	batches := share.Divide(taken, func(i int) int { return batch[i].Width * batch[i].Height })
	work := gpu.Work{
		Device: func(l *gpu.Lane, items []int) error {
			images := make([]*raster.Image, len(items))
			for j, i := range items {
				images[j] = batch[i]
			}
			return newBatch(l, workers).encode(images, o, func(d steps, j int) {
				e := &out[items[j]]
				e.Data, e.Err = encode(ctx, workers, d, images[j], o)
			})
		},
		CPU: func(items []int) {
			workers.Each(len(items), func(j int) {
				i := items[j]
				out[i].Data, out[i].Err = encode(ctx, workers, cpuSteps{workers}, batch[i], o)
			})
		},
		Failed: func(items []int, err error) {
			for _, i := range items {
				out[i] = codec.Encoded{Err: err}
			}
		},
	}
	if run.Device == nil {
		run.Device.Run(ctx, batches, work)
	} else {
		workers.Lend(func() { run.Device.Run(ctx, batches, work) })
	}
	return out
}

// batching divides a call into some batches, so that the codes of one are made while
// kernels of another run, but none so small that a device has done it in no less time
// than a larger one. Sizes are in pixels.
var batching = gpu.Batching{Calls: 3, Least: 2 << 20, Most: 32 << 20, Items: 256}

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

// encode makes the file of an image.
func encode(ctx context.Context, c *pool.Pool, d steps, m *raster.Image, o *Options) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	memory := memories.Get().(*encoderMemory)
	defer memory.release()
	p := loadImage(memory.pixelsOf(m.Width*m.Height), c, m, o.exact)
	transform.NearLossless(p, o.nearLossless)
	if o.nearLossless == 100 {
		d.setLoaded(p, m)
	}
	colour := m.Channels >= 3 && p.Grey()
	s, err := search.Choose(ctx, c, d, p, m.Alpha(), o.effort)
	if err != nil {
		return nil, err
	}
	f := &file{width: m.Width, height: m.Height, alpha: m.Alpha(), colour: colour}
	if !o.strip {
		f.icc, f.exif, f.xmp = m.Meta.ICC, exif.Upright(m.Meta.EXIF), m.Meta.XMP
	}
	data, err := memory.write(c, f, s)
	if s.Packer != nil && s.Packer.Failed() != nil {
		return nil, s.Packer.Failed()
	}
	return data, err
}
