package worker

import (
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/raster"
)

// What the files of a codec cannot hold is named in the record; what they are said to
// hold has to come back.
func TestMetadataIsPartOfTheProof(t *testing.T) {
	photo := photo(1, 33, 17, 3)
	photo.Meta = raster.Meta{ICC: []byte("profile"), XMP: []byte("<x/>"), Text: []raster.Text{{Key: "Author", Value: "somebody"}},
		Density: raster.Density{X: 1000, Y: 2000, Unit: raster.Metre}}
	without := func(change func(m *raster.Meta)) func(*raster.Image) (*raster.Image, error, bool) {
		return func(m *raster.Image) (*raster.Image, error, bool) {
			out := *m
			change(&out.Meta)
			return &out, nil, true
		}
	}
	for name, c := range map[string]struct {
		keeps   []string
		decode  func(*raster.Image) (*raster.Image, error, bool)
		dropped []string
		fails   string
	}{
		"nothing is kept":                      {nil, nil, []string{"icc", "xmp", "density", "text"}, ""},
		"all is kept":                          {[]string{"text", "icc", "xmp", "density"}, nil, nil, ""},
		"a density that has no form":           {[]string{"text", "density"}, without(func(m *raster.Meta) { m.Density = raster.Density{} }), []string{"icc", "xmp", "density"}, ""},
		"another density comes back":           {[]string{"text", "density"}, without(func(m *raster.Meta) { m.Density.X++ }), nil, "the attribute density"},
		"one is lost":                          {[]string{"icc", "xmp"}, without(func(m *raster.Meta) { m.XMP = nil }), nil, "the attribute xmp"},
		"one comes back other":                 {[]string{"icc"}, without(func(m *raster.Meta) { m.ICC = []byte("other") }), nil, "the attribute icc"},
		"what is not kept may come back other": {[]string{"icc"}, without(func(m *raster.Meta) { m.XMP = nil }), []string{"xmp", "density", "text"}, ""},
	} {
		f := &fake{keeps: c.keeps, decode: c.decode}
		j := newJob(t, "mem://source", "mem://target", f, nil)
		j.put("a.png", png(t, photo))
		j.plan()
		if err := j.chunk(j.worker(Options{}, f), 0); err != nil {
			t.Fatal(err)
		}
		r := j.results()["a.png"]
		if c.fails != "" {
			if r.Class != class.Verify || !strings.Contains(r.Error, c.fails) || r.Dropped != nil {
				t.Errorf("%s: %s, %q, dropped %q", name, r.Class, r.Error, r.Dropped)
			}
			continue
		}
		if r.Outcome != jobs.OutcomeCompressed || !slices.Equal(r.Dropped, c.dropped) {
			t.Errorf("%s: %s, dropped %q, want %q: %s", name, r.Outcome, r.Dropped, c.dropped, r.Error)
		}
	}
}
