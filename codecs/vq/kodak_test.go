package vq

import (
	"fmt"
	"image"
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
	b := p.Bounds()
	m := raster.New(b.Dx(), b.Dy(), 1, 3, 8)
	for y := range b.Dy() {
		for x := range b.Dx() {
			r, g, bl, _ := p.(image.Image).At(b.Min.X+x, b.Min.Y+y).RGBA()
			i := 3 * (y*b.Dx() + x)
			m.Pix[i], m.Pix[i+1], m.Pix[i+2] = byte(r>>8), byte(g>>8), byte(bl>>8)
		}
	}
	return m, true
}

// grey is the BT.601 luma of an RGB image, rounded.
func grey(m *raster.Image) *raster.Image {
	g := raster.New(m.Width, m.Height, m.Depth, 1, 8)
	for i := range g.Pix {
		r, gr, b := int(m.Pix[3*i]), int(m.Pix[3*i+1]), int(m.Pix[3*i+2])
		g.Pix[i] = byte((299*r + 587*gr + 114*b + 500) / 1000)
	}
	return g
}
