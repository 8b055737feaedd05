package pcwt

import (
	"context"

	"github.com/pelmill/pelmill/codecs/codec"
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
	cores.Each(len(files), func(i int) {
		if view == (codec.View{}) {
			out[i].Image, out[i].Err = decode(ctx, cores, files[i])
			return
		}
		if out[i].Err = ctx.Err(); out[i].Err != nil {
			return
		}
		h, err := readHeader(files[i])
		if err != nil {
			out[i].Err = err
			return
		}
		r, err := view.In(h.shape, h.resolutions())
		if err != nil {
			out[i].Err = err
			return
		}
		m, err := decodePart(ctx, cores, h, files[i], view.Reduce, r)
		if err != nil {
			out[i].Err = err
			return
		}
		out[i].Image = m
		out[i].Image.Meta = h.meta
	})
	return out
}
