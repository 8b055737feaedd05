package codecs

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/raster"
)

func TestAutoChoosesByTheHeader(t *testing.T) {
	r, err := Resolve(nil, Auto, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	shape := func(width, channels, bits int) raster.Shape {
		return raster.Shape{Width: width, Height: 8, Depth: 1, Channels: channels, Bits: bits}
	}
	volume := raster.Shape{Width: 8, Height: 8, Depth: 9, Channels: 1, Bits: 8}
	frames := raster.Shape{Width: 8, Height: 8, Depth: 9, Channels: 4, Bits: 8, Frames: true}
	signed := shape(8, 1, 16)
	signed.Signed = true
	for _, tt := range []struct {
		format string
		shape  raster.Shape
		want   string // codec and extension
	}{
		{"jpeg", shape(8, 3, 8), "jpegxl .jxl"},
		{"jpeg", shape(8, 4, 8), "jpegxl .jxl"}, // which says why not
		{"png", shape(8, 3, 8), "webp .webp"},
		{"png", shape(8, 1, 8), "webp .webp"},
		{"webp", shape(8, 4, 8), "webp .webp"},
		{"tiff", shape(16384, 3, 8), "jpeg2000 .jp2"},
		{"png", shape(8, 2, 16), "jpeg2000 .jp2"},
		{"pnm", shape(8, 1, 1), "jpeg2000 .jp2"},
		{"tiff", signed, "jpeg2000 .jp2"},
		{"gif", frames, "webp .webp"}, // which says why not
		{"nii", shape(8, 1, 8), "jpeg2000 .jp2"},
		{"nii", volume, "jpeg2000 .jp3d"},
		{"tiff", volume, "jpeg2000 .jp3d"},
		{"dicom", shape(8, 1, 8), "jpeg2000 .jp2"},
		{"dicom", frames, "jpeg2000 .jp2"},
	} {
		by := r.Choose(tt.format, tt.shape)
		if got := by.Info().Name + " " + by.Info().Extension; got != tt.want {
			t.Errorf("%s of %s: %s, want %s", tt.format, tt.shape, got, tt.want)
		}
		if !by.Info().KeepsImages(by.Options) {
			t.Errorf("%s of %s: %s loses something", tt.format, tt.shape, by.ID())
		}
		if !slices.Contains(r.Extensions(), by.Info().Extension) || !slices.ContainsFunc(r.Choices(), func(c Resolved) bool { return c.ID() == by.ID() }) {
			t.Errorf("%s of %s: %s is not among the choices", tt.format, tt.shape, by.ID())
		}
	}
	if !r.Frames() || r.MinPSNR() != 0 {
		t.Errorf("frames %v, floor %v", r.Frames(), r.MinPSNR())
	}
	one, err := Resolve(nil, "webp", 0, "")
	if err != nil || one.Choose("jpeg", shape(8, 3, 8)).ID() != one.ID() || one.Frames() {
		t.Errorf("one codec chooses another: %v", err)
	}
}

// Names of results stay distinct only where no extension ends with another.
func TestExtensionsOfAutoDoNotOverlap(t *testing.T) {
	r, err := Resolve(nil, Auto, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	all := r.Extensions()
	for i, a := range all {
		for j, b := range all {
			if i != j && strings.HasSuffix(a, b) {
				t.Errorf("%s ends with %s", a, b)
			}
		}
	}
}

func TestAutoHasTheVersionOfAllItsCodecs(t *testing.T) {
	r, err := Resolve(nil, Auto, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	want := choiceVersion
	for _, c := range All() {
		if n := c.Info().Name; n == "jpeg2000" || n == "jpegxl" || n == "webp" {
			want += c.Info().Version
		}
	}
	if got := r.Info().Version; got != want {
		t.Errorf("version %d, want %d", got, want)
	}
	if _, err := Resolve(nil, Auto, want, ""); err != nil {
		t.Error(err)
	}
	for _, err := range []error{
		func() error { _, err := Resolve(nil, Auto, want+1, ""); return err }(),
		func() error { _, err := Resolve(All()[:1], Auto, 0, ""); return err }(),
	} {
		if !errors.Is(err, ErrUnable) {
			t.Errorf("a program without a codec or with another version: %v", err)
		}
	}
	if _, err := Resolve(nil, Auto, 0, "effort=1"); err == nil || errors.Is(err, ErrUnable) || !strings.Contains(err.Error(), "name the codec") {
		t.Errorf("options: %v", err)
	}
}
