package imageio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/image/bmp"

	"github.com/pelmill/pelmill/raster"
)

func palettePNG(t testing.TB, m *image.Paletted) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zip(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

// goodFiles are small sound files, at least one for every reader and for every
// way through it that our encoders or those of the standard library can write.
// WebP files and what else needs a peer lie in testdata/good.
func goodFiles(t testing.TB) map[string][]byte {
	files := map[string][]byte{}
	put := func(name, format string, m *raster.Image) {
		data, err := Encode(m, format)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
	}
	put("grey.png", "png", pattern(9, 5, 1, 1, 8))
	put("grey-alpha.png", "png", pattern(9, 5, 1, 2, 8))
	put("rgb16.png", "png", pattern(5, 4, 1, 3, 16))
	meta := pattern(6, 5, 1, 4, 8)
	meta.Meta.ICC = []byte("not a profile, but kept")
	meta.Meta.EXIF = exifBlock(binary.BigEndian, 1)
	put("rgba-meta.png", "png", meta)
	put("grey.pgm", "pnm", pattern(9, 5, 1, 1, 8))
	put("rgb10.ppm", "pnm", pattern(4, 5, 1, 3, 10))
	put("alpha.pam", "pnm", pattern(4, 5, 1, 4, 16))
	put("frames.pgm", "pnm", pattern(4, 5, 3, 1, 8))
	put("rgb.tiff", "tiff", pattern(9, 5, 1, 3, 8))
	put("grey12.tiff", "tiff", pattern(9, 5, 1, 1, 12))
	put("pages.tiff", "tiff", pattern(4, 5, 3, 2, 16))
	put("volume.nii", "nii", pattern(4, 5, 3, 1, 16))
	put("rgb.nii", "nii", pattern(4, 5, 3, 3, 8))
	files["volume.nii.gz"] = zip(files["volume.nii"])
	files["text.ppm"] = []byte("P3\n# text\n2 2 255\n1 2 3 4 5 6 7 8 9 10 11 12\n")
	files["grey10.j2k"], files["grey10.jp2"] = greyCodestream, greyJP2()
	files["bits.pbm"] = []byte("P4\n9 2\n\x80\xff\x7f\x00")

	pal := color.Palette{color.RGBA{1, 2, 3, 255}, color.RGBA{200, 100, 50, 255}, color.RGBA{}}
	p := image.NewPaletted(image.Rect(0, 0, 9, 5), pal)
	scribble(p, false)
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	files["palette.png"] = bytes.Clone(b.Bytes())
	b.Reset()
	if err := gif.Encode(&b, p, nil); err != nil {
		t.Fatal(err)
	}
	files["still.gif"] = bytes.Clone(b.Bytes())
	b.Reset()
	part := image.NewPaletted(image.Rect(2, 1, 6, 4), pal)
	scribble(part, false)
	if err := gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{p, part, part}, Delay: []int{1, 1, 1}, Disposal: []byte{1, 2, 3}}); err != nil {
		t.Fatal(err)
	}
	files["frames.gif"] = bytes.Clone(b.Bytes())
	rgba := opaque(image.NewNRGBA(image.Rect(0, 0, 9, 5)))
	scribble(rgba, false)
	for name, img := range map[string]image.Image{"rgb.bmp": rgba, "palette.bmp": image.NewPaletted(rgba.Rect, pal[:2])} {
		b.Reset()
		if err := bmp.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		files[name] = bytes.Clone(b.Bytes())
	}
	files["grey.jpg"] = asJPEG(t, pattern(9, 5, 1, 1, 8), 80)
	files["turned.jpg"] = withEXIF(asJPEG(t, pattern(9, 5, 1, 3, 8), 80), exifBlock(binary.LittleEndian, 6))
	names, err := filepath.Glob(filepath.Join("testdata", "good", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = data
	}
	return files
}

// exifBlock is an EXIF block with an orientation and one field before it.
func exifBlock(order binary.ByteOrder, orientation uint16) []byte {
	b := make([]byte, 8+2+2*12+4)
	copy(b, "II*\x00")
	if order == binary.BigEndian {
		copy(b, "MM\x00*")
	}
	order.PutUint32(b[4:], 8)
	order.PutUint16(b[8:], 2)
	for i, f := range []struct{ tag, v uint16 }{{270, 0}, {tagOrientation, orientation}} {
		e := b[10+12*i:]
		order.PutUint16(e, f.tag)
		order.PutUint16(e[2:], 3)
		order.PutUint32(e[4:], 1)
		order.PutUint16(e[8:], f.v)
	}
	return b
}

// withEXIF puts an APP1 segment behind the start of a JPEG file.
func withEXIF(jpg, exif []byte) []byte {
	seg := append([]byte("\xff\xe1\x00\x00Exif\x00\x00"), exif...)
	binary.BigEndian.PutUint16(seg[2:], uint16(len(seg)-2))
	return append(append([]byte("\xff\xd8"), seg...), jpg[2:]...)
}

// bigClaims are files of a 1x1 image whose headers claim 65,535 x 65,535, or
// the most that the format can say.
func bigClaims(t testing.TB) map[string][]byte {
	one := pattern(1, 1, 1, 3, 8)
	enc := func(format string) []byte {
		data, err := Encode(one, format)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	be, le := binary.BigEndian, binary.LittleEndian
	p := enc("png")
	be.PutUint32(p[16:], 65535)
	be.PutUint32(p[20:], 65535)
	be.PutUint32(p[29:], crc32.ChecksumIEEE(p[12:29]))

	good := goodFiles(t)
	j := bytes.Clone(good["grey.jpg"])
	sof := bytes.Index(j, []byte{0xff, 0xc0})
	be.PutUint16(j[sof+5:], 65535)
	be.PutUint16(j[sof+7:], 65535)

	tif := enc("tiff")
	dir := le.Uint32(tif[4:])
	for i := range int(le.Uint16(tif[dir:])) {
		e := tif[int(dir)+2+12*i:]
		if tag := le.Uint16(e); tag == tagWidth || tag == tagLength {
			le.PutUint32(e[8:], 65535)
		}
	}
	g := bytes.Clone(good["still.gif"])
	for _, at := range []int{6, 8, bytes.IndexByte(g[13:], 0x2c) + 13 + 5, bytes.IndexByte(g[13:], 0x2c) + 13 + 7} {
		le.PutUint16(g[at:], 65535)
	}
	b := bytes.Clone(good["rgb.bmp"])
	le.PutUint32(b[18:], 65535)
	le.PutUint32(b[22:], 65535)
	n := bytes.Clone(good["volume.nii"])
	le.PutUint16(n[42:], 32767)
	le.PutUint16(n[44:], 32767)
	vp8l := "VP8L\x05\x00\x00\x00\x2f\x00\x00\x00\x00\x00"
	x := []byte("RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xfe\xff\x00\xfe\xff\x00" + vp8l)
	le.PutUint32(x[4:], uint32(len(x)-8))
	l := []byte("RIFF\x12\x00\x00\x00WEBPVP8L\x05\x00\x00\x00\x2f\xff\xff\xff\x0f\x00")
	return map[string][]byte{
		"claims-65535.png": p, "claims-65535.jpg": j, "claims-65535.tiff": tif, "claims-65535.gif": g,
		"claims-65535.bmp": b, "claims-32767.nii": n, "claims-32767.nii.gz": zip(n), "claims-65535.webp": x, "claims-16384.webp": l,
		"claims-65535.ppm": []byte("P6\n65535 65535\n255\nabc"), "claims-65535-text.ppm": []byte("P3\n65535 65535\n255\n1 2 3\n"),
		"claims-65535.pam": []byte("P7\nWIDTH 65535\nHEIGHT 65535\nDEPTH 4\nMAXVAL 65535\nENDHDR\nabcdefgh"),
		// 34 bytes, of which a decoder without limits makes 4 GiB of indices.
		"four-gib.gif": []byte("GIF89a\xff\xff\xff\xff\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\xff\xff\xff\xff\x00\x02\x02D\x01\x00"),
	}
}

// Every claim is refused as over a limit, from the header alone, and costs no
// memory.
func TestBigClaims(t *testing.T) {
	for name, data := range bigClaims(t) {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, errHeader := ReadHeader(data, nil)
			_, errDecode := Decode(data, nil)
			runtime.ReadMemStats(&after)
			for _, err := range []error{errHeader, errDecode} {
				var r *RejectedError
				if !errors.As(err, &r) || !r.Limit {
					t.Errorf("error %v, want a rejection for a limit", err)
				}
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
				t.Errorf("it cost %d bytes of memory", n)
			}
		})
	}
}

// Files that lie in testdata/bad are there for tests of other packages too: each
// is refused.
func TestBadFiles(t *testing.T) {
	dir := filepath.Join("testdata", "bad")
	made := bigClaims(t)
	for name, data := range goodFiles(t) {
		switch name {
		case "grey.png", "grey.jpg", "grey.pgm", "rgb.tiff", "rgb.bmp", "still.gif", "volume.nii.gz", "lossy.webp", "lossless.webp":
			made["cut-"+name] = data[:len(data)/2]
		}
	}
	made["empty.png"] = nil
	made["text.png"] = []byte("This is a letter and no picture.\n")
	broken := bytes.Clone(goodFiles(t)["grey.png"])
	broken[len(broken)-20] ^= 0xff
	made["flipped.png"] = broken
	if *update {
		for name, data := range made {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) < len(made) {
		t.Fatalf("%d files in %s, want %d (error %v); see -update", len(names), dir, len(made), err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := Decode(data, nil); err == nil {
			t.Errorf("%s: decoded to %s", name, m.Shape)
		} else {
			oneSentence(t, name, err)
		}
	}
}

// oneSentence fails unless err is of one of our types and reads as one line.
func oneSentence(t *testing.T, name string, err error) {
	t.Helper()
	var r *RejectedError
	var u *UnsupportedError
	if !errors.As(err, &r) && !errors.As(err, &u) {
		t.Errorf("%s: error %v is of type %T", name, err, err)
	}
	if s := err.Error(); strings.ContainsAny(s, "\n") || len(s) > 160 || strings.Contains(s, "runtime error") {
		t.Errorf("%s: %q is not one clear sentence", name, s)
	}
}

// A file that ends early is refused wherever it ends, unless only what is beside
// the image is lost (fields of TIFF that are not read). Two kinds cannot tell:
// in a text file of PNM, "255" cut to "25" is a number; and a series of images
// that is cut between two of them is a shorter series.
func TestCuts(t *testing.T) {
	for name, data := range goodFiles(t) {
		t.Run(name, func(t *testing.T) {
			whole, err := Decode(data, nil)
			if err != nil {
				t.Fatal(err)
			}
			for n := range data {
				m, err := Decode(data[:n:n], nil)
				if err == nil {
					if m.Hash() != whole.Hash() && name != "text.ppm" && name != "frames.pgm" {
						t.Errorf("cut to %d of %d bytes it decodes to %s", n, len(data), m.Shape)
					}
					continue
				}
				oneSentence(t, name, err)
				if u := (*UnsupportedError)(nil); n > 16 && errors.As(err, &u) && !strings.HasSuffix(name, ".gz") {
					t.Errorf("cut to %d of %d bytes: %v", n, len(data), err)
				}
			}
		})
	}
}

// A flipped byte never panics, and never gives an image of another shape than
// the header tells.
func TestFlips(t *testing.T) {
	lim := &Limits{Samples: 1 << 22}
	for name, data := range goodFiles(t) {
		t.Run(name, func(t *testing.T) {
			bad := bytes.Clone(data)
			for i := range min(len(data), 1500) {
				for _, v := range []byte{0, 0x7f, 0xff, data[i] ^ 1, data[i] ^ 0x80} {
					bad[i] = v
					agree(t, bad, lim)
				}
				bad[i] = data[i]
			}
		})
	}
}

// agree decodes and fails where ReadHeader and Decode contradict each other.
func agree(t *testing.T, data []byte, lim *Limits) {
	t.Helper()
	h, errHeader := ReadHeader(data, lim)
	m, err := Decode(data, lim)
	if err != nil {
		oneSentence(t, "file", err)
		return
	}
	if errHeader != nil {
		t.Fatalf("it decodes, and ReadHeader says: %v", errHeader)
	}
	if m.Width != h.Width || m.Height != h.Height || m.Depth != h.Depth || m.Bits != h.Bits || m.Signed != h.Signed || m.Frames != h.Frames {
		t.Fatalf("header %+v of %s", h, m.Shape)
	}
	if m.Channels != h.Channels && !((h.Format == "gif" || h.Frames || h.Format == "webp") && m.Channels < h.Channels) {
		t.Fatalf("%d channels, the header says %d", m.Channels, h.Channels)
	}
	if len(m.Pix) != m.Size() {
		t.Fatalf("%d bytes of samples for %s", len(m.Pix), m.Shape)
	}
	if int64(m.Size()) > h.DecodedBytes {
		t.Fatalf("%d bytes of samples, the header says %d", m.Size(), h.DecodedBytes)
	}
	// Samples that a reader leaves out would be those of other memory.
	if again, err := Decode(data, lim); err != nil || !bytes.Equal(m.Pix, again.Pix) {
		t.Fatalf("decoded again it differs (%v)", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, data := range goodFiles(f) {
		f.Add(data)
	}
	for _, data := range bigClaims(f) {
		f.Add(data)
	}
	for _, page := range tiffVariants() {
		f.Add(page.bytes())
	}
	for _, c := range gifShown() {
		f.Add(c.data)
	}
	rng := rand.New(rand.NewPCG(17, 3))
	f.Add(apng(f, 5, 4, true, 1, randomParts(rng, 5, 4, 4, 8, true)))
	f.Add(apng(f, 5, 4, false, 1, randomParts(rng, 5, 4, 1, 16, false)))
	f.Add(animatedWebP(f, 3, 1, 2, []webpFrame{{width: 1, height: 1, kind: "VP8L", bitstream: []byte{0x2f, 0, 0, 0, 0x10, 7, 0x10, 0x11, 0x11, 0x88, 0x88, 0xfe, 7, 0}}}))
	exif := append([]byte("Raw profile type exif\x00\x00"), zlibbed(rawProfileText("exif", exifBlock(binary.BigEndian, 6)))...)
	f.Add(pngWith(f, pattern(3, 2, 1, 3, 8), nil, chunkOf("zTXt", exif)))
	f.Fuzz(func(t *testing.T, data []byte) {
		agree(t, data, &Limits{Samples: 1 << 22, Frames: 64})
	})
}
