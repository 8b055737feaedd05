package codec

import (
	"errors"
	"image"
	"testing"

	"github.com/pelmill/pelmill/raster"
)

// A region is clipped to the image, and its ends are rounded up at lower resolutions.
func TestViewIn(t *testing.T) {
	s := raster.Shape{Width: 21, Height: 10, Depth: 1, Channels: 1, Bits: 8}
	for _, c := range []struct {
		view        View
		resolutions int
		want        image.Rectangle // empty: an UnsupportedError
	}{
		{View{}, 1, image.Rect(0, 0, 21, 10)},
		{View{Reduce: 1}, 2, image.Rect(0, 0, 11, 5)},
		{View{Reduce: 5}, 6, image.Rect(0, 0, 1, 1)},
		{View{Region: image.Rect(3, 4, 30, 6)}, 1, image.Rect(3, 4, 21, 6)},
		{View{Region: image.Rect(-3, -4, 2, 2)}, 1, image.Rect(0, 0, 2, 2)},
		{View{Reduce: 2, Region: image.Rect(3, 4, 9, 9)}, 3, image.Rect(1, 1, 3, 3)},
		{View{Reduce: 2, Region: image.Rect(1, 1, 3, 3)}, 3, image.Rectangle{}}, // between two samples
		{View{Reduce: 1}, 1, image.Rectangle{}},
		{View{Reduce: 1}, 0, image.Rectangle{}},
		{View{Reduce: 3}, 3, image.Rectangle{}},
		{View{Reduce: -1}, 3, image.Rectangle{}},
		{View{Region: image.Rect(21, 0, 22, 1)}, 1, image.Rectangle{}},
		{View{Region: image.Rect(5, 5, 5, 9)}, 1, image.Rectangle{}},
	} {
		got, err := c.view.In(s, c.resolutions)
		var unsupported *UnsupportedError
		switch {
		case c.want.Empty() && !errors.As(err, &unsupported):
			t.Errorf("%+v of %d: %v and %v, want an UnsupportedError", c.view, c.resolutions, got, err)
		case !c.want.Empty() && (err != nil || got != c.want):
			t.Errorf("%+v of %d: %v and %v, want %v", c.view, c.resolutions, got, err, c.want)
		}
	}
}
