package pcwt

import (
	"context"
	"errors"
	"image"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// small is an image with structure in all of its channels and slices.
func small(s raster.Shape) *raster.Image {
	m := raster.Make(s)
	for i := range m.Samples() {
		x, y, c := i/m.Channels%m.Width, i/m.Channels/m.Width, i%m.Channels
		v := (x*x/7 + y*(3+c) + x*y/11%13) % (1 << m.Bits)
		m.Pix[i*m.BytesPerSample()] = byte(v)
		if m.Bits > 8 {
			m.Pix[2*i+1] = byte(v >> 8)
		}
	}
	return m
}

// FuzzDecode decodes anything: an image of the shape that the header says, or one of
// the two errors of package codec.
func FuzzDecode(f *testing.F) {
	for _, pairs := range [][]string{nil, {"fast=true"}, {"qmin=2"}, {"near-lossless=2"}, {"profile=0"}} {
		o, err := Codec{}.Options(pairs)
		if err != nil {
			f.Fatal(err)
		}
		for _, s := range []raster.Shape{
			{Width: 40, Height: 33, Depth: 1, Channels: 1, Bits: 8},
			{Width: 17, Height: 19, Depth: 1, Channels: 3, Bits: 8},
			{Width: 15, Height: 14, Depth: 3, Channels: 1, Bits: 12},
		} {
			f.Add(Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(small(s)), o)[0].Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := Codec{}.Header(data)
		if err != nil {
			classified(t, err)
			return
		}
		if h.Memory > 1<<28 {
			return
		}
		for _, v := range []codec.View{{}, {Reduce: 1}, {Region: image.Rect(3, 3, 9, 9)}} {
			d := Codec{}.DecodeView(context.Background(), codec.Run{}, [][]byte{data}, nil, v)[0]
			if d.Err != nil {
				classified(t, d.Err)
			} else if v == (codec.View{}) && !d.Image.Same(h.Shape) {
				t.Fatalf("%s of a header that says %s", d.Image.Shape, h.Shape)
			}
		}
	})
}

func classified(t *testing.T, err error) {
	var malformed *codec.FormatError
	var unsupported *codec.UnsupportedError
	if !errors.As(err, &malformed) && !errors.As(err, &unsupported) {
		t.Fatalf("%T: %v", err, err)
	}
}
