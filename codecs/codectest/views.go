package codectest

import (
	"context"
	"errors"
	"image"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// testViews decodes images in part and at every resolution that their files hold. Images
// that are larger than the tiles of all codecs take part.
func (s *suite) testViews(t *testing.T) {
	large := raster.New(361, 270, 1, s.info.Accepts.Channels[0], s.info.Accepts.MaxBits)
	fill(large, "gradient")
	for _, pairs := range s.sets {
		o := s.options(t, pairs)
		list := images(s.info.With(o))
		if s.info.With(o).Check(large.Shape) == nil {
			list = append(list, testImage{large, "gradient", true})
		}
		for i, p := range list {
			if testing.Short() && i%3 != 0 && i < len(list)-1 {
				continue // the kinds and sizes of images come in turn
			}
			s.viewsOf(t, p, s.encode(t, p.Image, o))
		}
	}
}

// viewsOf compares what [codec.DecodeView] gives of a file with crops of what it gives of
// the whole image at the same resolution.
func (s *suite) viewsOf(t *testing.T, p testImage, file []byte) {
	t.Helper()
	h, err := s.codec.Header(file)
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	w, ht := p.Width, p.Height
	regions := []image.Rectangle{
		{},
		image.Rect(0, 0, 1, 1),
		image.Rect(w-1, ht-1, w, ht),
		image.Rect(w/3, ht/4, w/3+max(1, w/2), ht/4+max(1, ht/3)),
		image.Rect(w/2, -5, w+5, ht+5),
	}
	for reduce := range h.Resolutions {
		all, err := s.view(file, codec.View{Reduce: reduce})
		if err != nil {
			t.Errorf("%s at 1/2^%d: %v", p, reduce, err)
			continue
		}
		if reduce == 0 {
			whole, err := s.decode(file, nil)
			if err != nil || whole.Hash() != all.Hash() || whole.Meta.Hash() != all.Meta.Hash() {
				t.Errorf("%s: the whole view is not the picture (%v)", p, err)
			}
		}
		for _, region := range regions {
			view := codec.View{Reduce: reduce, Region: region}
			r, outside := view.In(p.Shape, h.Resolutions)
			got, err := s.view(file, view)
			switch {
			case outside != nil:
				var unsupported *codec.UnsupportedError
				if !errors.As(err, &unsupported) {
					t.Errorf("%s: %+v: %v, want %v", p, view, err, outside)
				}
			case err != nil:
				t.Errorf("%s: %+v: %v", p, view, err)
			case got.Hash() != raster.Crop(all, r).Hash():
				t.Errorf("%s: %+v is not the crop %v of the picture at 1/2^%d", p, view, r, reduce)
			}
		}
	}
	for _, bad := range []codec.View{{Reduce: -1}, {Reduce: h.Resolutions}, {Region: image.Rect(w, 0, w+1, 1)}, {Region: image.Rect(-2, -2, 0, 0)}} {
		var unsupported *codec.UnsupportedError
		if _, err := s.view(file, bad); !errors.As(err, &unsupported) {
			t.Errorf("%s: %+v: %v, want an UnsupportedError", p, bad, err)
		}
		if _, err := codec.HeaderView(s.codec, file, bad); !errors.As(err, &unsupported) {
			t.Errorf("%s: header of %+v: %v, want an UnsupportedError", p, bad, err)
		}
	}
}

// view decodes a view and compares it with what its header says.
func (s *suite) view(file []byte, view codec.View) (*raster.Image, error) {
	d := codec.DecodeView(context.Background(), s.codec, codec.Run{}, [][]byte{file}, nil, view)
	if len(d) != 1 || d[0].Err != nil {
		return nil, errors.Join(errors.New("no view"), d[0].Err)
	}
	h, err := codec.HeaderView(s.codec, file, view)
	if err != nil {
		return nil, err
	}
	m := d[0].Image
	want := h.Shape
	want.Channels = min(want.Channels, m.Channels)
	if !m.Same(want) || h.Memory < int64(m.Size()) {
		return nil, errors.New("the header of the view says " + h.Shape.String() + ", and the view is " + m.Shape.String())
	}
	return m, nil
}
