package jp2

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/internal/allocated"
	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/raster"
)

// files are files of every kind of box.
func files() map[string]*File {
	grey := []Depth{{Bits: 8}}
	return map[string]*File{
		"grey": {Brand: "jp2 ", Codestream: []byte{0xff, 0x4f}, Width: 3, Height: 70000, Components: grey, Colour: Colour{Method: MethodEnumerated, Space: Greyscale}},
		"profile": {Brand: "jph ", Codestream: []byte("stream"), Width: 1, Height: 1, Components: []Depth{{Bits: 8}, {Bits: 16, Signed: true}, {Bits: 38}},
			Colour: Colour{Method: MethodICC, ICC: []byte("profile")}, EXIF: []byte("II*\x00"), XMP: []byte("<x/>"), Resolution: Resolution{Ratio{300, 254, 4}, Ratio{11811, 1, -1}},
			Channels: []Channel{{0, ColourChannel, 1}, {1, ColourChannel, 2}, {2, OpacityChannel, 0}}},
		"palette": {Brand: "jp2 ", Codestream: []byte("stream"), Width: 9, Height: 9, Components: grey, Colour: Colour{Method: MethodEnumerated, Space: SRGB},
			Palette: &Palette{Columns: []Depth{{Bits: 8}, {Bits: 12}, {Bits: 5, Signed: true}}, Entries: []int32{255, 4095, -16, 0, 1, 15}},
			Mapping: []Mapping{{0, true, 0}, {0, true, 1}, {0, true, 2}}},
	}
}

func TestBoxesComeBack(t *testing.T) {
	for name, f := range files() {
		data := Append(nil, f)
		got, err := Parse(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, f) {
			t.Errorf("%s: %+v\nwant %+v", name, got, f)
		}
	}
}

// The box of a codestream may leave its length open, have a long one, and claim more than
// there is; what follows it may be anything.
func TestLengthsOfBoxes(t *testing.T) {
	f := files()["grey"]
	data := Append(nil, f)
	at := bytes.Index(data, []byte("jp2c")) - 4
	open := bytes.Clone(data)
	copy(open[at:], []byte{0, 0, 0, 0})
	long := append(bytes.Clone(data[:at]), 0, 0, 0, 1, 'j', 'p', '2', 'c', 0, 0, 0, 0, 0, 0, 0, 18, 0xff, 0x4f)
	wrong := append(bytes.Clone(data), "junk"...)
	wrong[at+3] = 200
	behind := append(bytes.Clone(data), "junk"...)
	for name, file := range map[string][]byte{"open": open, "long": long, "junk behind": behind} {
		if got, err := Parse(file); err != nil || !bytes.Equal(got.Codestream, f.Codestream) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := Parse(wrong); err != nil || string(got.Codestream) != string(f.Codestream)+"junk" {
		t.Errorf("too long: %v", err)
	}
}

func TestResolutionsKeepTheirUnit(t *testing.T) {
	for _, d := range []raster.Density{
		{X: 300, Y: 300, Unit: raster.Inch}, {X: 72, Y: 96, Unit: raster.Inch}, {X: 72.5, Y: 1, Unit: raster.Inch}, {X: 65535, Y: 100000, Unit: raster.Inch},
		{X: 118, Y: 119, Unit: raster.Centimetre}, {X: 2835, Y: 11811, Unit: raster.Metre}, {X: 0.25, Y: 70000, Unit: raster.Metre},
	} {
		r, ok := NewResolution(d)
		if !ok {
			t.Errorf("%v has no resolution", d)
			continue
		}
		got, ok := r.Density()
		x, y := float64(got.X.Numerator)/float64(got.X.Denominator), float64(got.Y.Numerator)/float64(got.Y.Denominator)
		if units := map[container.Unit]raster.Unit{container.Inch: raster.Inch, container.Centimetre: raster.Centimetre, container.Metre: raster.Metre}; !ok || x != d.X || y != d.Y || units[got.Per] != d.Unit {
			t.Errorf("%v comes back as %v", d, got)
		}
		// What others read: points per metre.
		perMetre := map[raster.Unit]float64{raster.Inch: 1 / 0.0254, raster.Centimetre: 100, raster.Metre: 1}[d.Unit]
		if m, ok := r.X.in(raster.Metre); !ok || !near(float64(m.Numerator)/float64(m.Denominator), d.X*perMetre) {
			t.Errorf("%v is %v per metre", d, m)
		}
	}
	for _, d := range []raster.Density{{X: 1, Y: 2}, {X: 1.23456789, Y: 1, Unit: raster.Inch}, {X: 1e9, Y: 1, Unit: raster.Metre}} {
		if r, ok := NewResolution(d); ok {
			t.Errorf("%v becomes %v", d, r)
		}
	}
}

func near(a, b float64) bool { return a/b > 1-1e-9 && a/b < 1+1e-9 }

// Damage ends in an error of package container, or in what is left.
func TestDamagedBoxes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for name, f := range files() {
		data := Append(nil, f)
		for cut := range data {
			check(t, name, data[:cut])
			if _, err := Parse(data[:cut]); err == nil && cut < len(data)-len(f.Codestream) {
				t.Errorf("%s: %d of %d bytes are enough", name, cut, len(data))
			}
		}
		for range 2000 {
			bad := bytes.Clone(data)
			bad[r.IntN(len(bad))] = byte(r.Uint32())
			check(t, name, bad)
		}
	}
}

func check(t *testing.T, name string, data []byte) {
	t.Helper()
	_, err := Parse(data)
	var malformed *container.FormatError
	var unsupported *container.UnsupportedError
	if err != nil && !errors.As(err, &malformed) && !errors.As(err, &unsupported) {
		t.Errorf("%s: %T %v", name, err, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range files() {
		f.Add(Append(nil, file))
	}
	for _, box := range []string{"pclr\x04\x00\xff", "cmap\x00\x00\x01\x00", "cdef\xff\xff", "res \x00\x00\x00\x08resc", "bpcc\x07\x07", "colr\x02\x00\x00", "ihdr\x00\x00\x00\x01"} {
		data := Append(nil, files()["grey"])
		at := bytes.Index(data, []byte("colr")) - 4
		f.Add(slices.Concat(data[:at], []byte{0, 0, 0, byte(4 + len(box))}, []byte(box), data[at:]))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// 16,384 components and 1,024 x 255 entries of a palette are the most that a few bytes promise.
		if took, more := allocated.MoreThan(uint64(4<<20+64*len(data)), func() { check(t, "fuzz", data) }); more {
			t.Errorf("boxes of %d bytes take %d bytes", len(data), took)
		}
	})
}
