package imageio

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/raster"
)

var update = flag.Bool("update", false, "write the pictures in testdata anew")

// The project's own images are computed, in integers, so that they have no
// other origin and no licence but ours.

// scene fills an image of 8-bit samples from a function of the place.
func scene(w, h, channels int, at func(x, y, c int) int) *raster.Image {
	m := raster.New(w, h, 1, channels, 8)
	i := 0
	for y := range h {
		for x := range w {
			for c := range channels {
				m.Pix[i] = byte(min(max(at(x, y, c), 0), 255))
				i++
			}
		}
	}
	return m
}

// noise is a hash of a lattice point, 0 to 255.
func noise(x, y, c int) int {
	v := uint32(x)*0x9e3779b1 ^ uint32(y)*0x85ebca77 ^ uint32(c)*0xc2b2ae3d
	v ^= v >> 15
	v *= 0x2c1b3c6d
	v ^= v >> 12
	v *= 0x297a2d39
	return int(v >> 24)
}

// cloud is value noise with cells of the given size, interpolated linearly.
func cloud(x, y, c, cell int) int {
	i, j, u, v := x/cell, y/cell, x%cell, y%cell
	top := noise(i, j, c)*(cell-u) + noise(i+1, j, c)*u
	bottom := noise(i, j+1, c)*(cell-u) + noise(i+1, j+1, c)*u
	return (top*(cell-v) + bottom*v) / (cell * cell)
}

// plasma is cloud at four scales: smooth parts, edges and fine detail.
func plasma(x, y, c int) int {
	return (cloud(x, y, c, 64)*8 + cloud(x, y, c+7, 16)*4 + cloud(x, y, c+17, 6)*2 + cloud(x, y, c+27, 2)) / 15
}

// ring is a triangle wave of the squared distance from the middle.
func ring(x, y, w, h int) int {
	d := ((2*x-w)*(2*x-w) + (2*y-h)*(2*y-h)) / 24 % 512
	return min(d, 511-d)
}

// grain is what a sensor adds: a few grey levels that no predictor foresees.
func grain(x, y, c int) int { return noise(x, y, c+37)/20 - 6 }

// glyph tells the ink of rows of marks that look like text.
func glyph(x, y int) bool {
	row, col := y/12, x/8
	return y%12 < 8 && x%8 < 6 && noise(col, row, 3) > 40 && noise(x/2, y/2, 5)&1 == 1
}

func landscape(x, y, c int) int {
	horizon := 70 + cloud(x, 3, 2, 48)/5
	if y < horizon {
		return 110 + 30*c + (horizon-y)/2 + cloud(x, 2*y, 9, 20)/6
	}
	return []int{60, 100, 30}[c] + plasma(x, y, 1)/3 - (y-horizon)/4
}

// ownImages are the files of the quick start, by name.
func ownImages(t *testing.T) map[string][]byte {
	files := map[string][]byte{}
	put := func(name, format string, m *raster.Image) {
		data, err := Encode(m, format)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
	}
	put("gradient.png", "png", scene(192, 128, 3, func(x, y, c int) int {
		return []int{x * 255 / 191, y * 255 / 127, (x + y) * 255 / 318}[c] + grain(x, y, c)
	}))
	put("rings.png", "png", scene(129, 97, 1, func(x, y, _ int) int { return ring(x, y, 129, 97) + grain(x, y, 0) }))
	put("plasma.ppm", "pnm", scene(128, 96, 3, plasma))
	put("plasma.tiff", "tiff", scene(128, 128, 1, plasma))
	put("rings.pgm", "pnm", scene(96, 64, 1, func(x, y, _ int) int { return ring(x, y, 96, 64) + grain(x, y, 0) }))

	pal := color.Palette{color.RGBA{250, 248, 240, 255}, color.RGBA{30, 30, 60, 255}, color.RGBA{180, 40, 30, 255}, color.RGBA{60, 120, 60, 255}}
	page := image.NewPaletted(image.Rect(0, 0, 160, 96), pal)
	for y := range 96 {
		for x := range 160 {
			if glyph(x, y) {
				page.SetColorIndex(x, y, uint8(1+(y/36)%3))
			}
		}
	}
	files["text.png"] = palettePNG(t, page)
	tiles := image.NewPaletted(image.Rect(0, 0, 100, 75), pal)
	for y := range 75 {
		for x := range 100 {
			tiles.SetColorIndex(x, y, uint8((x/9+y/7)%4))
		}
	}
	var b bytes.Buffer
	if err := gif.Encode(&b, tiles, nil); err != nil {
		t.Fatal(err)
	}
	files["tiles.gif"] = b.Bytes()
	files["landscape.jpg"] = asJPEG(t, scene(256, 192, 3, landscape), 90)
	return files
}

func asJPEG(t testing.TB, m *raster.Image, quality int) []byte {
	var img image.Image
	r := image.Rect(0, 0, m.Width, m.Height)
	if m.Channels == 1 {
		img = &image.Gray{Pix: m.Pix, Stride: m.Width, Rect: r}
	} else {
		rgba := image.NewRGBA(r)
		for i := range m.Width * m.Height {
			copy(rgba.Pix[4*i:], m.Pix[3*i:3*i+3])
			rgba.Pix[4*i+3] = 255
		}
		img = rgba
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The files of the quick start hold what the functions above compute: opaque
// images of 8 bits, together less than 400 KB.
func TestOwnImages(t *testing.T) {
	dir := filepath.Join("..", "testdata", "images")
	total := 0
	for name, made := range ownImages(t) {
		path := filepath.Join(dir, name)
		if *update {
			if err := os.WriteFile(path, made, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%v; write it with: go test ./imageio -run TestOwnPictures -update", err)
		}
		total += len(data)
		m, err := Decode(data, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err := Decode(made, nil)
		if err != nil {
			t.Fatal(err)
		}
		if m.Hash() != want.Hash() {
			t.Errorf("%s holds another picture than the one that is computed; see -update", name)
		}
		if m.Bits != 8 || m.Alpha() || m.Depth != 1 {
			t.Errorf("%s is %s, want 8 bits without alpha", name, m.Shape)
		}
	}
	if total > 400_000 {
		t.Errorf("the pictures take %d bytes", total)
	}
}
