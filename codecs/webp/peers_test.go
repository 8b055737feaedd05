package webp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/raster"
)

// The tests of this file hold us against libwebp's programs, from Debian's package webp.

// need skips loudly, or fails in CI, where a program is missing.
func need(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	why := program + " is not installed; Debian: apt-get install webp"
	if os.Getenv("PELMILL_TEST") == "require" {
		t.Fatal(why)
	}
	t.Skip("NOT TESTED: " + why)
}

func command(t testing.TB, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
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
		t.Fatalf("%s: %v", m.Shape, e.Err)
	}
	return e.Data
}

func decoded(file []byte) (*raster.Image, error) {
	d := Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{file}, nil)[0]
	return d.Image, d.Err
}

// dwebp decodes a file as RGBA.
func dwebp(t testing.TB, file []byte) *raster.Image {
	t.Helper()
	need(t, "dwebp")
	dir := t.TempDir()
	in, out := filepath.Join(dir, "a.webp"), filepath.Join(dir, "a.pam")
	if err := os.WriteFile(in, file, 0o666); err != nil {
		t.Fatal(err)
	}
	command(t, "dwebp", in, "-pam", "-o", out)
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	m, err := imageio.Decode(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// rgba is m as RGBA.
func rgba(m *raster.Image) *raster.Image {
	out := raster.New(m.Width, m.Height, 1, 4, 8)
	for i, v := range loaded(testimages.Pools[0], m, true).ARGB {
		out.Pix[4*i], out.Pix[4*i+1], out.Pix[4*i+2], out.Pix[4*i+3] = byte(v>>16), byte(v>>8), byte(v), byte(v>>24)
	}
	return out
}

// samples are images of all shapes, some with metadata of odd sizes.
func samples() []*raster.Image {
	var list []*raster.Image
	for i, size := range [][2]int{{1, 1}, {2, 1}, {1, 3}, {7, 5}, {16, 16}, {33, 17}, {64, 64}, {130, 67}} {
		for channels := 1; channels <= 4; channels++ {
			r := rand.New(rand.NewPCG(uint64(i), uint64(channels)))
			for _, kind := range kinds {
				m := imageOf(r, kind, size[0], size[1], channels)
				if len(list)%3 == 1 {
					m.Meta.ICC = bytes.Repeat([]byte{7}, 1+r.IntN(300))
				}
				if len(list)%4 == 1 {
					m.Meta.EXIF = exifBlock(1+r.IntN(8), r.IntN(2) == 0, r.IntN(9))
				}
				list = append(list, m)
			}
		}
	}
	return list
}

// exifBlock is an EXIF block that holds an orientation and some bytes.
func exifBlock(orientation int, big bool, more int) []byte {
	b := []byte{'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 18, 1, 3, 0, 1, 0, 0, 0, byte(orientation), 0, 0, 0, 0, 0, 0, 0}
	if big {
		b = []byte{'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 18, 0, 3, 0, 0, 0, 1, 0, byte(orientation), 0, 0, 0, 0, 0, 0}
	}
	return append(b, make([]byte, more)...)
}

func TestPeersReadOurFiles(t *testing.T) {
	need(t, "dwebp")
	need(t, "webpinfo")
	for i, m := range samples() {
		if i%5 != 0 && testing.Short() {
			continue
		}
		file := encoded(t, m, fmt.Sprintf("effort=%d", i%10))
		what := fmt.Sprintf("picture %d, %s, ICC %d, EXIF %d", i, m.Shape, len(m.Meta.ICC), len(m.Meta.EXIF))
		if got := dwebp(t, file); got.Hash() != rgba(m).Hash() {
			t.Errorf("%s: dwebp sees another picture", what)
		}
		path := filepath.Join(t.TempDir(), "a.webp")
		if err := os.WriteFile(path, file, 0o666); err != nil {
			t.Fatal(err)
		}
		if out := command(t, "webpinfo", path); !strings.Contains(out, "No error detected") {
			t.Errorf("%s: %s", what, out)
		}
		read, err := imageio.Decode(file, nil)
		if err != nil || rgba(read).Hash() != rgba(m).Hash() {
			t.Errorf("%s: imageio sees another picture (%v)", what, err)
			continue
		}
		if !bytes.Equal(read.Meta.ICC, m.Meta.ICC) || !bytes.Equal(read.Meta.EXIF, exif.Upright(m.Meta.EXIF)) {
			t.Errorf("%s: imageio sees other metadata", what)
		}
	}
}

// Streams that no encoder makes are images to libwebp too.
func TestPeersReadRandomStreams(t *testing.T) {
	need(t, "dwebp")
	for seed := range uint64(codectest.Rounds(100)) {
		s, want := randomStream(rand.New(rand.NewPCG(13, seed)))
		f := &file{width: s.Width, height: s.Height, alpha: true, bitstream: s.Write(testimages.Pools[0])}
		data, err := f.write()
		if err != nil {
			t.Fatal(err)
		}
		got := loaded(testimages.Pools[0], dwebp(t, data), true)
		if err := samePixels(got, want); err != nil {
			t.Errorf("stream %d: %v", seed, err)
		}
	}
}

// Files of cwebp, at all its levels and with metadata, are files of the codec.
func TestWeReadFilesOfPeers(t *testing.T) {
	need(t, "cwebp")
	dir := t.TempDir()
	for i, m := range samples() {
		if i%9 != 0 {
			continue
		}
		png, err := imageio.Encode(m, "png")
		if err != nil {
			t.Fatal(err)
		}
		in, out := filepath.Join(dir, "a.png"), filepath.Join(dir, "a.webp")
		if err := os.WriteFile(in, png, 0o666); err != nil {
			t.Fatal(err)
		}
		command(t, "cwebp", "-quiet", "-exact", "-z", fmt.Sprint(i%10), "-metadata", "all", in, "-o", out)
		file, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decoded(file)
		if err != nil {
			t.Fatalf("picture %d, %s: %v", i, m.Shape, err)
		}
		want, err := imageio.Decode(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if rgba(got).Hash() != rgba(want).Hash() {
			t.Errorf("picture %d, %s: the codec sees another picture than imageio", i, m.Shape)
		}
		if m.Meta.EXIF == nil && rgba(got).Hash() != rgba(m).Hash() {
			t.Errorf("picture %d, %s: comes back as %s with other samples", i, m.Shape, got.Shape)
		}
		if !bytes.Equal(got.Meta.ICC, m.Meta.ICC) {
			t.Errorf("picture %d: an ICC profile of %d bytes, want %d", i, len(got.Meta.ICC), len(m.Meta.ICC))
		}
	}
}

// A lossy file is not one of the codec, but a good file.
func TestLossyFilesOfPeersAreUnsupported(t *testing.T) {
	need(t, "cwebp")
	for _, m := range samples() {
		if m.Width < 16 {
			continue
		}
		png, err := imageio.Encode(m, "png")
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		in, out := filepath.Join(dir, "a.png"), filepath.Join(dir, "a.webp")
		if err := os.WriteFile(in, png, 0o666); err != nil {
			t.Fatal(err)
		}
		command(t, "cwebp", "-quiet", in, "-o", out)
		file, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		_, err = decoded(file)
		if u := (*codec.UnsupportedError)(nil); !errors.As(err, &u) {
			t.Errorf("%s: %v, want an UnsupportedError", m.Shape, err)
		}
		if m.Width > 16 {
			return
		}
	}
}
