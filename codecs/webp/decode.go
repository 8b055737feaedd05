package webp

import (
	"context"
	"fmt"
	"image"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/raster"
)

// Decode restores the images of lossless WebP files, of any encoder, on the CPU.
func (Codec) Decode(ctx context.Context, run codec.Run, files [][]byte, _ codec.Assets) []codec.Decoded {
	out := make([]codec.Decoded, len(files))
	run.Cores().Each(len(files), func(i int) {
		out[i].Image, out[i].Err = decode(ctx, files[i])
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
	turn := exif.Orientation(f.exif)
	return exif.Attach(m, raster.Meta{ICC: f.icc, EXIF: f.exif, XMP: f.xmp, Orientation: turn}), nil
}

// decode returns the pixels as bytes R, G, B, A.
func (f *file) decode() (rgba []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = codec.Malformedf("webp: the decoder gave up: %v", p)
		}
	}()
	m, err := f.source.Decode()
	if err != nil {
		return nil, codec.Malformedf("webp: %v", err)
	}
	p, ok := m.(*image.NRGBA)
	if !ok || p.Rect.Dx() != f.width || p.Rect.Dy() != f.height || len(p.Pix) != 4*f.width*f.height {
		return nil, fmt.Errorf("webp: the decoder gives a %T of %v for %d x %d pixels", m, m.Bounds(), f.width, f.height)
	}
	return p.Pix, nil
}
