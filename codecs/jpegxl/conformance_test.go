package jpegxl

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
)

// made is a JPEG file of noise or slopes by the encoder of the standard library.
func made(t testing.TB, width, height, quality int, grey, noise bool) []byte {
	t.Helper()
	rect := image.Rect(0, 0, width, height)
	var m interface {
		image.Image
		Set(x, y int, c color.Color)
	} = image.NewRGBA(rect)
	if grey {
		m = image.NewGray(rect)
	}
	seed := uint32(1)
	for y := range height {
		for x := range width {
			c := color.RGBA{uint8(x * 3), uint8(y*2 + x), uint8(x * y / 16), 255}
			if noise {
				seed = seed*1664525 + 1013904223
				c = color.RGBA{uint8(seed >> 24), uint8(seed >> 16), uint8(seed >> 8), 255}
			}
			m.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// treeFile is a file of the tree.
func treeFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestConformance(t *testing.T) {
	sources := [][]byte{
		treeFile(t, "imageio/testdata/good/progressive.jpg"),
		treeFile(t, "imageio/testdata/good/two-scans.jpg"),
		treeFile(t, "imageio/testdata/good/open-bits.jpg"),
		made(t, 1, 1, 50, false, false), made(t, 9, 7, 90, true, true), made(t, 16, 17, 100, false, true),
		made(t, 257, 33, 75, false, false), made(t, 300, 290, 100, false, true),
	}
	if !testing.Short() {
		sources = append(sources, made(t, 2049, 40, 80, false, false), made(t, 33, 2300, 60, false, true))
	}
	codectest.RunSources(t, Codec{}, sources)
}
