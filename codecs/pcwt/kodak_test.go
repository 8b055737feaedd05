package pcwt

import (
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
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

// TestKodakSizes holds the sizes of files of twelve photographs to what they were when they
// were last measured, and a little more.
func TestKodakSizes(t *testing.T) {
	measured(t)
	for _, c := range []struct {
		grey    bool
		options []string
		most    int
	}{
		{true, nil, 2470000},
		{false, nil, 5180000},
		{true, []string{"fast=true"}, 2560000},
		{false, []string{"fast=true"}, 5750000},
	} {
		o, err := Codec{}.Options(c.options)
		if err != nil {
			t.Fatal(err)
		}
		all := 0
		for n := 1; n <= 12; n++ {
			m, ok := kodak(t, n, c.grey)
			if !ok {
				t.Skipf("SKIPPED: %s is absent", sharedData("kodak"))
			}
			e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)[0]
			if e.Err != nil {
				t.Fatal(e.Err)
			}
			all += len(e.Data)
			d := Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{e.Data}, nil)[0]
			if d.Err != nil || d.Image.Hash() != m.Hash() {
				t.Fatalf("photograph %d comes back as another (%v)", n, d.Err)
			}
		}
		t.Logf("grey %t %q: %d bytes", c.grey, c.options, all)
		if all > c.most {
			t.Errorf("grey %t %q: %d bytes, more than %d", c.grey, c.options, all, c.most)
		}
	}
}
