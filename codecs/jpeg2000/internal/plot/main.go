// Command plot draws the rate-distortion curves in the README of package jpeg2000: mean PSNR of
// photographs over the rate, of our Part 1 and HT files and of OpenJPEG's. It needs
// opj_compress (Debian: libopenjp2-tools) and RGB photographs of 8 bits as PNG, such as the
// Kodak suite:
//
//	go run ./codecs/jpeg2000/internal/plot -images DIR -out codecs/jpeg2000/rate-distortion.svg
//
// The same photographs and OpenJPEG give the same file on every machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"image/png"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/raster"
)

// rates are in bits of the codestream for a pixel.
var rates = []float64{0.25, 0.5, 1, 2}

// curve is a coder and its mean PSNR at the rates, in dB.
type curve struct {
	name, colour string
	encode       func(m *raster.Image, bpp float64) ([]byte, error)
	psnr         []float64
}

func main() {
	log.SetFlags(0)
	images := flag.String("images", filepath.Join("..", "shared", "data", "kodak"), "folder of PNG files")
	out := flag.String("out", filepath.Join("codecs", "jpeg2000", "rate-distortion.svg"), "file to write")
	flag.Parse()
	curves := []*curve{
		{name: "Part 1, 9/7", colour: "#1f6fb4", encode: ours("container=j2c")},
		{name: "OpenJPEG, 9/7", colour: "#d0461e", encode: openJPEG},
		{name: "HT, 9/7", colour: "#3a8f3a", encode: ours("container=j2c", "mode=ht")},
	}
	n, err := measure(curves, *images)
	if err == nil {
		err = os.WriteFile(*out, draw(curves, n), 0o644)
	}
	if err != nil {
		log.Fatal("plot: ", err)
	}
}

// measure fills in the PSNR of n images.
func measure(curves []*curve, folder string) (n int, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.png"))
	if err != nil || len(names) == 0 {
		return 0, fmt.Errorf("%s holds no PNG files", folder)
	}
	for _, c := range curves {
		c.psnr = make([]float64, len(rates))
	}
	for _, name := range names {
		m, err := read(name)
		if err != nil {
			return 0, err
		}
		for _, c := range curves {
			for i, bpp := range rates {
				file, err := c.encode(m, bpp)
				if err != nil {
					return 0, fmt.Errorf("%s, %s: %w", name, c.name, err)
				}
				d := jpeg2000.Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{file}, nil)[0]
				if d.Err != nil {
					return 0, fmt.Errorf("%s, %s: %w", name, c.name, d.Err)
				}
				db, err := raster.PSNR(m, d.Image)
				if err != nil {
					return 0, err
				}
				c.psnr[i] += db / float64(len(names))
			}
		}
	}
	return len(names), nil
}

// read reads an RGB image; its opacity is left out.
func read(name string) (*raster.Image, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := png.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b := p.Bounds()
	m := raster.New(b.Dx(), b.Dy(), 1, 3, 8)
	for i := range m.Pixels() {
		r, g, bl, _ := p.At(b.Min.X+i%m.Width, b.Min.Y+i/m.Width).RGBA()
		m.Pix[3*i], m.Pix[3*i+1], m.Pix[3*i+2] = byte(r>>8), byte(g>>8), byte(bl>>8)
	}
	return m, nil
}

func ours(pairs ...string) func(m *raster.Image, bpp float64) ([]byte, error) {
	return func(m *raster.Image, bpp float64) ([]byte, error) {
		o, err := jpeg2000.Codec{}.Options(append(pairs[:len(pairs):len(pairs)], fmt.Sprint("bpp=", bpp)))
		if err != nil {
			return nil, err
		}
		e := jpeg2000.Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)[0]
		return e.Data, e.Err
	}
}

// openJPEG encodes with 9/7 to a ratio of bytes.
func openJPEG(m *raster.Image, bpp float64) ([]byte, error) {
	dir, err := os.MkdirTemp("", "plot")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "a.ppm"), filepath.Join(dir, "a.j2k")
	if err := os.WriteFile(in, fmt.Appendf(nil, "P6\n%d %d\n255\n%s", m.Width, m.Height, m.Pix), 0o644); err != nil {
		return nil, err
	}
	if text, err := exec.Command("opj_compress", "-i", in, "-o", out, "-I", "-r", fmt.Sprint(24/bpp)).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("opj_compress: %w\n%s", err, text)
	}
	return os.ReadFile(out)
}

// The drawing, in pixels: the plot lies inside of margins; the axis of rates is logarithmic.
const (
	width, height            = 720, 440
	left, right, top, bottom = 60, 20, 36, 50
	lowest, highest, line    = 26, 44, 2 // dB, and between lines
)

func across(bpp float64) float64 {
	first, last := math.Log2(rates[0]), math.Log2(rates[len(rates)-1])
	return left + (math.Log2(bpp)-first)/(last-first)*(width-left-right)
}

func down(db float64) float64 { return top + (highest-db)/(highest-lowest)*(height-top-bottom) }

// draw returns the SVG of curves of n images.
func draw(curves []*curve, n int) []byte {
	b := fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", width, height)
	b = fmt.Appendf(b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	b = fmt.Appendf(b, `<text x="%d" y="20" font-size="15">Mean PSNR of %d photographs, RGB</text>`+"\n", left, n)
	for db := lowest; db <= highest; db += line {
		b = fmt.Appendf(b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%d dB</text>`+"\n", left, down(float64(db)), width-right, left-6, down(float64(db))+4, db)
	}
	for _, bpp := range rates {
		b = fmt.Appendf(b, `<path d="M%.1f %dV%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%g</text>`+"\n", across(bpp), top, height-bottom, across(bpp), height-bottom+18, bpp)
	}
	b = fmt.Appendf(b, `<text x="%d" y="%d" text-anchor="middle">bits per pixel</text>`+"\n", (left+width-right)/2, height-12)
	for i, c := range curves {
		path, dots := "M", ""
		for k, db := range c.psnr {
			if k > 0 {
				path += "L"
			}
			path += fmt.Sprintf("%.1f %.1f", across(rates[k]), down(db))
			dots += fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="3"><title>%s, %g bits per pixel: %.2f dB</title></circle>`, across(rates[k]), down(db), c.name, rates[k], db)
		}
		y := top + 24 + 20*i
		b = fmt.Appendf(b, `<g fill="%s"><path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>%s<path d="M%d %dh24" stroke="%s" stroke-width="2"/></g><text x="%d" y="%d">%s: %.2f, %.2f, %.2f, %.2f dB</text>`+"\n",
			c.colour, path, c.colour, dots, left+16, y-4, c.colour, left+48, y, c.name, c.psnr[0], c.psnr[1], c.psnr[2], c.psnr[3])
	}
	return append(b, "</svg>\n"...)
}
