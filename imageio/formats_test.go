package imageio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	segments "github.com/pelmill/pelmill/internal/container/jpeg"
	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/raster"
)

// Both kinds of error are told apart, and the sentence names the reason.
func TestKinds(t *testing.T) {
	be := binary.BigEndian
	tiff := func(change func(dir map[uint16][]byte, data []byte)) []byte {
		data, err := Encode(pattern(9, 5, 1, 3, 8), "tiff")
		if err != nil {
			t.Fatal(err)
		}
		dir := map[uint16][]byte{}
		at := int(binary.LittleEndian.Uint32(data[4:]))
		for i := range int(binary.LittleEndian.Uint16(data[at:])) {
			e := data[at+2+12*i:][:12]
			dir[binary.LittleEndian.Uint16(e)] = e[8:]
		}
		change(dir, data)
		return data
	}
	le := binary.LittleEndian
	set := func(tag uint16, v uint32) []byte {
		return tiff(func(dir map[uint16][]byte, _ []byte) { le.PutUint32(dir[tag], v) })
	}
	nii := func(change func(head []byte)) []byte {
		data, err := Encode(pattern(4, 3, 2, 1, 16), "nii")
		if err != nil {
			t.Fatal(err)
		}
		change(data)
		return data
	}
	jpg := func(marker byte) []byte {
		data := asJPEG(t, pattern(8, 8, 1, 1, 8), 90)
		data[bytes.Index(data, []byte{0xff, 0xc0})+1] = marker
		return data
	}
	apng := func(frames uint32) []byte {
		data, err := Encode(pattern(3, 3, 1, 3, 8), "png")
		if err != nil {
			t.Fatal(err)
		}
		b := png.Append(bytes.Clone(data[:33]), "acTL", be.AppendUint32(be.AppendUint32(nil, frames), 0))
		return append(b, data[33:]...)
	}
	for _, c := range []struct {
		name        string
		data        []byte
		unsupported bool
		want        string
	}{
		{"empty", nil, false, "the file is empty"},
		{"text", []byte("hello\n"), true, "its first bytes are those of no format"},
		{"zeros", make([]byte, 4096), true, "its first bytes are those of no format"},
		{"two bytes of jpeg", []byte("\xff\xd8 and a text"), true, "its first bytes are those of no format"},
		{"pdf", []byte("%PDF-1.7\n"), true, "PDF"},
		{"heic", []byte("\x00\x00\x00\x18ftypheic\x00\x00"), true, "heic"},
		{"jpeg 2000", []byte("\x00\x00\x00\x0cjP  \r\n\x87\n"), false, "no codestream"},
		{"dicom cut in its meta information", append(append(make([]byte, 128), "DICM"...), 2, 0, 0, 0), false, "ends with its file meta information"},
		{"dicom without a transfer syntax", append(append(make([]byte, 128), "DICM"...), "\x08\x00\x60\x00CS\x02\x00CT"...), true, "transfer syntax"},
		{"gzip of text", zip([]byte("hello")), true, "gzip"},
		{"big tiff", []byte("II+\x00\x08\x00\x00\x00"), false, "ends in the middle"},

		{"png depth", append(append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01"), 99, 0, 0, 0, 0), 0, 0, 0, 0), false, "99 bits"},
		{"lossless jpeg", jpg(0xc3), true, "lossless JPEG"},
		{"hierarchical jpeg", jpg(0xc5), true, "hierarchical"},
		{"animated webp", []byte("RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"), false, "without frames"},
		{"bmp header", append([]byte("BM"), make([]byte, 40)...), true, "header of 0 bytes"},

		{"tiff circle", tiff(func(_ map[uint16][]byte, data []byte) {
			at := le.Uint32(data[4:])
			le.PutUint32(data[int(at)+2+12*int(le.Uint16(data[at:])):], at)
		}), false, "runs in a circle"},
		{"tiff without pages", []byte("II*\x00\x00\x00\x00\x00"), false, "no page"},
		{"tiff directory beyond", []byte("II*\x00\xff\xff\xff\xff"), false, "ends in the middle"},
		{"tiff strips beyond", set(tagStripCounts, 1<<30), false, "ends in the middle"},
		{"tiff strip offset beyond", set(tagStripOffsets, 1<<31), false, "ends in the middle"},
		{"tiff compression", set(tagCompression, 6), true, "compression 6"},
		{"tiff colours", set(tagPhotometric, 8), true, "colour space 8"},
		{"tiff strips missing", set(tagRowsPerStrip, 1), false, "of 5 strips"},
		{"tiff no rows", set(tagRowsPerStrip, 0), false, "no rows"},
		{"tiff huge", set(tagWidth, math.MaxUint32), false, "over the limit"},

		{"nii floats", nii(func(b []byte) { le.PutUint16(b[70:], 16) }), true, "32-bit floats"},
		{"nii type", nii(func(b []byte) { le.PutUint16(b[70:], 77) }), false, "data type 77"},
		{"nii bits", nii(func(b []byte) { le.PutUint16(b[72:], 8) }), false, "the header says 8"},
		{"nii series", nii(func(b []byte) { le.PutUint16(b[40:], 4); le.PutUint16(b[48:], 9) }), true, "series of 9"},
		{"nii negative", nii(func(b []byte) { le.PutUint16(b[42:], 0xffff) }), false, "-1 x 3 x 2"},
		{"nii pair", nii(func(b []byte) { copy(b[344:], "ni1") }), true, "another file"},
		{"nii offset", nii(func(b []byte) { le.PutUint32(b[108:], math.Float32bits(float32(math.NaN()))) }), false, "start at NaN"},
		{"nii tail", append(nii(func([]byte) {}), 1, 2, 3), false, "more samples"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode(c.data, nil)
			var u *UnsupportedError
			if err == nil || errors.As(err, &u) != c.unsupported || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v (%T), want %q, unsupported %v", err, err, c.want, c.unsupported)
			}
			oneSentence(t, c.name, err)
		})
	}
	if _, err := Decode(apng(1), nil); err != nil {
		t.Errorf("an animation of one frame is a picture: %v", err)
	}
}

// Volumes keep sign, byte order and spacing.
func TestNIfTI(t *testing.T) {
	m := pattern(7, 5, 3, 1, 16)
	m.Signed = true
	m.Meta.Spacing = [3]float64{0.5, 0.75, 2}
	data, err := Encode(m, "nii")
	if err != nil {
		t.Fatal(err)
	}
	big := bytes.Clone(data)
	for _, f := range []struct{ at, width, n int }{{0, 4, 1}, {40, 2, 8}, {70, 2, 2}, {76, 4, 8}, {108, 4, 3}, {352, 2, m.Samples()}} {
		for i := range f.n {
			b := big[f.at+i*f.width:][:f.width]
			for x, y := 0, f.width-1; x < y; x, y = x+1, y-1 {
				b[x], b[y] = b[y], b[x]
			}
		}
	}
	micro := bytes.Clone(data)
	micro[123] = 3
	for name, c := range map[string]struct {
		data  []byte
		scale float64
	}{"little": {data, 1}, "big": {big, 1}, "gzip": {zip(big), 1}, "micrometres": {micro, 0.001}} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(c.data, nil)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, m)
			for i, v := range m.Meta.Spacing {
				if math.Abs(got.Meta.Spacing[i]-v*c.scale) > 1e-9 {
					t.Errorf("spacing %v, want %v times %g", got.Meta.Spacing, m.Meta.Spacing, c.scale)
				}
			}
			if got.Frames {
				t.Error("a volume is not a series of frames")
			}
		})
	}
	cut := zip(data)
	cut[len(cut)-5] ^= 1 // in the checksum
	if _, err := Decode(cut, nil); err == nil {
		t.Error("a wrong checksum of gzip goes unnoticed")
	}
}

// Real volumes of three scanners have the shapes that their origin tells.
func TestRealVolumes(t *testing.T) {
	for name, want := range map[string][3]int{"CT_pitch": {175, 248, 58}, "CT_AVM": {256, 242, 154}, "spm152": {207, 256, 215}} {
		path := filepath.Join("..", "..", "shared", "data", "volumes", name+".nii.gz")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Skipf("SKIPPED: the shared data are not part of the project: %v", err)
		}
		m, err := Decode(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]int{m.Width, m.Height, m.Depth}; got != want || m.Bits != 8 || m.Channels != 1 || m.Meta.Spacing[0] == 0 {
			t.Errorf("%s: %s with spacing %v, want %v", name, m.Shape, m.Meta.Spacing, want)
		}
	}
}

// Profile, EXIF block and spacing survive what has a place for them.
func TestMeta(t *testing.T) {
	m := pattern(5, 4, 1, 3, 8)
	m.Meta.ICC = bytes.Repeat([]byte("profile "), 500)
	m.Meta.EXIF = exifBlock(binary.LittleEndian, 1)
	data, err := Encode(m, "png")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Meta.ICC, m.Meta.ICC) || !bytes.Equal(got.Meta.EXIF, m.Meta.EXIF) {
		t.Error("png loses the profile or the EXIF block")
	}
	if data, err = Encode(m, "tiff"); err != nil {
		t.Fatal(err)
	}
	if got, err = Decode(data, nil); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Meta.ICC, m.Meta.ICC) {
		t.Error("tiff loses the profile")
	}

	// Three segments out of order, as ICC.1 allows.
	jpg := asJPEG(t, m, 90)
	seg := func(number byte, part string) []byte {
		s := append([]byte{0xff, segments.APP2, 0, 0}, "ICC_PROFILE\x00"...)
		s = append(append(s, number, 3), part...)
		binary.BigEndian.PutUint16(s[2:], uint16(len(s)-2))
		return s
	}
	parts := bytes.Join([][]byte{{0xff, 0xd8}, seg(2, "b"), seg(3, "c"), seg(1, "a"), jpg[2:]}, nil)
	if got, err = Decode(parts, nil); err != nil || string(got.Meta.ICC) != "abc" {
		t.Errorf("profile %q, error %v", got.Meta.ICC, err)
	}
	missing := bytes.Join([][]byte{{0xff, 0xd8}, seg(2, "b"), seg(3, "c"), jpg[2:]}, nil)
	if got, err = Decode(missing, nil); err != nil || got.Meta.ICC != nil {
		t.Errorf("an incomplete profile: %q, error %v", got.Meta.ICC, err)
	}
	data[0] ^= 0xff
	if bytes.Equal(got.Pix, data[:len(got.Pix)]) {
		t.Error("the picture shares memory with the file")
	}
}

// Premultiplied TIFF colours are divided by alpha.
func TestPremultiplied(t *testing.T) {
	m := scene(16, 16, 4, func(x, y, c int) int {
		if c == 3 {
			return y * 17
		}
		return x * 17 * (y * 17) / 255
	})
	data, err := Encode(m, "tiff")
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	at := int(le.Uint32(data[4:]))
	for i := range int(le.Uint16(data[at:])) {
		if e := data[at+2+12*i:]; le.Uint16(e) == tagExtraSamples {
			le.PutUint16(e[8:], tiffPremultiplied)
		}
	}
	got, err := Decode(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < got.Samples(); i += 4 {
		x, a := i/4%16*17, got.Sample(i+3)
		if a == 0 {
			continue
		}
		// One unit of a premultiplied sample is 255/a units of a straight one.
		if d := got.Sample(i) - x; d > 255/a+1 || -d > 255/a+1 {
			t.Errorf("alpha %d: %d, want about %d", a, got.Sample(i), x)
		}
	}
}

// The images that golang.org/x/image tests itself with, and their PNG forms:
// made by many programs, and chosen to be odd.
func TestOthersImages(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/image").Output()
	dir := filepath.Join(strings.TrimSpace(string(out)), "testdata")
	if _, statErr := os.Stat(dir); err != nil || statErr != nil {
		skip(t, fmt.Sprintf("the source of golang.org/x/image is not at hand: %v %v", err, statErr))
	}
	for file, want := range map[string]string{
		"bmp_1bpp.bmp": "bmp_1bpp.png", "bmp_4bpp.bmp": "bmp_4bpp.png", "bmp_8bpp.bmp": "bmp_8bpp.png",
		"colormap.bmp": "colormap.png", "colormap-0.bmp": "colormap-0.png", "colormap-251.bmp": "colormap-251.png",
		"video-001.bmp": "video-001.png", "yellow_rose-small.bmp": "yellow_rose-small.png", "yellow_rose-small-v5.bmp": "yellow_rose-small-v5.png",
		"blue-purple-pink.lzwcompressed.tiff": "blue-purple-pink.png", "bw-deflate.tiff": "bw-packbits.tiff", "bw-uncompressed.tiff": "bw-packbits.tiff",
		"bw-gopher_ccittGroup3.tiff": "bw-gopher.png", "bw-gopher_ccittGroup4.tiff": "bw-gopher.png",
		"video-001.tiff": "video-001.png", "video-001-strip-64.tiff": "video-001.png", "video-001-tile-64x64.tiff": "video-001.png", "video-001-uncompressed.tiff": "video-001.png",
		"video-001-paletted.tiff":             "",
		"video-001-gray.tiff":                 "",
		"video-001-16bit.tiff":                "",
		"video-001-gray-16bit.tiff":           "",
		"no_compress.tiff":                    "",
		"no_rps.tiff":                         "",
		"blue-purple-pink.lossless.webp":      "blue-purple-pink.png",
		"gopher-doc.1bpp.lossless.webp":       "gopher-doc.1bpp.png",
		"gopher-doc.2bpp.lossless.webp":       "gopher-doc.2bpp.png",
		"gopher-doc.4bpp.lossless.webp":       "gopher-doc.4bpp.png",
		"gopher-doc.8bpp.lossless.webp":       "gopher-doc.8bpp.png",
		"gopher-doc.with-alpha.lossless.webp": "gopher-doc.with-alpha.png",
		"tux.lossless.webp":                   "tux.png",
		"yellow_rose.lossless.webp":           "yellow_rose.png",
		"yellow_rose.lossy-with-alpha.webp":   "",
	} {
		t.Run(file, func(t *testing.T) {
			got := decodeFile(t, filepath.Join(dir, file))
			if want == "" {
				return
			}
			ref := decodeFile(t, filepath.Join(dir, want))
			if got.Channels == 4 {
				got = raster.DropOpaqueAlpha(got)
			}
			if ref.Channels == 4 {
				ref = raster.DropOpaqueAlpha(ref)
			}
			if got.Channels == 1 && ref.Channels == 3 {
				got = threeChannels(got)
			}
			if ref.Channels == 1 && got.Channels == 3 {
				ref = threeChannels(ref)
			}
			same(t, visible(got), visible(ref))
		})
	}
}
