package jpeg2000

import (
	"testing"

	"github.com/pelmill/pelmill/raster"
)

// Noise and smooth images are not sampled; drawings are, and what is small.
func TestRepeats(t *testing.T) {
	drawing, dithered, smooth := raster.New(300, 200, 1, 3, 8), raster.New(300, 200, 1, 1, 8), raster.New(300, 200, 2, 3, 16)
	for i := range drawing.Pix {
		drawing.Pix[i] = byte(i / 300 % 2 * 200)
	}
	for i := range dithered.Pix {
		dithered.Pix[i] = byte((i + i/300) % 2 * 255)
	}
	for i := range smooth.Pix {
		smooth.Pix[i] = byte(i * 3 >> 2)
	}
	for _, c := range []struct {
		name string
		m    *raster.Image
		want bool
	}{{"a drawing", drawing, true}, {"dithered", dithered, true}, {"smooth", smooth, false}, {"narrow", raster.New(1, 999, 1, 1, 8), true},
		{"small", pattern(shape(128, 128, 3, 8, false)), true}} {
		if e := (&encoder{image: c.m}); e.repeats() != c.want {
			t.Errorf("%s: %t", c.name, !c.want)
		}
	}
}
