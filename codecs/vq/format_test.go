package vq

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

var update = flag.Bool("update", false, "write the golden files")

// scene is an image with smooth, flat, sharp and noisy parts, made in integers.
func scene(w, h, d, channels int) *raster.Image {
	m := raster.New(w, h, d, channels, 8)
	r := rand.New(rand.NewPCG(11, 12))
	i := 0
	for z := range d {
		for y := range h {
			for x := range w {
				v := (x*x/7 + y*3 + z*20) % 256
				switch {
				case x/9%3 == 1 && y/11%3 == 1:
					v = 200
				case (x-y)%13 == 0:
					v = 10
				case x > w*3/4:
					v = r.IntN(256)
				}
				for c := range channels {
					m.Pix[i] = byte(v * (4 - c) / 4)
					i++
				}
			}
		}
	}
	return m
}

func mustOptions(t testing.TB, pairs ...string) *Options {
	t.Helper()
	o, err := Codec{}.Options(pairs)
	if err != nil {
		t.Fatal(err)
	}
	return o.(*Options)
}

func mustEncode(t testing.TB, m *raster.Image, o codec.Options) []byte {
	t.Helper()
	e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)
	if e[0].Err != nil {
		t.Fatal(e[0].Err)
	}
	return e[0].Data
}

func decodeOne(file []byte, assets codec.Assets) (*raster.Image, error) {
	d := Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{file}, assets)
	return d[0].Image, d[0].Err
}

var golden = []struct {
	name    string
	m       *raster.Image
	options []string
}{
	{"grey", scene(45, 37, 1, 1), []string{"n=24"}},
	{"grey-raw-8x8", scene(45, 37, 1, 1), []string{"n=5", "block=8x8", "index=raw"}},
	{"rgb-420", scene(41, 30, 1, 3), []string{"n=20"}},
	{"rgb-444-split", scene(31, 30, 1, 3), []string{"n=20", "chroma=444", "chroma-n=6", "train=split", "block=4x2"}},
	{"frames", frames(scene(19, 18, 3, 1)), []string{"n=16", "block=2x2"}},
}

func frames(m *raster.Image) *raster.Image {
	m.Frames = true
	m.Meta.Spacing = [3]float64{0.5, 0.25, 3}
	return m
}

// The bytes of files never change without a new version of the codec, and the
// decoder that was written from README.md reads them.
func TestGolden(t *testing.T) {
	for _, g := range golden {
		got := mustEncode(t, g.m, mustOptions(t, g.options...))
		path := filepath.Join("testdata", g.name+".vq")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			os.WriteFile(path+".got", got, 0o644)
			t.Errorf("%s: other bytes than %s (see %s.got)", g.name, path, path)
		}
		m, err := decodeOne(want, nil)
		if err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		if ref := refDecode(want, nil); !bytes.Equal(m.Pix, ref) {
			t.Errorf("%s: decode differs from the reference decoder", g.name)
		}
	}
}

// Tables of more than one segment, codebooks whose index is longer than 8 bits, and a
// shared codebook, against the reference decoder.
func TestAgainstReferenceDecoder(t *testing.T) {
	for _, c := range []struct {
		m       *raster.Image
		options []string
	}{
		{scene(600, 450, 1, 1), []string{"block=2x2", "n=12", "passes=2"}},
		{scene(300, 200, 1, 3), []string{"n=600", "chroma-n=300", "passes=2"}},
		{scene(65, 63, 2, 3), []string{"n=64", "block=8x8"}},
		{scene(1, 1, 1, 3), nil},
	} {
		if testing.Short() && c.m.Width > 400 {
			continue
		}
		file := mustEncode(t, c.m, mustOptions(t, c.options...))
		got, err := decodeOne(file, nil)
		if err != nil {
			t.Fatalf("%s, %q: %v", c.m.Shape, c.options, err)
		}
		if !bytes.Equal(got.Pix, refDecode(file, nil)) {
			t.Errorf("%s, %q: decode differs from the reference decoder", c.m.Shape, c.options)
		}
	}
	m := scene(90, 70, 1, 3)
	asset, err := Codec{}.Train(context.Background(), codec.Run{}, []*raster.Image{m}, mustOptions(t, "codebook=job", "n=32"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := mustOptions(t, "codebook=job", "n=32").WithAsset(asset)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*raster.Image{m, scene(33, 44, 1, 1)} {
		file := mustEncode(t, m, o)
		got, err := decodeOne(file, func(context.Context, string) ([]byte, error) { return asset, nil })
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Pix, refDecode(file, asset)) {
			t.Errorf("%s: decode with a shared codebook differs from the reference decoder", m.Shape)
		}
	}
}

func TestBlocksFewerThanCodewordsAreLossless(t *testing.T) {
	m := scene(40, 40, 1, 1)
	got, err := decodeOne(mustEncode(t, m, nil), nil)
	if err != nil || got.Hash() != m.Hash() {
		t.Errorf("100 blocks with 256 codewords do not come back as they were (%v)", err)
	}
}

func TestMetaSurvives(t *testing.T) {
	m := frames(scene(9, 9, 2, 1))
	m.Meta.ICC = []byte("profile")
	got, err := decodeOne(mustEncode(t, m, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Meta.Spacing != m.Meta.Spacing || !got.Frames {
		t.Errorf("meta comes back as %+v", got.Meta)
	}
	if got.Meta.ICC != nil {
		t.Error("the documentation says that ICC profiles are not carried")
	}
}

func TestSixteenBitIsSaidClearly(t *testing.T) {
	e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(raster.New(8, 8, 1, 1, 16)), nil)
	if want := "vq: 16-bit samples; vq takes 8-bit samples only"; e[0].Err == nil || e[0].Err.Error() != want {
		t.Errorf("16-bit picture: %v, want %q", e[0].Err, want)
	}
}

// edit changes bytes of a file's header and makes its checksum right again.
func edit(file []byte, at int, b ...byte) []byte {
	out := bytes.Clone(file)
	copy(out[at:], b)
	ext := int(binary.LittleEndian.Uint32(file[28:]))
	binary.LittleEndian.PutUint32(out[44:], checksum(out[:44], out[48:48+ext]))
	return out
}

// Headers that lie are found out by what they say, not by the checksum.
func TestHeaderIsChecked(t *testing.T) {
	file := mustEncode(t, scene(45, 37, 1, 1), mustOptions(t, "n=24"))
	colour := mustEncode(t, frames(scene(45, 37, 1, 3)), mustOptions(t, "n=24"))
	raw := mustEncode(t, scene(45, 37, 1, 1), mustOptions(t, "n=24", "index=raw"))
	for _, c := range []struct {
		name string
		file []byte
		want string
		kind any
	}{
		{"other format", []byte("\x89PNG\r\n\x1a\n............................................"), "not a vq file", new(*codec.FormatError)},
		{"short", file[:47], "shorter than its header", new(*codec.FormatError)},
		{"version", edit(file, 8, 2), "version 2", new(*codec.UnsupportedError)},
		{"flag", edit(file, 9, 0x80), "flags 0x80", new(*codec.UnsupportedError)},
		{"half without colour", edit(file, 9, flagHalf), "codewords", new(*codec.FormatError)},
		{"block", edit(file, 10, 3, 5), "blocks of 3x5", new(*codec.UnsupportedError)},
		{"no width", edit(file, 12, 0, 0, 0, 0), "picture of 0 x 37 x 1", new(*codec.FormatError)},
		{"width", edit(file, 12, 0, 0, 1, 0), "picture of 65536 x 37 x 1", new(*codec.FormatError)},
		{"1x1 that claims 65535 x 65535", edit(file, 12, 0xff, 0xff, 0, 0, 0xff, 0xff, 0, 0), "over the limit", new(*codec.FormatError)},
		{"larger than its table", edit(file, 12, 0xff, 0xff, 0, 0, 0, 0x40, 0, 0), "at least", new(*codec.FormatError)},
		{"larger than its plain table", edit(raw, 12, 46, 0, 0, 0, 80, 0, 0, 0), "at least", new(*codec.FormatError)},
		{"no codewords", edit(file, 24, 0, 0), "codewords", new(*codec.FormatError)},
		{"many codewords", edit(file, 24, 1, 16), "codewords", new(*codec.FormatError)},
		{"chroma of grey", edit(file, 26, 1, 0), "codewords", new(*codec.FormatError)},
		{"no chroma", edit(colour, 26, 0, 0), "codewords", new(*codec.FormatError)},
		{"more codewords than blocks", edit(file, 24, 121, 0), "121 codewords for 120 blocks", new(*codec.FormatError)},
		{"shared without a hash", edit(file, 9, flagShared), "shared", new(*codec.FormatError)},
		{"codebook size", edit(file, 32, 0xff, 0xff, 0xff, 0xff), "sections", new(*codec.FormatError)},
		{"table size", edit(file, 36, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "sections", new(*codec.FormatError)},
		{"unknown mandatory extension", edit(colour, 48, 0x7f), "extension 0x7f", new(*codec.UnsupportedError)},
		{"extension of the wrong size", edit(colour, 48, tagCodebook), "extension 0x1 of 24", new(*codec.FormatError)},
		{"extension cut", edit(colour, 49, 25), "cut", new(*codec.FormatError)},
		{"spacing", edit(colour, 56, 0xff, 0xff), "spacing NaN", new(*codec.FormatError)},
	} {
		_, err := decodeOne(c.file, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, c.kind) {
			t.Errorf("%s: %T %v, want %T with %q", c.name, err, err, c.kind, c.want)
		}
		if _, err := (Codec{}).Header(c.file); err == nil {
			t.Errorf("%s: inspect takes it", c.name)
		}
	}
	if m, err := decodeOne(edit(colour, 48, 0xfe), nil); err != nil || m.Meta.Spacing != [3]float64{} {
		t.Errorf("unknown extension from 0x80 on is not skipped: %v", err)
	}
}

func TestHeaderFields(t *testing.T) {
	h, err := Codec{}.Header(mustEncode(t, frames(scene(45, 37, 2, 3)), mustOptions(t, "n=24")))
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(h.Fields)
	for _, want := range []string{"45 x 37, 2 frames", "RGB, chroma 4:2:0", "4x4", "24 and 6 for chroma", "0.5 0.25 3 mm"} {
		if !strings.Contains(text, want) {
			t.Errorf("the header says %q, want %q in it", text, want)
		}
	}
}

// FuzzDecode gives the decoder files whose section sizes and checksums are right, so
// that it gets to what they protect.
func FuzzDecode(f *testing.F) {
	for _, g := range golden {
		f.Add(mustEncode(f, g.m, mustOptions(f, g.options...)))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		Codec{}.Header(file)
		if len(file) < headerSize+8 {
			return
		}
		file = bytes.Clone(file)
		le := binary.LittleEndian
		room := len(file) - headerSize - 8
		ext := min(int(le.Uint32(file[28:])), room)
		book := min(int(le.Uint32(file[32:])), room-ext)
		table := room - ext - book
		le.PutUint32(file[28:], uint32(ext))
		le.PutUint32(file[32:], uint32(book))
		le.PutUint64(file[36:], uint64(table))
		le.PutUint32(file[44:], checksum(file[:44], file[48:48+ext]))
		sections := file[headerSize+ext:]
		le.PutUint32(sections[book:], checksum(sections[:book]))
		le.PutUint32(sections[book+4+table:], checksum(sections[book+4:book+4+table]))
		if w, h, d := le.Uint32(file[12:]), le.Uint32(file[16:]), le.Uint32(file[20:]); uint64(w)*uint64(h) > 1<<22 || uint64(w)*uint64(h)*uint64(d) > 1<<22 {
			return // legal, and too slow here
		}
		m, err := decodeOne(file, nil)
		if err == nil && len(m.Pix) != m.Size() {
			t.Fatal("no error and no whole picture")
		}
		var fe *codec.FormatError
		var ue *codec.UnsupportedError
		if err != nil && !errors.As(err, &fe) && !errors.As(err, &ue) && !strings.Contains(err.Error(), "shared codebook") {
			t.Fatalf("%T: %v", err, err)
		}
	})
}

func FuzzAsset(f *testing.F) {
	asset, err := Codec{}.Train(context.Background(), codec.Run{}, []*raster.Image{scene(40, 40, 1, 3)}, mustOptions(f, "codebook=job", "n=16"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(asset)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= assetHeader+4 {
			data = bytes.Clone(data)
			binary.LittleEndian.PutUint32(data[20:], checksum(data[:20]))
			binary.LittleEndian.PutUint32(data[len(data)-4:], checksum(data[assetHeader:len(data)-4]))
		}
		b, err := parseAsset(data)
		if err != nil {
			return
		}
		if again, err := parseAsset(marshalAsset(b)); err != nil || !bytes.Equal(again.luma.words, b.luma.words) {
			t.Fatalf("a codebook file does not survive being written again: %v", err)
		}
	})
}
