package webp

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

// kodak reads image n of the Kodak suite as RGB, or ok=false where the data
// folder has none.
func kodak(t testing.TB, n int) (*raster.Image, bool) {
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", "kodak", fmt.Sprintf("%02d.png", n)))
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
	m := raster.New(rgba.Rect.Dx(), rgba.Rect.Dy(), 1, 3, 8)
	for i := range len(m.Pix) / 3 {
		copy(m.Pix[3*i:3*i+3], rgba.Pix[4*i:])
	}
	return m, true
}
