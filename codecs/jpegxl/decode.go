package jpegxl

import (
	"context"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/exif"
	segments "github.com/pelmill/pelmill/internal/container/jpeg"
	jpeg "github.com/pelmill/pelmill/internal/container/jpeg/decode"
	"github.com/pelmill/pelmill/raster"
)

// Decode gives the samples that a decoder of the JPEG file in each file gives.
func (Codec) Decode(ctx context.Context, run codec.Run, files [][]byte, _ codec.Assets) []codec.Decoded {
	out := make([]codec.Decoded, len(files))
	workers := run.Cores()
	workers.Each(len(files), func(i int) {
		source, err := restore(ctx, workers, files[i])
		if err == nil {
			out[i].Image, err = samples(source)
		}
		out[i].Err = err
	})
	return out
}

// Restore gives back the JPEG file that each file was made from.
func (Codec) Restore(ctx context.Context, run codec.Run, files [][]byte) []codec.Encoded {
	out := make([]codec.Encoded, len(files))
	workers := run.Cores()
	workers.Each(len(files), func(i int) {
		out[i].Data, out[i].Err = restore(ctx, workers, files[i])
	})
	return out
}

func restore(ctx context.Context, workers *pool.Pool, file []byte) (source []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if source, err = unpack(workers, file, sourceLimit(len(file))); err != nil {
		return nil, fileError(err)
	}
	return source, nil
}

// sourceLimit bounds the JPEG file in a file of n bytes, whose coefficients are limited
// by themselves: files whose JPEG is empty of content may be far smaller.
func sourceLimit(n int) int { return min(maxSource, 64<<20+64*n) }

func fileError(err error) error { return codec.FromContainer("jpegxl: the file", err) }

// samples decodes a JPEG file.
func samples(source []byte) (*raster.Image, error) {
	head, err := jpeg.ReadHeader(source)
	if err != nil {
		return nil, codec.Unsupportedf("jpegxl: the JPEG file comes back but cannot be decoded: %v", err)
	}
	m := raster.New(head.Width, head.Height, 1, min(head.Components, 3), 8)
	if err := jpeg.Decode(source, head, m.Pix); err != nil {
		return nil, codec.Unsupportedf("jpegxl: the JPEG file comes back but cannot be decoded: %v", err)
	}
	var meta raster.Meta
	for a := range segments.Attributes(source) {
		switch {
		case a.Kind == container.ICC:
			meta.ICC = a.Data
		case a.Kind == container.EXIF && meta.EXIF == nil:
			meta.EXIF = a.Data
		}
	}
	return exif.Attach(m, meta), nil
}
