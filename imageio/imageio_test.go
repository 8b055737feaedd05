package imageio

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"

	"github.com/pelmill/pelmill/raster"
)

// pattern fills a shape with samples that use the whole range.
func pattern(w, h, d, channels, bits int) *raster.Image {
	m := raster.New(w, h, d, channels, bits)
	seed := uint32(w*7 + h*13 + d*17 + channels)
	for i := 0; i < m.Samples(); i++ {
		seed = seed*1664525 + 1013904223
		v := (seed>>16 + uint32(i)*37) & (1<<bits - 1)
		if m.BytesPerSample() == 1 {
			m.Pix[i] = byte(v)
		} else {
			m.Pix[2*i], m.Pix[2*i+1] = byte(v), byte(v>>8)
		}
	}
	return m
}

// same fails unless both images have one identity.
func same(t *testing.T, got, want *raster.Image) {
	t.Helper()
	if !want.Same(got.Shape) {
		t.Fatalf("got %s, want %s", got.Shape, want.Shape)
	}
	if got.Hash() != want.Hash() {
		for i := range want.Samples() {
			if got.Sample(i) != want.Sample(i) {
				t.Fatalf("%s: sample %d is %d, want %d", want.Shape, i, got.Sample(i), want.Sample(i))
			}
		}
	}
}

var sides = []struct{ w, h int }{{1, 1}, {1, 7}, {7, 1}, {8, 8}, {15, 17}, {33, 9}}

// Encode, ReadHeader and Decode agree for every shape that a format takes.
func TestRoundTrip(t *testing.T) {
	for _, s := range sides {
		for channels := 1; channels <= 4; channels++ {
			for bits := 1; bits <= 16; bits++ {
				for _, depth := range []int{1, 3} {
					m := pattern(s.w, s.h, depth, channels, bits)
					m.Frames = depth > 1
					for _, format := range []string{"png", "pnm", "tiff", "nii"} {
						roundTrip(t, m, format)
					}
				}
			}
		}
	}
}

func roundTrip(t *testing.T, m *raster.Image, format string) {
	t.Helper()
	data, err := Encode(m, format)
	if err != nil {
		if _, ok := err.(*UnsupportedError); !ok {
			t.Fatalf("%s: Encode(%s): %v", format, m.Shape, err)
		}
		if FormatFor(m) == format && !m.Signed {
			t.Fatalf("FormatFor(%s) is %s, which does not take it", m.Shape, format)
		}
		return
	}
	h, err := ReadHeader(data, nil)
	if err != nil {
		t.Fatalf("%s: ReadHeader(%s): %v", format, m.Shape, err)
	}
	got, err := Decode(data, nil)
	if err != nil {
		t.Fatalf("%s: Decode(%s): %v", format, m.Shape, err)
	}
	same(t, got, m)
	if h.Width != m.Width || h.Height != m.Height || h.Depth != m.Depth || h.Channels != m.Channels || h.Bits != m.Bits || h.Signed != m.Signed {
		t.Errorf("%s: header %+v of %s", format, h, m.Shape)
	}
	if FormatFor(m) == format && got.Frames != m.Frames {
		t.Errorf("%s: %s has frames %v, want %v", format, m.Shape, got.Frames, m.Frames)
	}
}

// The samples of PNG are those that the standard library's At returns, for every
// colour model that its encoder writes.
func TestPNGModels(t *testing.T) {
	r := image.Rect(0, 0, 19, 11)
	pal := color.Palette{color.RGBA{1, 2, 3, 255}, color.RGBA{200, 100, 50, 255}, color.RGBA{9, 9, 200, 255}}
	clear := append(color.Palette{color.NRGBA{80, 90, 100, 60}}, pal...)
	for _, c := range []struct {
		name           string
		img            image.Image
		channels, bits int
	}{
		{"grey", image.NewGray(r), 1, 8},
		{"grey 16", image.NewGray16(r), 1, 16},
		{"rgb", opaque(image.NewNRGBA(r)), 3, 8},
		{"rgba", image.NewNRGBA(r), 4, 8},
		{"rgba 16", image.NewNRGBA64(r), 4, 16},
		{"palette", image.NewPaletted(r, pal), 3, 8},
		{"palette with alpha", image.NewPaletted(r, clear), 4, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			scribble(c.img, c.channels == 4)
			var b bytes.Buffer
			if err := png.Encode(&b, c.img); err != nil {
				t.Fatal(err)
			}
			m, err := Decode(b.Bytes(), nil)
			if err != nil {
				t.Fatal(err)
			}
			want := slowly(c.img, c.channels, c.bits)
			same(t, m, want)
		})
	}
}

// opaque sets alpha to its maximum.
func opaque(m *image.NRGBA) *image.NRGBA {
	for i := 3; i < len(m.Pix); i += 4 {
		m.Pix[i] = 255
	}
	return m
}

// scribble fills the samples of a standard image with a pattern.
func scribble(img image.Image, alpha bool) {
	fill := func(pix []byte, most int) {
		s := uint32(len(pix))
		for i := range pix {
			s = s*1664525 + 1013904223
			pix[i] = byte(s>>24) % byte(most)
		}
	}
	switch m := img.(type) {
	case *image.Gray:
		fill(m.Pix, 255)
	case *image.Gray16:
		fill(m.Pix, 255)
	case *image.NRGBA:
		fill(m.Pix, 255)
		if !alpha {
			opaque(m)
		}
	case *image.NRGBA64:
		fill(m.Pix, 255)
	case *image.Paletted:
		fill(m.Pix, len(m.Palette))
	}
}

// slowly converts by the colour model, sample by sample.
func slowly(img image.Image, channels, bits int) *raster.Image {
	b := img.Bounds()
	m := raster.New(b.Dx(), b.Dy(), 1, channels, bits)
	i := 0
	put := func(v uint16) {
		if bits == 8 {
			m.Pix[i] = byte(v >> 8)
			i++
			return
		}
		m.Pix[i], m.Pix[i+1] = byte(v), byte(v>>8)
		i += 2
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			var c [4]uint16
			switch v := img.At(x, y).(type) {
			case color.NRGBA:
				c = [4]uint16{uint16(v.R) << 8, uint16(v.G) << 8, uint16(v.B) << 8, uint16(v.A) << 8}
			case color.NRGBA64:
				c = [4]uint16{v.R, v.G, v.B, v.A}
			default:
				r, g, bb, a := v.RGBA()
				c = [4]uint16{uint16(r), uint16(g), uint16(bb), uint16(a)}
			}
			if channels <= 2 {
				put(c[0])
			} else {
				put(c[0])
				put(c[1])
				put(c[2])
			}
			if channels == 2 || channels == 4 {
				put(c[3])
			}
		}
	}
	return m
}

// What a JPEG 2000 file can hold is written whatever its bits and sign: signed samples below 8 bits, too, find a format.
func TestSignedSamplesOfFewBits(t *testing.T) {
	for bits := 1; bits < 8; bits++ {
		for channels := 1; channels <= 4; channels++ {
			for _, depth := range []int{1, 3} {
				m := pattern(5, 3, depth, channels, bits)
				m.Signed, m.Frames = true, depth > 1
				for i, v := range m.Pix {
					m.Pix[i] = byte(int8(v<<(8-bits)) >> (8 - bits))
				}
				data, err := Encode(m, FormatFor(m))
				if err != nil {
					t.Fatal(err)
				}
				got, err := Decode(data, nil)
				if err != nil {
					t.Fatalf("%s: %v", m.Shape, err)
				}
				same(t, got, m)
			}
		}
	}
}
