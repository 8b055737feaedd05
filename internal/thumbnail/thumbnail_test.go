package thumbnail

import (
	"fmt"
	"testing"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
)

// gradient is an image whose samples grow from left to right, in the lower half of what its bits can say; slice z of a
// volume is brighter by z.
func gradient(width, height, depth, channels, bits int) *raster.Image {
	m := raster.New(width, height, depth, channels, bits)
	size := m.Size() / (width * height * depth * channels) // bytes of a sample
	for i := range width * height * depth * channels {
		x, z := i/channels%width, i/(channels*width*height)
		v := x*(1<<(bits-1))/width + z
		for b := range size {
			m.Pix[i*size+b] = byte(v >> (8 * b))
		}
	}
	return m
}

// The picture is at most as large as asked for, keeps the shape, and shows dark on the left and light on the right.
func TestPictures(t *testing.T) {
	for _, test := range []struct {
		codec                                string // empty: a PNG file
		width, height, depth, channels, bits int
		side                                 int
		wantWidth, wantHeight                int
	}{
		{"", 1, 1, 1, 1, 8, 64, 1, 1},
		{"", 64, 64, 1, 3, 8, 64, 64, 64},
		{"", 65, 64, 1, 3, 8, 64, 33, 32},
		{"", 200, 3, 1, 1, 8, 64, 50, 1},
		{"", 300, 170, 1, 1, 16, 100, 75, 43},
		{"webp", 130, 70, 1, 3, 8, 64, 33, 18},
		{"pcwt", 257, 130, 1, 1, 12, 64, 33, 17},
		{"jpeg2000", 257, 130, 1, 3, 8, 64, 33, 17},
		{"jpeg2000", 100, 50, 5, 1, 16, 64, 50, 25},
	} {
		t.Run(fmt.Sprintf("%s %dx%dx%d", test.codec, test.width, test.height, test.depth), func(t *testing.T) {
			m := gradient(test.width, test.height, test.depth, test.channels, test.bits)
			var c codec.Codec
			var data []byte
			var err error
			if test.codec == "" {
				data, err = imageio.Encode(m, "png")
			} else if c, err = codecs.Find(test.codec); err == nil {
				e := c.Encode(t.Context(), codec.Run{}, codec.Items(m), nil)[0]
				data, err = e.Data, e.Err
			}
			if err != nil {
				t.Fatal(err)
			}
			file, err := PNG(t.Context(), c, data, nil, test.side, 0)
			if err != nil {
				t.Fatal(err)
			}
			got, err := imageio.Decode(file, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.Width != test.wantWidth || got.Height != test.wantHeight || got.Depth != 1 || got.Channels != test.channels || got.Bits != 8 {
				t.Fatalf("%s, want %dx%d", got.Shape, test.wantWidth, test.wantHeight)
			}
			row := got.Pix[:got.Width*got.Channels]
			if first, last := row[0], row[len(row)-1]; test.width > 1 && first >= last {
				t.Errorf("from %d on the left to %d on the right", first, last)
			}
			if last := row[len(row)-1]; test.bits > 8 && last < 200 {
				t.Errorf("the lightest sample of %d bits is shown as %d", test.bits, last)
			}
		})
	}
}

// What is too large or broken is an error, and nothing of it is decoded.
func TestLimits(t *testing.T) {
	m := gradient(100, 100, 1, 1, 8)
	file, err := imageio.Encode(m, "png")
	if err != nil {
		t.Fatal(err)
	}
	webp, err := codecs.Find("webp")
	if err != nil {
		t.Fatal(err)
	}
	e := webp.Encode(t.Context(), codec.Run{}, codec.Items(m), nil)[0]
	if e.Err != nil {
		t.Fatal(e.Err)
	}
	for _, test := range []struct {
		name    string
		c       codec.Codec
		data    []byte
		samples int64
		ok      bool
	}{
		{"a file that fits", nil, file, 10_000, true},
		{"a file that is larger", nil, file, 9_999, false},
		{"a result that fits", webp, e.Data, 30_000, true}, // which has three channels
		{"a result that is larger", webp, e.Data, 29_999, false},
		{"half of a file", nil, file[:len(file)/2], 0, false},
		{"half of a result", webp, e.Data[:len(e.Data)/2], 0, false},
		{"nothing", nil, nil, 0, false},
		{"no file of the codec", webp, file, 0, false},
	} {
		if _, err := PNG(t.Context(), test.c, test.data, nil, 32, test.samples); (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
