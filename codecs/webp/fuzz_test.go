package webp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
	"github.com/pelmill/pelmill/raster"
)

// kinds of images that take different ways through the encoder.
var kinds = []string{"constant", "two", "palette", "256", "257", "gradient", "noise", "photo", "tiles", "text", "sparse", "greyish"}

// imageOf is an image of a kind.
func imageOf(r *rand.Rand, kind string, w, h, channels int) *raster.Image {
	m := raster.New(w, h, 1, channels, 8)
	colours := map[string]int{"constant": 1, "two": 2, "palette": 3 + r.IntN(62), "256": 256, "257": 257}[kind]
	palette := make([][4]byte, max(colours, 2))
	for i := range palette {
		v := r.Uint32()
		palette[i] = [4]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}
	}
	cell := 1 + r.IntN(9)
	slope := [4]int{r.IntN(9), r.IntN(9), r.IntN(9), r.IntN(9)}
	for y := range h {
		for x := range w {
			var v [4]byte
			switch kind {
			case "constant", "two", "palette":
				v = palette[r.IntN(colours)]
				if r.IntN(4) > 0 {
					v = palette[(x/cell*7+y/cell*3)%colours]
				}
			case "256", "257":
				v = palette[(y*w+x)%colours]
			case "gradient":
				for c := range v {
					v[c] = byte(slope[c]*x + slope[3-c]*y)
				}
			case "noise":
				n := r.Uint32()
				v = [4]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}
			case "photo":
				base := 2*x + 3*y + r.IntN(6)
				v = [4]byte{byte(base), byte(base*7/8 + r.IntN(3)), byte(base*3/4 + r.IntN(9)), 255}
			case "tiles":
				n := x%(cell*3)*37 + y%(cell*2)*11
				v = [4]byte{byte(n), byte(n * 3), byte(n * 5), byte(255 - n%3)}
			case "text":
				if (x/2*7+y/3*5+x*y)>>1&1 == 0 {
					v = palette[0]
				} else {
					v = palette[1]
				}
			case "sparse": // transparent pixels that hold colours
				n := r.Uint32()
				v = [4]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(-(n >> 31))}
			case "greyish":
				n := byte(x*3 + r.IntN(4))
				v = [4]byte{n, n, n, 255}
			}
			copy(m.Pix[(y*w+x)*channels:][:channels], v[:])
			if channels == 2 {
				m.Pix[(y*w+x)*2+1] = v[3]
			}
		}
	}
	return m
}

// roundTrip says what is wrong with the file of m and the options. The cards of the machine, if any, must make the same file.
func roundTrip(m *raster.Image, o *Options) error {
	ctx := context.Background()
	e := Codec{}.Encode(ctx, codec.Run{}, codec.Items(m), o)[0]
	if e.Err != nil {
		return e.Err
	}
	if err := codectest.SameOnCards(Codec{}, m, o, e); err != nil {
		return err
	}
	d := Codec{}.Decode(ctx, codec.Run{}, [][]byte{e.Data}, nil)[0]
	if d.Err != nil {
		return d.Err
	}
	if !d.Image.Same(m.Shape) {
		return fmt.Errorf("comes back as %s", d.Image.Shape)
	}
	if !o.Lossy() && d.Image.Hash() != m.Hash() {
		return fmt.Errorf("comes back with other samples")
	}
	if !o.exact && o.nearLossless == 100 {
		for i, v := range loaded(testimages.Pools[0], d.Image, true).ARGB {
			if w := loaded(testimages.Pools[0], m, false).ARGB[i]; v != w {
				return fmt.Errorf("pixel %d is %08x, want %08x", i, v, w)
			}
		}
	}
	return nil
}

// try is one random image with random options.
func try(seed uint64) error {
	r := rand.New(rand.NewPCG(17, seed))
	side := func() int { return 1 + r.IntN(1<<(1+r.IntN(6))) }
	kind := kinds[r.IntN(len(kinds))]
	m := imageOf(r, kind, side(), side(), 1+r.IntN(4))
	o := defaults
	o.effort = r.IntN(10)
	o.exact = r.IntN(4) > 0
	if r.IntN(6) == 0 {
		o.nearLossless = r.IntN(101)
	}
	if err := roundTrip(m, &o); err != nil {
		return fmt.Errorf("seed %d, %s of %s, %s: %w", seed, kind, m.Shape, &o, err)
	}
	return nil
}

func TestRandomImages(t *testing.T) { codectest.Random(t, try) }

func FuzzEncode(f *testing.F) {
	for i := range uint64(40) {
		f.Add(i, uint8(i), uint8(2*i), uint8(i), []byte{1, 2, 3})
	}
	f.Fuzz(func(t *testing.T, seed uint64, width, height, how uint8, pix []byte) {
		if err := try(seed); err != nil {
			t.Fatal(err)
		}
		m := raster.New(1+int(width)%64, 1+int(height)%64, 1, 1+int(how)%4, 8)
		for at := 0; at < len(m.Pix) && len(pix) > 0; {
			at += copy(m.Pix[at:], pix)
		}
		o := defaults
		o.effort = int(how>>2) % 10
		if err := roundTrip(m, &o); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(19, 20))
	for i, kind := range kinds {
		m := imageOf(r, kind, 1+r.IntN(40), 1+r.IntN(40), 1+i%4)
		if i%3 == 0 {
			m.Meta.ICC, m.Meta.EXIF = []byte("profile"), exifBlock(i%9, i%2 == 0, i)
		}
		f.Add(encoded(f, m))
	}
	for seed := range uint64(20) {
		s, _ := randomStream(rand.New(rand.NewPCG(21, seed)))
		data, err := (&file{width: s.Width, height: s.Height, bitstream: s.Write(testimages.Pools[0])}).write()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		if h, err := open(data); err == nil && h.width*h.height > 1<<20 {
			t.Skip("a large picture is no error, but takes its time")
		}
		m, err := decoded(data)
		if !bytes.Equal(before, data) {
			t.Fatal("decode changed the file")
		}
		Codec{}.Header(data)
		if err != nil {
			var malformed *codec.FormatError
			var unsupported *codec.UnsupportedError
			if !errors.As(err, &malformed) && !errors.As(err, &unsupported) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if len(m.Pix) != m.Size() {
			t.Fatalf("%s with %d bytes", m.Shape, len(m.Pix))
		}
		o := defaults
		o.effort = 1
		if err := roundTrip(m, &o); err != nil {
			t.Fatal(err)
		}
	})
}
