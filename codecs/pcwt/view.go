package pcwt

import (
	"context"

	"github.com/pelmill/pelmill/codecs/codec"
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
	out.Memory = h.decodeMemory(view.Reduce) + int64(out.Size())
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
		s := h.shape
		s.Width, s.Height = reduced(s.Width, view.Reduce), reduced(s.Height, view.Reduce)
		d := &decoder{ctx: ctx, cores: cores, header: h, file: files[i], image: raster.Make(s)}
		if err := d.decode(view.Reduce); err != nil {
			out[i].Err = err
			return
		}
		out[i].Image = raster.Crop(d.image, r)
		out[i].Image.Meta = h.meta
	})
	return out
}
