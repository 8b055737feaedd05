package pcwt_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pcwt"
	"github.com/pelmill/pelmill/raster"
)

// A decoder that was written from README.md alone gives what the codec's own decoder
// gives: for every option, for sizes around those of tiles, for samples that need every part of
// the format.
func TestReferenceDecoder(t *testing.T) {
	shapes := []raster.Shape{
		{Width: 1, Height: 1, Depth: 1, Channels: 1, Bits: 8},
		{Width: 1, Height: 31, Depth: 1, Channels: 3, Bits: 8},
		{Width: 40, Height: 2, Depth: 1, Channels: 2, Bits: 5},
		{Width: 129, Height: 65, Depth: 1, Channels: 3, Bits: 8},
		{Width: 131, Height: 140, Depth: 1, Channels: 1, Bits: 16, Signed: true},
		{Width: 768, Height: 30, Depth: 1, Channels: 1, Bits: 12},
		{Width: 65, Height: 36, Depth: 1, Channels: 4, Bits: 12},
		{Width: 33, Height: 47, Depth: 5, Channels: 1, Bits: 12},
		{Width: 24, Height: 18, Depth: 2, Channels: 3, Bits: 8, Frames: true},
		{Width: 200, Height: 190, Depth: 1, Channels: 1, Bits: 12}, // enough for constants of its own
	}
	if testing.Short() {
		shapes = shapes[:6]
	}
	sets := [][]string{nil, {"effort=0"}, {"effort=2", "tile=128"}, {"fast=true"}, {"fast=true", "effort=2"}, {"near-lossless=3"}, {"qmin=2"}, {"qmin=1", "near-lossless=1", "effort=2"}}
	for _, pairs := range sets {
		o, err := pcwt.Codec{}.Options(pairs)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range shapes {
			kinds := []string{"waves", "noise", "steps", "extremes"}
			switch {
			case s.Width > 400:
				kinds = []string{"patches"} // empty, raw and coded tiles
			case s.Samples() > 5000:
				kinds = kinds[:1+len(pairs)%2] // the reference takes 0.1 s for 20,000 samples
			}
			for _, kind := range kinds {
				m := sampled(s, kind)
				e := pcwt.Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)[0]
				if e.Err != nil {
					t.Fatalf("%q: %s %s: %v", pairs, kind, s, e.Err)
				}
				d := pcwt.Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{e.Data}, nil)[0]
				if d.Err != nil {
					t.Fatalf("%q: %s %s: %v", pairs, kind, s, d.Err)
				}
				got, err := referenceDecode(e.Data)
				if err != nil || got.Hash() != d.Image.Hash() {
					t.Errorf("%q: %s %s: the reference gives another picture (%v)", pairs, kind, s, err)
				}
			}
		}
	}
}

// sampled is an image whose samples are of a kind and use all of their range.
func sampled(s raster.Shape, kind string) *raster.Image {
	m := raster.Make(s)
	r := rand.New(rand.NewPCG(uint64(s.Width), uint64(s.Height)))
	top := float64(int(1)<<s.Bits - 1)
	for i := range s.Samples() {
		x, y, z := float64(i/s.Channels%s.Width), float64(i/s.Channels/s.Width%s.Height), float64(i/s.Channels/s.Width/s.Height)
		var v float64 // 0 to 1
		switch kind {
		case "waves":
			v = 0.5 + 0.2*math.Sin(x/9+float64(i%s.Channels))*math.Cos(y/7+z/3) + 0.2*math.Sin((x+y)/31) + 0.02*(r.Float64()-0.5)
		case "noise":
			v = r.Float64()
		case "steps":
			v = float64((int(x)/11+int(y)/13+int(z))%3) / 2
		case "patches":
			if v = 0.25; x >= 512 {
				v = 0.5 + 0.1*math.Sin(x/9)*math.Cos(y/7)
			} else if x >= 256 {
				v = r.Float64()
			}
		case "extremes":
			v = float64(r.IntN(12) / 11)
		}
		n := int(v * top)
		if s.Signed {
			n -= 1 << (s.Bits - 1)
		}
		if s.Bits <= 8 {
			m.Pix[i] = byte(n)
		} else {
			m.Pix[2*i], m.Pix[2*i+1] = byte(n), byte(n>>8)
		}
	}
	return m
}
