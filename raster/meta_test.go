package raster

import (
	"slices"
	"testing"
)

// full has every attribute.
func full() Meta {
	return Meta{
		ICC: []byte("profile"), EXIF: []byte("block"), XMP: []byte("packet"), Density: Density{X: 300, Y: 300, Unit: Inch},
		Text: []Text{{"Author", "somebody"}, {"Comment", ""}}, Spacing: [3]float64{0.5, 0.5, 2}, Geometry: make([]byte, NIfTIGeometry),
	}
}

// Each attribute is part of the hash and is named where it is lost or changed; the
// orientation that was applied is no attribute.
func TestMetaAttributes(t *testing.T) {
	whole := full()
	if names := whole.Lost(&Meta{}); !slices.Equal(names, []string{"icc", "exif", "xmp", "density", "text", "spacing", "geometry"}) {
		t.Errorf("attributes %q", names)
	}
	seen := map[string]string{whole.Hash(): "the whole"}
	for name, change := range map[string]func(m *Meta){
		"icc":      func(m *Meta) { m.ICC = nil },
		"exif":     func(m *Meta) { m.EXIF = []byte("other") },
		"xmp":      func(m *Meta) { m.XMP = []byte{} },
		"density":  func(m *Meta) { m.Density.Unit = Metre },
		"text":     func(m *Meta) { m.Text = []Text{{"Author", "somebodyComment"}} },
		"spacing":  func(m *Meta) { m.Spacing[2] = 0 },
		"geometry": func(m *Meta) { m.Geometry[3] = 1 },
	} {
		m := full()
		change(&m)
		if got := whole.Lost(&m); !slices.Equal(got, []string{name}) {
			t.Errorf("%s: lost are %q", name, got)
		}
		if other, ok := seen[m.Hash()]; ok {
			t.Errorf("without %s: the hash of %s", name, other)
		}
		seen[m.Hash()] = name
	}
	turned := full()
	turned.Orientation = 6
	if turned.Hash() != whole.Hash() || whole.Lost(&turned) != nil {
		t.Error("the orientation is an attribute")
	}
	if none := (&Meta{Orientation: 3}).Hash(); none != "" {
		t.Errorf("nothing has the hash %s", none)
	}
}
