package pcwt

import (
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/raster"
)

// sharedData is the folder of a data set beside the repository.
func sharedData(name string) string {
	return filepath.Join("..", "..", "..", "shared", "data", name)
}

// kodak reads photograph n of the Kodak suite, as RGB or grey, or ok=false where the
// data folder has none.
func kodak(t testing.TB, n int, grey bool) (m *raster.Image, ok bool) {
	f, err := os.Open(filepath.Join(sharedData("kodak"), fmt.Sprintf("%02d.png", n)))
	if err != nil {
		return nil, false
	}
	defer f.Close()
	p, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	rgba := image.NewNRGBA(p.Bounds())
	draw.Draw(rgba, rgba.Rect, p, rgba.Rect.Min, draw.Src)
	channels := 3
	if grey {
		channels = 1
	}
	m = raster.New(rgba.Rect.Dx(), rgba.Rect.Dy(), 1, channels, 8)
	for i := range m.Pixels() {
		s := rgba.Pix[4*i:]
		if grey {
			m.Pix[i] = byte((299*int(s[0]) + 587*int(s[1]) + 114*int(s[2]) + 500) / 1000)
		} else {
			copy(m.Pix[3*i:3*i+3], s)
		}
	}
	return m, true
}

// promised logs a size beside what is required, and holds it to that.
func promised(t *testing.T, what string, measured, required int) {
	t.Helper()
	t.Logf("%-44s %10d bytes, required %10d, %+.2f %%", what, measured, required, 100*float64(measured)/float64(required)-100)
	if measured > required {
		t.Errorf("%s: %d bytes, more than %d", what, measured, required)
	}
}

// TestKodakSizes holds the sizes of files of twelve photographs to what they were when they
// were last measured, and a little more, and those of all 24, where the data folder has them, to what is promised.
func TestKodakSizes(t *testing.T) {
	measured(t)
	for _, c := range []struct {
		grey              bool
		options           []string
		twelve, rest, all int // required of 1 to 12, of 13 to 24 and of all; 0 if nothing is
	}{
		{true, nil, 2470000, 2530000, 5000000},
		{false, nil, 5180000, 0, 10700000},
		{true, []string{"fast=true"}, 2560000, 0, 0},
		{false, []string{"fast=true"}, 5750000, 0, 0},
		{true, []string{"profile=0"}, 2795000, 0, 5600000},
		{true, []string{"profile=0", "zero-signs=true"}, 2880000, 0, 5765000},
	} {
		what := fmt.Sprintf("%d channels %q", map[bool]int{true: 1, false: 3}[c.grey], c.options)
		var sizes [2]int
		n := 1
		for ; n <= 24; n++ {
			m, ok := kodak(t, n, c.grey)
			if !ok {
				break
			}
			sizes[(n-1)/12] += sizeOf(t, m, c.options...)
		}
		if n <= 12 {
			t.Skipf("SKIPPED: %s is absent", sharedData("kodak"))
		}
		promised(t, what+", 1 to 12", sizes[0], c.twelve)
		if n <= 24 {
			t.Logf("%s: photographs %d to 24 are absent, of all 24 %d are required", what, n, c.all)
			continue
		}
		if c.rest > 0 {
			promised(t, what+", 13 to 24", sizes[1], c.rest)
		}
		if c.all > 0 {
			promised(t, what+", all 24", sizes[0]+sizes[1], c.all)
		}
	}
}
