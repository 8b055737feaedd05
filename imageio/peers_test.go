package imageio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/raster"
)

// The tests of this file hold us against programs that others wrote: they write
// files that we read, and read files that we and they wrote. Debian's packages
// imagemagick, netpbm, libtiff-tools, giflib-tools and webp have them.

// need skips loudly, or fails in CI, where a program is missing.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	skip(t, program+" is not installed; Debian: apt-get install imagemagick netpbm libtiff-tools webp giflib-tools")
}

func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("PELMILL_TEST") == "require" {
		t.Fatal(why)
	}
	t.Skip("NOT TESTED: " + why)
}

// shell runs a command line in dir, of one program or of several, in pipes or after each other.
func shell(t *testing.T, dir, line string) {
	t.Helper()
	for _, part := range strings.Split(strings.ReplaceAll(line, "&&", "|"), "|") {
		need(t, strings.Fields(part)[0])
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

func decodeFile(t *testing.T, path string) *raster.Image {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, data, nil)
	m, err := Decode(data, nil)
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(path), err)
	}
	return m
}

// sources are images that peers convert: photo-like, of an uneven size.
func sources(t *testing.T, dir string) map[string]*raster.Image {
	const w, h = 77, 51
	s := map[string]*raster.Image{
		"rgb.ppm":  scene(w, h, 3, landscape),
		"grey.pgm": scene(w, h, 1, func(x, y, _ int) int { return ring(x, y, w, h) }),
		"rgba.pam": scene(w, h, 4, func(x, y, c int) int {
			if c == 3 {
				return (x * 3) & 255
			}
			return landscape(x, y, c)
		}),
		"noise.ppm":  scene(w, h, 3, plasma),
		"bits.pgm":   scene(w, h, 1, func(x, y, _ int) int { return ring(x, y, w, h) / 128 * 255 }),
		"rgb16.ppm":  pattern(w, h, 1, 3, 16),
		"grey16.pgm": pattern(w, h, 1, 1, 16),
		"few.ppm": scene(w, h, 3, func(x, y, c int) int {
			return noise((x/9+y/7)%13, 0, c)
		}),
	}
	for name, m := range s {
		data, err := Encode(m, "pnm")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Files without loss hold the very samples, whoever wrote them.
func TestPeersWriteWithoutLoss(t *testing.T) {
	dir := t.TempDir()
	src := sources(t, dir)
	for _, c := range []struct{ source, line string }{
		{"rgb.ppm", "pnmtopng rgb.ppm > out"},
		{"rgb.ppm", "pnmtopng -interlace rgb.ppm > out"},
		{"grey.pgm", "pnmtopng -interlace grey.pgm > out"},
		{"rgb16.ppm", "pamtopng rgb16.ppm > out"},
		{"grey16.pgm", "pnmtopng grey16.pgm > out"},
		{"rgba.pam", "pamtopng rgba.pam > out"},
		{"few.ppm", "pnmtopng few.ppm > out"}, // a palette of 4 bits
		{"bits.pgm", "pnmtopng bits.pgm > out"},
		{"rgba.pam", "convert rgba.pam -interlace PNG PNG32:out"},
		{"rgb16.ppm", "convert rgb16.ppm PNG48:out"},

		{"rgb.ppm", "convert rgb.ppm -compress None TIFF:out"},
		{"rgb.ppm", "convert rgb.ppm -compress LZW TIFF:out"},
		{"rgb.ppm", "convert rgb.ppm -compress Zip TIFF:out"},
		{"rgb.ppm", "convert rgb.ppm -compress RLE TIFF:out"},
		{"rgb.ppm", "convert rgb.ppm -interlace Plane -compress LZW TIFF:out"},
		{"rgb.ppm", "convert rgb.ppm -endian MSB -compress Zip -define tiff:tile-geometry=32x16 TIFF:out"},
		{"rgb16.ppm", "convert rgb16.ppm -endian MSB -compress LZW TIFF:out"},
		{"rgb16.ppm", "convert rgb16.ppm -endian LSB -compress Zip -define tiff:predictor=2 TIFF:out"},
		{"grey16.pgm", "convert grey16.pgm -compress None TIFF:out"},
		{"grey.pgm", "convert grey.pgm -negate -define quantum:polarity=min-is-white TIFF:out"},
		{"grey16.pgm", "convert grey16.pgm -negate -define quantum:polarity=min-is-white TIFF:out"},
		{"rgba.pam", "convert rgba.pam -define tiff:alpha=unassociated TIFF:out"},
		{"bits.pgm", "convert bits.pgm -monochrome -compress Group4 TIFF:out"},
		{"bits.pgm", "convert bits.pgm -monochrome -compress RLE TIFF:out"},
		{"bits.pgm", "convert bits.pgm -monochrome -define tiff:fill-order=lsb -compress Group4 TIFF:out"},
		{"few.ppm", "convert few.ppm -type Palette TIFF:out"},
		{"few.ppm", "pamtotiff -lzw few.ppm -output out"},
		{"rgb.ppm", "pamtotiff -truecolor rgb.ppm -output a.tiff && tiffcp -c lzw:2 -r 5 a.tiff out"},
		{"rgb.ppm", "pamtotiff -truecolor rgb.ppm -output a.tiff && tiffcp -c zip:2 -t -w 32 -l 48 a.tiff out"},
		{"rgb.ppm", "pamtotiff -truecolor rgb.ppm -output a.tiff && tiffcp -c packbits -p separate -t -w 16 -l 16 -B a.tiff out"},
		{"rgb16.ppm", "convert rgb16.ppm -interlace Plane -compress LZW TIFF:out"},
		{"bits.pgm", "convert bits.pgm -type bilevel -depth 1 -compress None TIFF:a.tiff && tiffcp -c g4 -f lsb2msb a.tiff out"},
		{"bits.pgm", "convert bits.pgm -type bilevel -depth 1 -compress None TIFF:a.tiff && tiffcp -c g3:1d a.tiff out"},

		{"rgb.ppm", "convert rgb.ppm -compress None ppm:out"},
		{"grey16.pgm", "pnmtoplainpnm grey16.pgm > out"},
		{"bits.pgm", "pgmtopbm -threshold bits.pgm > out"},
		{"bits.pgm", "pgmtopbm -threshold bits.pgm | pnmtoplainpnm > out"},
		{"rgb.ppm", "pnmtoplainpnm rgb.ppm > out"},

		{"rgb.ppm", "ppmtobmp rgb.ppm > out"},
		{"rgb.ppm", "convert rgb.ppm BMP3:out"},
		{"rgb.ppm", "convert rgb.ppm BMP:out"},
		{"few.ppm", "ppmtobmp few.ppm > out"},
		{"rgba.pam", "convert rgba.pam BMP:out"},

		{"few.ppm", "pamtogif few.ppm > out"},
		{"few.ppm", "pamtogif -interlace few.ppm > out"},
		{"few.ppm", "convert few.ppm GIF:out"},

		{"rgb.ppm", "cwebp -quiet -lossless rgb.ppm -o out"},
		{"few.ppm", "cwebp -quiet -lossless few.ppm -o out"},
		{"rgba.pam", "pamtopng rgba.pam > a.png && cwebp -quiet -lossless -exact a.png -o out"},
	} {
		t.Run(c.line, func(t *testing.T) {
			shell(t, dir, "rm -f out a.tiff && "+c.line)
			got, want := decodeFile(t, filepath.Join(dir, "out")), src[c.source]
			if want.Channels == 1 && got.Channels == 3 {
				want = threeChannels(want)
			}
			if want.Channels == 3 && got.Channels == 4 {
				got = raster.DropOpaqueAlpha(got)
			}
			same(t, got, want)
		})
	}
}

// threeChannels repeats grey: GIF and palettes know no grey.
func threeChannels(m *raster.Image) *raster.Image {
	return scene(m.Width, m.Height, 3, func(x, y, _ int) int { return m.Sample(y*m.Width + x) })
}

// What we write, others read.
func TestPeersRead(t *testing.T) {
	dir := t.TempDir()
	for name, m := range sources(t, dir) {
		for _, format := range []string{"png", "tiff", "pnm"} {
			t.Run(name+" as "+format, func(t *testing.T) {
				data, err := Encode(m, format)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "in"), data, 0o644); err != nil {
					t.Fatal(err)
				}
				to := map[int]string{1: "pgm", 3: "ppm", 4: "pam"}[m.Channels]
				shell(t, dir, fmt.Sprintf("convert %s:in -depth %d %s:out", strings.Replace(format, "pnm", to, 1), m.Bits, to))
				same(t, decodeFile(t, filepath.Join(dir, "out")), m)
			})
		}
	}
	t.Run("pages", func(t *testing.T) {
		m := pattern(20, 11, 3, 1, 8)
		data, err := Encode(m, "tiff")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "in"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		shell(t, dir, "convert TIFF:in[1] pgm:out")
		same(t, decodeFile(t, filepath.Join(dir, "out")), m.Slice(1))
	})
}

// Pages written by libtiff become frames.
func TestPeersPages(t *testing.T) {
	dir := t.TempDir()
	src := sources(t, dir)
	shell(t, dir, "convert rgb.ppm -compress LZW TIFF:a.tiff && convert few.ppm -type TrueColor -compress None TIFF:b.tiff && tiffcp -c zip a.tiff b.tiff a.tiff out")
	m := decodeFile(t, filepath.Join(dir, "out"))
	if m.Depth != 3 || !m.Frames {
		t.Fatalf("%s, frames %v", m.Shape, m.Frames)
	}
	for z, name := range []string{"rgb.ppm", "few.ppm", "rgb.ppm"} {
		same(t, m.Slice(z), src[name])
	}
	shell(t, dir, "convert rgb.ppm -crop 20x20+0+0 +repage TIFF:c.tiff && tiffcp a.tiff c.tiff out")
	data, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(data, nil); err == nil || !strings.Contains(err.Error(), "page 2 differs in shape") {
		t.Errorf("pages of different shape: %v", err)
	}
}

// The orientation of TIFF is applied as ImageMagick does it.
func TestPeersOrientedPages(t *testing.T) {
	dir := t.TempDir()
	sources(t, dir)
	for _, o := range []string{"top-right", "bottom-right", "bottom-left", "left-top", "right-top", "right-bottom", "left-bottom"} {
		shell(t, dir, "convert rgb16.ppm -orient "+o+" TIFF:out && convert TIFF:out -auto-orient ppm:want")
		got := decodeFile(t, filepath.Join(dir, "out"))
		if got.Meta.Orientation < 2 {
			t.Errorf("%s: orientation %d", o, got.Meta.Orientation)
		}
		same(t, got, decodeFile(t, filepath.Join(dir, "want")))
	}
}

// Frames of a GIF are drawn as ImageMagick coalesces them.
func TestPeersFrames(t *testing.T) {
	for _, dispose := range []string{"None", "Background", "Previous"} {
		t.Run(dispose, func(t *testing.T) {
			dir := t.TempDir()
			sources(t, dir)
			need(t, "convert")
			cmd := exec.Command("convert", "few.ppm", "-dispose", dispose, "(", "few.ppm", "-crop", "30x20+11+7", "-negate", ")",
				"(", "few.ppm", "-crop", "25x30+40+20", "-flip", "-set", "page", "77x51+40+20", ")", "-set", "dispose", dispose, "out.gif")
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			m := decodeFile(t, filepath.Join(dir, "out.gif"))
			if m.Depth != 3 || !m.Frames {
				t.Fatalf("%s, frames %v", m.Shape, m.Frames)
			}
			shell(t, dir, "convert out.gif -coalesce PNG32:f%d.png")
			for z := range m.Depth {
				want := decodeFile(t, filepath.Join(dir, fmt.Sprintf("f%d.png", z)))
				got := m.Slice(z)
				if got.Channels == 3 {
					want = raster.DropOpaqueAlpha(want)
				}
				same(t, visible(got), visible(want))
			}
		})
	}
}

// visible clears the colours of transparent samples, which have no meaning.
func visible(m *raster.Image) *raster.Image {
	if m.Channels == 4 {
		for i := 0; i < len(m.Pix); i += 4 {
			if m.Pix[i+3] == 0 {
				clear(m.Pix[i : i+3])
			}
		}
	}
	return m
}

// Lossy WebP gives libwebp's samples exactly.
func TestPeersWebP(t *testing.T) {
	for _, size := range []struct{ w, h int }{{77, 51}, {76, 50}, {1, 1}, {2, 2}, {3, 1}, {1, 9}, {16, 16}, {33, 2}} {
		for _, quality := range []int{5, 60, 95} {
			for channels := 3; channels <= 4; channels++ {
				t.Run(fmt.Sprintf("%dx%d q%d %d channels", size.w, size.h, quality, channels), func(t *testing.T) {
					dir := t.TempDir()
					m := scene(size.w, size.h, channels, func(x, y, c int) int {
						if c == 3 {
							return 255 - x*3
						}
						return landscape(x, y+60, c)
					})
					data, err := Encode(m, "pnm")
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(dir, "in"), data, 0o644); err != nil {
						t.Fatal(err)
					}
					shell(t, dir, fmt.Sprintf("cwebp -quiet -q %d in -o out && dwebp -quiet out -pam -o want", quality))
					want, got := decodeFile(t, filepath.Join(dir, "want")), decodeFile(t, filepath.Join(dir, "out"))
					if got.Channels == 3 {
						want = raster.DropOpaqueAlpha(want)
					}
					same(t, got, want)
				})
			}
		}
	}
}

// The orientation is applied, noted, and no longer in the EXIF block.
func TestOrientation(t *testing.T) {
	base := pattern(5, 3, 2, 3, 16)
	for o := 2; o <= 8; o++ {
		turned := raster.Orient(base, o)
		for z := range base.Depth {
			for y := range base.Height {
				for x := range base.Width {
					// EXIF 2.3, table of Orientation: where row 0 and column 0 lie.
					ux, uy := map[int][2]int{
						2: {base.Width - 1 - x, y}, 3: {base.Width - 1 - x, base.Height - 1 - y}, 4: {x, base.Height - 1 - y},
						5: {y, x}, 6: {base.Height - 1 - y, x}, 7: {base.Height - 1 - y, base.Width - 1 - x}, 8: {y, base.Width - 1 - x},
					}[o][0], map[int][2]int{
						2: {base.Width - 1 - x, y}, 3: {base.Width - 1 - x, base.Height - 1 - y}, 4: {x, base.Height - 1 - y},
						5: {y, x}, 6: {base.Height - 1 - y, x}, 7: {base.Height - 1 - y, base.Width - 1 - x}, 8: {y, base.Width - 1 - x},
					}[o][1]
					a, b := base.Slice(z), turned.Slice(z)
					for c := range 3 {
						if a.Sample((y*a.Width+x)*3+c) != b.Sample((uy*b.Width+ux)*3+c) {
							t.Fatalf("orientation %d: sample at %d, %d is not at %d, %d", o, x, y, ux, uy)
						}
					}
				}
			}
		}
	}
	jpg := withEXIF(asJPEG(t, scene(9, 5, 3, plasma), 90), exifBlock(binary.LittleEndian, 6))
	h, err := ReadHeader(jpg, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode(jpg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if h.Width != 5 || h.Height != 9 || m.Width != 5 || m.Height != 9 || m.Meta.Orientation != 6 {
		t.Errorf("header %d x %d, picture %s, orientation %d", h.Width, h.Height, m.Shape, m.Meta.Orientation)
	}
	if !bytes.Equal(m.Meta.EXIF, exifBlock(binary.LittleEndian, 1)) {
		t.Errorf("the EXIF block still turns the picture")
	}
}
