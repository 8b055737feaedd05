package pcwt

import (
	"context"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// HeaderView is the header of a view. The file may end behind the sections that the view takes.
func (Codec) HeaderView(file []byte, view codec.View) (codec.Header, error) {
	h, err := readHeader(file)
	if err != nil {
		return codec.Header{}, err
	}
	out := h.describe()
	r, err := view.In(h.shape, out.Resolutions)
	if err != nil {
		return codec.Header{}, err
	}
	out.Width, out.Height = r.Dx(), r.Dy()
	out.Memory = h.decodeMemory(view.Reduce, r)
	return out, nil
}

// DecodeView decodes a view of files. They may end behind the sections that the view takes.
func (Codec) DecodeView(ctx context.Context, run codec.Run, files [][]byte, _ codec.Assets, view codec.View) []codec.Decoded {
	out := make([]codec.Decoded, len(files))
	cores := run.Cores()
	if run.Device != nil {
		d := deviceDecoder{ctx: ctx, run: run, cores: cores, files: files, view: view, out: out}
		d.decode()
		return out
	}
	cores.Each(len(files), func(i int) {
		out[i].Image, out[i].Err = decodeView(ctx, cores, files[i], view)
	})
	return out
}

func decodeView(ctx context.Context, cores *pool.Pool, file []byte, view codec.View) (*raster.Image, error) {
	if view == (codec.View{}) {
		return decode(ctx, cores, file)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h, err := readHeader(file)
	if err != nil {
		return nil, err
	}
	r, err := view.In(h.shape, h.resolutions())
	if err != nil {
		return nil, err
	}
	m, err := decodePart(ctx, cores, h, file, view.Reduce, r)
	if err != nil {
		return nil, err
	}
	m.Meta = h.meta
	return m, nil
}
