package jpegxl

import (
	"context"
	"fmt"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/vardct"
	"github.com/pelmill/pelmill/codecs/pool"
)

// Encode makes one file per JPEG file. Images are not looked at; an item whose source is
// no JPEG file is unsupported.
func (Codec) Encode(ctx context.Context, run codec.Run, items []codec.Item, opts codec.Options) []codec.Encoded {
	out := make([]codec.Encoded, len(items))
	workers := run.Cores()
	workers.Each(len(items), func(i int) {
		o, ok := opts.(*Options)
		if opts != nil && !ok {
			out[i].Err = fmt.Errorf("jpegxl: options of another codec: %T", opts)
			return
		}
		if o == nil {
			o = &defaults
		}
		out[i].Data, out[i].Err = encode(ctx, workers, items[i].Source, o.effort)
	})
	return out
}

func encode(ctx context.Context, workers *pool.Pool, source codec.Source, effort vardct.Effort) ([]byte, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case source.Data == nil:
		return nil, codec.Unsupportedf("jpegxl: the codec takes JPEG files, not samples")
	case source.Format != "jpeg":
		return nil, codec.Unsupportedf("jpegxl: the codec takes JPEG files only, and this is a file of the format %q", source.Format)
	case len(source.Data) > maxSource:
		return nil, codec.Unsupportedf("jpegxl: a JPEG file of %d bytes; the codec takes %d", len(source.Data), maxSource)
	}
	file, err := pack(workers, source.Data, effort)
	if err != nil {
		return nil, codec.FromContainer("jpegxl: the JPEG file", err)
	}
	return file, nil
}
