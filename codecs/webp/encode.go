package webp

import (
	"context"
	"fmt"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
	"github.com/pelmill/pelmill/gpu"
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
	onCPU := func(list []int) {
		workers.Each(len(list), func(j int) {
			i := list[j]
			out[i].Data, out[i].Err = encode(ctx, workers, cpuSteps{workers}, batch[i], o)
		})
	}
	if run.Device == nil {
		onCPU(taken)
		return out
	}
	sets := together(batch, taken)
	// Who waits for the card keeps no core from working.
	pool.Of(len(sets)).Each(len(sets), func(s int) {
		onCPU(encodeSet(ctx, run.Device, workers, batch, sets[s], o, out))
	})
	return out
}

// encodeSet encodes images on a card, and returns those that are left to the CPU.
func encodeSet(ctx context.Context, dev *gpu.Device, c *pool.Pool, batch []*raster.Image, set []int, o *Options, out []codec.Encoded) (left []int) {
	images := make([]*raster.Image, len(set))
	for j, i := range set {
		images[j] = batch[i]
	}
	big, err := onDevice(ctx, dev, c, len(set), func(g batched, from, to int) error {
		return g.encode(images[from:to], o, func(d search.Steps, j int) {
			e := &out[set[from+j]]
			e.Data, e.Err = encode(ctx, c, d, images[from+j], o)
		})
	})
	if err != nil {
		for _, i := range set {
			out[i] = codec.Encoded{Err: err}
		}
		return nil
	}
	for _, j := range big {
		left = append(left, set[j])
	}
	return left
}

// batched is a lane that takes several images at once.
type batched interface {
	// encode calls encode for each of the images, with the device for it, on goroutines
	// that take turns with the card. It returns an error of the card, and then all its
	// results are void.
	encode(images []*raster.Image, o *Options, encode func(d search.Steps, i int)) error
}

// together divides images into sets that a card takes in one go, whatever their sizes.
func together(batch []*raster.Image, items []int) [][]int {
	pixels := func(i int) int { return batch[i].Width * batch[i].Height }
	all := 0
	for _, i := range items {
		all += pixels(i)
	}
	return pool.Sets(items, min(max(all/batches, leastBatch), mostBatch), mostImages, pixels)
}

// A call makes some batches, so that the codes of one are made while kernels of another
// run, but none so small that a card has done it in no less time than a larger one.
const (
	batches    = 6
	leastBatch = 2 << 20 // pixels
	mostBatch  = 16 << 20
	mostImages = 256
)

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
func encode(ctx context.Context, c *pool.Pool, d search.Steps, m *raster.Image, o *Options) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := loadImage(c, m, o.exact)
	transform.NearLossless(p, o.nearLossless)
	colour := m.Channels >= 3 && p.Grey()
	s, err := search.Choose(ctx, c, d, p, m.Alpha(), o.effort)
	if err != nil {
		return nil, err
	}
	f := &file{width: m.Width, height: m.Height, alpha: m.Alpha(), colour: colour, bitstream: s.Write(c)}
	if s.Packer != nil && s.Packer.Failed() != nil {
		return nil, s.Packer.Failed()
	}
	if !o.strip {
		f.icc, f.exif, f.xmp = m.Meta.ICC, raster.UprightEXIF(m.Meta.EXIF), m.Meta.XMP
	}
	return f.write()
}
