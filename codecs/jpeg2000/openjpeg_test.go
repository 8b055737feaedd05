package jpeg2000

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// The tests of this file hold us against OpenJPEG's programs, from Debian's package
// libopenjp2-tools.

// need is for tests that run a program.
func need(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	missing(t, program+" is not installed; Debian: apt-get install libopenjp2-tools")
}

// missing skips loudly, or fails in CI.
func missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("PELMILL_TEST") == "require" {
		t.Fatal(why)
	}
	t.Skip("NOT TESTED: " + why)
}

func command(t testing.TB, program string, args ...string) {
	t.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

// encoded is the file of m.
func encoded(t testing.TB, m *raster.Image, pairs ...string) []byte {
	t.Helper()
	o, err := Codec{}.Options(pairs)
	if err != nil {
		t.Fatal(err)
	}
	e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)[0]
	if e.Err != nil {
		t.Fatalf("%s with %q: %v", m.Shape, pairs, e.Err)
	}
	return e.Data
}

// openJPEG returns the samples that OpenJPEG decodes of a file of ours, by component.
func openJPEG(t testing.TB, file []byte, ext string, components int) [][]int32 {
	t.Helper()
	dir := t.TempDir()
	in := filepath.Join(dir, "in"+ext)
	if err := os.WriteFile(in, file, 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, "opj_decompress", "-i", in, "-o", filepath.Join(dir, "out.pgx"))
	list := make([][]int32, components)
	for c := range list {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("out_%d.pgx", c)))
		if err != nil {
			if data, err = os.ReadFile(filepath.Join(dir, "out.pgx")); err != nil {
				t.Fatal(err)
			}
		}
		list[c] = samplesOfPGX(t, data)
	}
	return list
}

// samplesOfPGX reads the PGX that OpenJPEG writes: "PG ML +8 3 2", a line feed, samples.
func samplesOfPGX(t testing.TB, data []byte) []int32 {
	t.Helper()
	head, body, _ := bytes.Cut(data, []byte("\n"))
	f := strings.Fields(strings.NewReplacer("+", "+ ", "-", "- ").Replace(string(head)))
	var bits, w, h int
	if _, err := fmt.Sscan(strings.Join(f[3:], " "), &bits, &w, &h); err != nil || f[1] != "ML" {
		t.Fatalf("the PGX header %q: %v", head, err)
	}
	out := make([]int32, w*h)
	for i := range out {
		switch {
		case bits > 8 && f[2] == "-":
			out[i] = int32(int16(binary.BigEndian.Uint16(body[2*i:])))
		case bits > 8:
			out[i] = int32(binary.BigEndian.Uint16(body[2*i:]))
		case f[2] == "-":
			out[i] = int32(int8(body[i]))
		default:
			out[i] = int32(body[i])
		}
	}
	return out
}

// pattern is an image with smooth parts, edges and noise.
func pattern(s raster.Shape) *raster.Image {
	m := raster.Make(s)
	peak := 1<<s.Bits - 1
	seed := uint32(1)
	for i := range s.Samples() {
		x, y, c := i/s.Channels%s.Width, i/s.Channels/s.Width, i%s.Channels
		seed = seed*1664525 + 1013904223
		v := (x*peak/(s.Width+1) + c*y*3) & peak
		if x/9%3 == 1 && y/5%2 == 0 {
			v ^= peak
		}
		if y > s.Height/2 {
			v ^= int(seed>>8) & (peak >> 2)
		}
		if s.Bits <= 8 {
			m.Pix[i] = byte(v)
			if s.Signed {
				m.Pix[i] = byte(int8(v<<(8-s.Bits)) >> (8 - s.Bits))
			}
			continue
		}
		if s.Signed {
			v = int(int16(v<<(16-s.Bits)) >> (16 - s.Bits))
		}
		binary.LittleEndian.PutUint16(m.Pix[2*i:], uint16(v))
	}
	return m
}

func shape(w, h, channels, bits int, signed bool) raster.Shape {
	return raster.Shape{Width: w, Height: h, Depth: 1, Channels: channels, Bits: bits, Signed: signed}
}

// Files of all options are opened by OpenJPEG, which finds the samples of the image.
func TestOpenJPEGDecodes(t *testing.T) {
	need(t, "opj_decompress")
	for i, c := range []struct {
		shape raster.Shape
		pairs string
	}{
		{shape(1, 1, 1, 8, false), ""},
		{shape(1, 1, 3, 1, false), "levels=5"},
		{shape(1, 70, 1, 12, true), ""},
		{shape(67, 1, 4, 8, false), "levels=3"},
		{shape(63, 65, 3, 8, false), "effort=fast"},
		{shape(129, 127, 2, 16, false), "effort=best"},
		{shape(131, 66, 1, 16, true), "container=j2c levels=7"},
		{shape(131, 66, 1, 5, true), "container=j2k"},
		{shape(200, 150, 3, 8, false), "tile=64x48"},
		{shape(200, 150, 3, 10, false), "tile=61x47 progression=RPCL precincts=32x32,16x16 tlm=true plt=true"},
		{shape(200, 150, 3, 8, false), "layers=4 progression=RLCP"},
		{shape(200, 150, 4, 8, false), "layers=3 progression=PCRL precincts=64x64"},
		{shape(200, 150, 3, 12, false), "layers=7 progression=CPRL precincts=128x32 block=16x16"},
		{shape(100, 300, 1, 8, false), "block=4x1024 levels=2"},
		{shape(300, 100, 1, 8, false), "block=1024x4 levels=2"},
		{shape(90, 80, 1, 8, false), "block=4x4 levels=0"},
		{shape(120, 90, 1, 12, false), "style=bypass"},
		{shape(120, 90, 1, 12, false), "style=bypass+termall layers=3"},
		{shape(120, 90, 1, 12, false), "style=bypass layers=5"},
		{shape(120, 90, 3, 8, false), "style=reset"},
		{shape(120, 90, 3, 8, false), "style=termall layers=2"},
		{shape(120, 90, 3, 8, false), "style=causal"},
		{shape(120, 90, 3, 8, false), "style=predictable+termall"},
		{shape(120, 90, 3, 8, false), "style=segsym"},
		{shape(120, 90, 3, 16, false), "style=bypass+reset+termall+causal+predictable+segsym"},
		{shape(40, 40, 3, 8, false), "levels=32"},
	} {
		m := pattern(c.shape)
		o, err := Codec{}.Options(strings.Fields(c.pairs))
		if err != nil {
			t.Fatal(err)
		}
		file := encoded(t, m, strings.Fields(c.pairs)...)
		for j, samples := range openJPEG(t, file, Codec{}.Info().With(o).Extension, c.shape.Channels) {
			for k, v := range samples {
				if want := m.Sample(k*c.shape.Channels + j); int(v) != want {
					t.Errorf("%d: %s with %q: component %d, sample %d is %d, want %d", i, c.shape, c.pairs, j, k, v, want)
					break
				}
			}
		}
	}
}

// A file with a palette has indices in its codestream, which OpenJPEG looks up.
func TestOpenJPEGLooksUpPalettes(t *testing.T) {
	need(t, "opj_decompress")
	m := raster.New(90, 80, 1, 3, 8)
	for i := range m.Pixels() {
		k := byte(i*i/7%11) * 23
		copy(m.Pix[3*i:], []byte{k, k ^ 0x55, 255 - k})
	}
	file := encoded(t, m, "effort=best")
	if !bytes.Contains(file, []byte("pclr")) {
		t.Fatal("no palette")
	}
	for j, samples := range openJPEG(t, file, ".jp2", 3) {
		for k, v := range samples {
			if int(v) != m.Sample(3*k+j) {
				t.Fatalf("component %d, sample %d is %d, want %d", j, k, v, m.Sample(3*k+j))
			}
		}
	}
}

// Lossy files decode in OpenJPEG as they do here, but for the rounding of a sample; of one
// of 16 bits, for what float32 has left.
func TestOpenJPEGDecodesLossy(t *testing.T) {
	need(t, "opj_decompress")
	for _, pairs := range []string{"psnr=40", "bpp=3 layers=3", "quality=80 tile=100x90", "bpp=2 wavelet=5/3", "wavelet=9/7", "psnr=70"} {
		for _, s := range []raster.Shape{shape(201, 150, 3, 8, false), shape(150, 201, 1, 12, true), shape(90, 99, 2, 16, false)} {
			m, off := pattern(s), 1
			if s.Bits == 16 {
				off = 4
			}
			checkOpenJPEG(t, m, off, strings.Fields(pairs)...)
		}
	}
}

// Of HT files that have lost something OpenJPEG finds what is found here.
func TestOpenJPEGDecodesLossyHT(t *testing.T) {
	need(t, "opj_decompress")
	for _, pairs := range []string{"psnr=40", "bpp=3 tile=100x90", "bpp=0.01", "quality=80 levels=2", "wavelet=9/7"} {
		for _, s := range []raster.Shape{shape(201, 150, 3, 8, false), shape(150, 201, 1, 12, true)} {
			checkOpenJPEG(t, pattern(s), 1, append(strings.Fields(pairs), "mode=ht", "container=j2c")...)
		}
	}
}

// checkOpenJPEG compares what OpenJPEG decodes of a file of an image with what we decode.
func checkOpenJPEG(t *testing.T, m *raster.Image, off int, pairs ...string) {
	t.Helper()
	file := encoded(t, m, pairs...)
	back, err := decodeOne(t, file, codec.View{})
	if err != nil {
		t.Fatal(err)
	}
	ext := ".jp2"
	if !bytes.Contains(file[:16], []byte("jP  ")) {
		ext = ".j2k"
	}
	for j, samples := range openJPEG(t, file, ext, m.Channels) {
		for k, v := range samples {
			if ours := back.Sample(k*m.Channels + j); ours-int(v) > off || int(v)-ours > off {
				t.Fatalf("%s with %q: component %d, sample %d is %d, and %d here", m.Shape, pairs, j, k, v, ours)
			}
		}
	}
}

// Lossless photographs take no byte more than OpenJPEG's, without its comment of 39
// bytes; lossy ones no more error at the same rate.
func TestAgainstOpenJPEG(t *testing.T) {
	need(t, "opj_compress")
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "data", "kodak", "*.png"))
	if len(files) == 0 {
		t.Skip("NOT TESTED: the photographs are absent")
	}
	if testing.Short() {
		files = files[:1]
	}
	for _, f := range files[:min(len(files), 3)] {
		m := readImage(t, f)
		ppm := filepath.Join(t.TempDir(), "a.ppm")
		if err := os.WriteFile(ppm, fmt.Appendf(nil, "P6\n%d %d\n255\n%s", m.Width, m.Height, m.Pix), 0o644); err != nil {
			t.Fatal(err)
		}
		if ours, theirs := encoded(t, m, "container=j2k"), openJPEGFile(t, ppm); len(ours) > len(theirs)-comment {
			t.Errorf("%s: %d bytes, OpenJPEG's %d", f, len(ours), len(theirs)-comment)
		}
		for _, bpp := range []float64{0.25, 1} {
			theirs := openJPEGFile(t, ppm, "-I", "-r", fmt.Sprint(24/bpp))
			ours := encoded(t, m, "container=j2k", fmt.Sprint("bpp=", float64(len(theirs)*8)/float64(m.Pixels())))
			if a, b := psnrOf(t, m, ours), psnrOf(t, m, theirs); a < b || len(ours) > len(theirs) {
				t.Errorf("%s at %g bpp: %.3f dB in %d bytes, OpenJPEG's %.3f dB in %d", f, bpp, a, len(ours), b, len(theirs))
			}
		}
	}
}

// comment is the length of the marker segment COM that OpenJPEG writes.
const comment = 39

func openJPEGFile(t testing.TB, in string, args ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "a.j2k")
	command(t, "opj_compress", append([]string{"-i", in, "-o", out}, args...)...)
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// readImage reads an opaque photograph.
func readImage(t testing.TB, file string) *raster.Image {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	m := raster.New(p.Bounds().Dx(), p.Bounds().Dy(), 1, 3, 8)
	for i := range m.Pixels() {
		r, g, b, _ := p.At(i%m.Width, i/m.Width).RGBA()
		m.Pix[3*i], m.Pix[3*i+1], m.Pix[3*i+2] = byte(r>>8), byte(g>>8), byte(b>>8)
	}
	return m
}

// psnrOf compares an image of 8 bits with a file of it.
func psnrOf(t testing.TB, m *raster.Image, file []byte) float64 {
	t.Helper()
	d := Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{file}, nil)[0]
	if d.Err != nil {
		t.Fatal(d.Err)
	}
	sum := 0.0
	for i, v := range m.Pix {
		e := float64(v) - float64(d.Image.Pix[i])
		sum += e * e
	}
	return 10 * math.Log10(255*255*float64(len(m.Pix))/sum)
}
