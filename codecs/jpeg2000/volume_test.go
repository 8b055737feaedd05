package jpeg2000

import (
	"bytes"
	"errors"
	"image"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// slices3d is a volume of w x h x d with a gradient along all axes.
func slices3d(w, h, d int) *raster.Image {
	m := raster.New(w, h, d, 1, 8)
	for i := range m.Pix {
		m.Pix[i] = byte(2*(i%w) + 3*(i/w%h) + 40*(i/w/h))
	}
	return m
}

func encodeOne(t *testing.T, m *raster.Image, pairs ...string) []byte {
	t.Helper()
	o, err := Codec{}.Options(pairs)
	if err != nil {
		t.Fatal(err)
	}
	e := Codec{}.Encode(t.Context(), codec.Run{}, codec.Items(m), o)[0]
	if e.Err != nil {
		t.Fatal(e.Err)
	}
	return e.Data
}

// Volumes go into files of Part 10 with any effort, and no others take them.
func TestVolumes(t *testing.T) {
	m := slices3d(45, 37, 6)
	for _, effort := range []string{effortFast, effortDefault, effortBest} {
		file := encodeOne(t, m, "container=jp3d", "effort="+effort)
		h, err := Codec{}.Header(file)
		if err != nil || h.Shape != m.Shape {
			t.Fatalf("%s: %s, %v", effort, h.Shape, err)
		}
		d := Codec{}.Decode(t.Context(), codec.Run{}, [][]byte{file}, nil)[0]
		if d.Err != nil || !bytes.Equal(d.Image.Pix, m.Pix) {
			t.Errorf("%s: the volume comes back changed: %v", effort, d.Err)
		}
	}
	for _, pairs := range [][]string{{"volume=none"}, {"container=j2k"}, {"container=j2c", "mode=ht"}} {
		o, err := Codec{}.Options(pairs)
		if err != nil {
			t.Fatal(err)
		}
		e := Codec{}.Encode(t.Context(), codec.Run{}, codec.Items(m), o)[0]
		var unsupported *codec.UnsupportedError
		if !errors.As(e.Err, &unsupported) {
			t.Errorf("a volume with %q: %v", pairs, e.Err)
		}
	}
}

// Without another container slices are components, which OpenJPEG finds too, and come back as
// slices, from Part 1 and from HT, and with loss.
func TestVolumesOfComponents(t *testing.T) {
	need(t, "opj_decompress")
	coloured := raster.New(50, 41, 3, 4, 8)
	for i := range coloured.Pix {
		coloured.Pix[i] = byte(i * i >> 5)
	}
	deep := raster.New(33, 70, 5, 1, 12)
	deep.Signed = true
	for i := range deep.Samples() {
		v := i%700 - 300
		deep.Pix[2*i], deep.Pix[2*i+1] = byte(v), byte(v>>8)
	}
	for _, m := range []*raster.Image{slices3d(45, 37, 2), slices3d(45, 37, 3), slices3d(64, 65, 9), coloured, deep, slices3d(1, 1, 300)} {
		for _, pairs := range [][]string{nil, {"effort=best"}, {"mode=ht"}, {"tile=32x30", "layers=2"}, {"psnr=50"}, {"mode=ht", "bpp=4"}} {
			file := encodeOne(t, m, pairs...)
			o, _ := Codec{}.Options(pairs)
			h, err := Codec{}.Header(file)
			back, decodeErr := decodeOne(t, file, codec.View{})
			if err != nil || decodeErr != nil || h.Shape != m.Shape || back.Shape != m.Shape {
				t.Fatalf("%s with %q: %s, %v, %v", m.Shape, pairs, h.Shape, err, decodeErr)
			}
			if !o.(*Options).Lossy() && !bytes.Equal(back.Pix, m.Pix) {
				t.Fatalf("%s with %q: other samples", m.Shape, pairs)
			}
			if o.(*Options).ht() || m.Depth > 9 {
				continue // Debian's OpenJPEG opens no boxes of JPH
			}
			for i, samples := range openJPEG(t, file, ".jp2", m.Channels*m.Depth) {
				for k, v := range samples {
					at := (i/m.Channels*m.Width*m.Height+k)*m.Channels + i%m.Channels
					if d := back.Sample(at) - int(v); d > 1 || d < -1 || d != 0 && !o.(*Options).Lossy() {
						t.Fatalf("%s with %q: component %d, sample %d is %d, and %d here", m.Shape, pairs, i, k, v, back.Sample(at))
					}
				}
			}
		}
	}
}

// More components than a codestream can have are refused.
func TestTooManySlices(t *testing.T) {
	e := Codec{}.Encode(t.Context(), codec.Run{}, codec.Items(raster.New(1, 1, maxComponents/2+1, 2, 8)), nil)[0]
	var unsupported *codec.UnsupportedError
	if !errors.As(e.Err, &unsupported) {
		t.Errorf("%v", e.Err)
	}
}

// No volume takes more than its slices one by one.
func TestVolumesAndTheirSlices(t *testing.T) {
	quiet := slices3d(70, 66, 9)
	for i := range quiet.Pix {
		if i/70/66%2 == 1 {
			quiet.Pix[i] = byte(i * i >> 3) // every second slice has nothing of its neighbours
		}
	}
	for _, m := range []*raster.Image{slices3d(70, 66, 9), quiet, slices3d(1, 1, 2), slices3d(5, 3, 40)} {
		sum := 0
		for z := range m.Depth {
			sum += len(encodeOne(t, m.Slice(z), "container=j2c"))
		}
		if n := len(encodeOne(t, m, "container=jp3d")); n > sum {
			t.Errorf("%s: %d bytes, and its slices %d", m.Shape, n, sum)
		}
	}
}

// A view of a volume has all its slices.
func TestViewsOfVolumes(t *testing.T) {
	m := slices3d(45, 37, 5)
	for _, container := range []string{"jp3d", "jp2"} {
		checkViews(t, m, encodeOne(t, m, "container="+container))
	}
}

func checkViews(t *testing.T, m *raster.Image, file []byte) {
	h, err := Codec{}.Header(file)
	if err != nil {
		t.Fatal(err)
	}
	region := image.Rect(5, 6, 31, 20)
	for reduce := range h.Resolutions {
		whole := Codec{}.DecodeView(t.Context(), codec.Run{}, [][]byte{file}, nil, codec.View{Reduce: reduce})[0]
		view := codec.View{Reduce: reduce, Region: region}
		if whole.Err != nil {
			t.Fatal(whole.Err)
		}
		area, err := view.In(m.Shape, h.Resolutions)
		if err != nil {
			continue // the region has no sample there
		}
		got := Codec{}.DecodeView(t.Context(), codec.Run{}, [][]byte{file}, nil, view)[0]
		says, err := Codec{}.HeaderView(file, view)
		if want := raster.Crop(whole.Image, area); err != nil || got.Err != nil || got.Image.Shape != says.Shape || got.Image.Depth != 5 || !bytes.Equal(got.Image.Pix, want.Pix) {
			t.Errorf("1/2^%d: %v, %v", reduce, got.Err, err)
		}
	}
	if _, err := (Codec{}).HeaderView(file, codec.View{Reduce: h.Resolutions}); err == nil {
		t.Error("a resolution that the file does not have")
	}
}

// Options that say something of Part 1 do not go with volumes.
func TestOptionsOfVolumes(t *testing.T) {
	for _, pair := range []string{"levels=3", "layers=2", "mode=ht", "block=32x32", "tile=64x64", "quality=50", "wavelet=9/7", "progression=RPCL", "style=bypass", "precincts=64x64"} {
		if _, err := (Codec{}).Options([]string{"container=jp3d", pair}); err == nil {
			t.Errorf("container=jp3d %s: no error", pair)
		}
	}
	o, err := Codec{}.Options([]string{"wavelet=5/3", "effort=best", "container=jp3d"})
	if err != nil {
		t.Fatal(err)
	}
	if info := (Codec{}).Info().With(o); info.Extension != ".jp3d" || !info.Accepts.Slices || len(info.Keeps) != 2 {
		t.Errorf("%+v", info)
	}
}

// The spacing of a volume comes back from Part 10 and is among what its header says; a volume without has none.
func TestSpacingOfVolumes(t *testing.T) {
	for _, want := range [][3]float64{{}, {0.5, 0.25, 3}} {
		m := pattern(raster.Shape{Width: 20, Height: 9, Depth: 4, Channels: 1, Bits: 12})
		m.Meta.Spacing = want
		file := encoded(t, m, "container=jp3d")
		got, err := decodeOne(t, file, codec.View{})
		if err != nil || got.Meta.Spacing != want {
			t.Errorf("spacing %v, want %v (%v)", got.Meta.Spacing, want, err)
		}
		h, err := Codec{}.Header(file)
		if err != nil {
			t.Fatal(err)
		}
		said := slices.Contains(h.Fields, codec.Field{Name: "spacing", Value: "0.5 x 0.25 x 3 mm"})
		if said != (want != [3]float64{}) {
			t.Errorf("spacing %v: %v", want, h.Fields)
		}
	}
}
