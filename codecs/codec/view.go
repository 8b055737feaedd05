package codec

import (
	"context"
	"image"

	"github.com/pelmill/pelmill/raster"
)

// View is the part of an image that is to be decoded, and at which resolution. The
// zero value is the whole image as it is.
type View struct {
	// Reduce is how often width and height are halved, rounded up. It is below the
	// Resolutions of the file's [Header]. Slices stay as many as they are.
	Reduce int

	// Region is a part of the image, of all its slices, in samples of the image as it
	// is without reduction. What lies outside the image is left off; the zero
	// rectangle is the whole image.
	Region image.Rectangle
}

// Viewer is implemented by codecs that decode a part of a file, or at a lower resolution,
// with less than the work and memory of the whole. The methods are safe for concurrent
// use. Functions [HeaderView] and [DecodeView] serve all codecs.
type Viewer interface {
	// HeaderView is the Header of the codec with the shape of the view and the memory
	// that decoding it takes. Its errors are those of Header, and those of [View.In].
	HeaderView(file []byte, view View) (Header, error)

	// DecodeView is Decode for one view of all files. The samples are those that
	// decoding all of the image at the view's resolution and then cropping would give.
	DecodeView(ctx context.Context, run Run, files [][]byte, assets Assets, view View) []Decoded
}

// In returns the view's rectangle in an image of shape s whose file has the given number
// of resolutions: in samples at the view's resolution, never empty. A region from x0 to
// x1 begins there at x0/2^Reduce and ends at x1/2^Reduce, both rounded up. The error is an
// [*UnsupportedError].
func (v View) In(s raster.Shape, resolutions int) (image.Rectangle, error) {
	switch {
	case v.Reduce < 0 || v.Reduce >= max(1, resolutions):
		if resolutions <= 1 {
			return image.Rectangle{}, Unsupportedf("the file holds one resolution only, so that it cannot be reduced by 2^%d", v.Reduce)
		}
		return image.Rectangle{}, Unsupportedf("the file holds %d resolutions, so that it can be reduced by 2^0 to 2^%d, not 2^%d", resolutions, resolutions-1, v.Reduce)
	case v.Region != image.Rectangle{} && v.Region.Intersect(image.Rect(0, 0, s.Width, s.Height)).Empty():
		r := v.Region
		return image.Rectangle{}, Unsupportedf("the region of %dx%d at %d,%d lies outside the picture of %dx%d", r.Dx(), r.Dy(), r.Min.X, r.Min.Y, s.Width, s.Height)
	}
	r := image.Rect(0, 0, s.Width, s.Height)
	if v.Region != (image.Rectangle{}) {
		r = r.Intersect(v.Region)
	}
	reduced := func(p image.Point) image.Point {
		half := 1<<v.Reduce - 1
		return image.Pt((p.X+half)>>v.Reduce, (p.Y+half)>>v.Reduce)
	}
	r = image.Rectangle{Min: reduced(r.Min), Max: reduced(r.Max)}
	if r.Empty() {
		return r, Unsupportedf("the region has no sample at 1/2^%d of the picture", v.Reduce)
	}
	return r, nil
}

// HeaderView is the header of a view. From a codec that is no [Viewer] it says what
// [DecodeView] takes.
func HeaderView(c Codec, file []byte, view View) (Header, error) {
	if v, ok := c.(Viewer); ok && view != (View{}) {
		return v.HeaderView(file, view)
	}
	h, err := c.Header(file)
	if err != nil || view == (View{}) {
		return h, err
	}
	r, err := view.In(h.Shape, h.Resolutions)
	if err != nil {
		return h, err
	}
	h.Width, h.Height = r.Dx(), r.Dy()
	h.Memory += int64(h.Size())
	return h, nil
}

// DecodeView decodes a view of all files. From a codec that is no [Viewer] it crops what
// Decode gives.
func DecodeView(ctx context.Context, c Codec, run Run, files [][]byte, assets Assets, view View) []Decoded {
	if view == (View{}) {
		return c.Decode(ctx, run, files, assets)
	}
	if v, ok := c.(Viewer); ok {
		return v.DecodeView(ctx, run, files, assets, view)
	}
	decoded := c.Decode(ctx, run, files, assets)
	for i := range decoded {
		d := &decoded[i]
		if d.Err != nil || d.Image == nil {
			continue
		}
		r, err := view.In(d.Image.Shape, 1)
		if err != nil {
			*d = Decoded{Err: err}
			continue
		}
		d.Image = raster.Crop(d.Image, r)
	}
	return decoded
}
