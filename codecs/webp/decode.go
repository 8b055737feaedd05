package webp

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"strconv"

	"golang.org/x/image/vp8l"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// Decode restores the images of lossless WebP files, of any encoder, on the CPU.
func (Codec) Decode(ctx context.Context, _ *gpu.Device, batch [][]byte, _ codec.Assets) []codec.Decoded {
	out := make([]codec.Decoded, len(batch))
	pool.New().Each(len(batch), func(i int) {
		out[i].Image, out[i].Err = decode(ctx, batch[i])
	})
	return out
}

func decode(ctx context.Context, data []byte) (*raster.Image, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := open(data)
	if err != nil {
		return nil, err
	}
	rgba, err := f.decode()
	if err != nil {
		return nil, err
	}
	m := store(f.width, f.height, rgba, f.alpha, f.colour)
	// Files of others may hold the image lying.
	turn, _ := raster.EXIFOrientation(f.exif)
	return raster.Upright(m, raster.Meta{ICC: f.icc, EXIF: f.exif, Orientation: turn}), nil
}

// decode returns the pixels as bytes R, G, B, A.
func (f *file) decode() (rgba []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = codec.Malformedf("webp: the decoder gave up: %v", p)
		}
	}()
	m, err := vp8l.Decode(bytes.NewReader(f.bitstream))
	if err != nil {
		return nil, codec.Malformedf("webp: %v", err)
	}
	p, ok := m.(*image.NRGBA)
	if !ok || p.Rect.Dx() != f.width || p.Rect.Dy() != f.height || len(p.Pix) != 4*f.width*f.height {
		return nil, fmt.Errorf("webp: the decoder gives a %T of %v for %d x %d pixels", m, m.Bounds(), f.width, f.height)
	}
	return p.Pix, nil
}

// Inspect describes a file from its chunks and the header of its bitstream.
func (Codec) Inspect(data []byte) ([]codec.Field, error) {
	f, err := open(data)
	if err != nil {
		return nil, err
	}
	alpha := "no"
	if f.alpha {
		alpha = "yes"
	}
	fields := []codec.Field{
		{Name: "format", Value: "WebP lossless (VP8L)"},
		{Name: "width", Value: strconv.Itoa(f.width)},
		{Name: "height", Value: strconv.Itoa(f.height)},
		{Name: "alpha", Value: alpha},
		{Name: "bits per pixel", Value: fmt.Sprintf("%.3f", 8*float64(len(f.bitstream))/float64(f.width*f.height))},
	}
	for _, block := range []struct {
		name string
		body []byte
	}{{"ICC profile", f.icc}, {"EXIF block", f.exif}} {
		if block.body != nil {
			fields = append(fields, codec.Field{Name: block.name, Value: strconv.Itoa(len(block.body)) + " bytes"})
		}
	}
	return fields, nil
}
