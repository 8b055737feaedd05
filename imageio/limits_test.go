package imageio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"

	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/raster"
)

func overLimitError(err error) bool {
	var r *RejectedError
	return errors.As(err, &r) && r.Limit
}

// Every limit refuses what is one above it and takes what is at it.
func TestLimits(t *testing.T) {
	frames, err := Encode(pattern(4, 3, 5, 3, 8), "tiff")
	if err != nil {
		t.Fatal(err)
	}
	volume, err := Encode(pattern(4, 3, 5, 1, 8), "nii")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		data     []byte
		at, over Limits
	}{
		{"bytes", frames, Limits{Bytes: int64(len(frames))}, Limits{Bytes: int64(len(frames)) - 1}},
		{"side", frames, Limits{Side: 4}, Limits{Side: 3}},
		{"depth of a volume", volume, Limits{Side: 5}, Limits{Side: 4}},
		{"samples", frames, Limits{Samples: 4 * 3 * 5 * 3}, Limits{Samples: 4*3*5*3 - 1}},
		{"frames", frames, Limits{Frames: 5}, Limits{Frames: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Decode(c.data, &c.at); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			if _, err := Decode(c.data, &c.over); !overLimitError(err) {
				t.Errorf("over the limit: %v", err)
			}
		})
	}
	raised := (&Limits{Bytes: 1 << 40, Side: 1 << 30, Samples: 1 << 50, Frames: 1 << 30, Ratio: 1 << 40}).orDefaults()
	if raised != defaults || (*Limits)(nil).orDefaults() != defaults {
		t.Errorf("limits were raised: %+v", raised)
	}
}

// bombPNG is a PNG of zeros with one long deflate stream.
func bombPNG(t *testing.T, w, h int) []byte {
	var z bytes.Buffer
	zw, err := zlib.NewWriterLevel(&z, 9)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]byte, 1+3*w)
	for range h {
		if _, err := zw.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	var head [13]byte
	binary.BigEndian.PutUint32(head[0:], uint32(w))
	binary.BigEndian.PutUint32(head[4:], uint32(h))
	head[8], head[9] = 8, png.RGB
	b := png.Append([]byte(png.Signature), "IHDR", head[:])
	b = png.Append(b, "IDAT", z.Bytes())
	return png.Append(b, "IEND", nil)
}

// A file of a few bytes may not ask for hundreds of megabytes, whatever its
// format says is possible; a blank page may be small.
func TestRatio(t *testing.T) {
	claim := bombPNG(t, 1, 1)
	binary.BigEndian.PutUint32(claim[16:], 16384)
	binary.BigEndian.PutUint32(claim[20:], 16384)
	binary.BigEndian.PutUint32(claim[29:], crc32.ChecksumIEEE(claim[12:29]))
	if _, err := ReadHeader(claim, nil); !overLimitError(err) || !strings.Contains(err.Error(), "encoded bytes ask for") {
		t.Errorf("%d bytes that claim 16,384 x 16,384: %v", len(claim), err)
	}
	blank := bombPNG(t, 2000, 1500)
	if _, err := Decode(blank, nil); err != nil {
		t.Errorf("a blank page of %d bytes: %v", len(blank), err)
	}
	big := bombPNG(t, 6000, 4000) // 72 MB at the highest ratio of Deflate
	if _, err := ReadHeader(big, nil); err != nil {
		t.Errorf("a large blank page of %d bytes: %v", len(big), err)
	}
	if _, err := ReadHeader(big, &Limits{Ratio: 100}); !overLimitError(err) {
		t.Errorf("a large blank page with a lower limit: %v", err)
	}
}

// Data that inflate to more than the header promises are refused, and cost no
// more than the promised samples.
func TestBombs(t *testing.T) {
	png := bombPNG(t, 4000, 4000)
	binary.BigEndian.PutUint32(png[16:], 10)
	binary.BigEndian.PutUint32(png[20:], 10)
	binary.BigEndian.PutUint32(png[29:], crc32.ChecksumIEEE(png[12:29]))

	nii, err := Encode(pattern(4, 4, 4, 1, 8), "nii")
	if err != nil {
		t.Fatal(err)
	}
	nii = zip(append(nii, make([]byte, 50<<20)...))

	icc := pattern(4, 4, 1, 3, 8)
	icc.Meta.ICC = make([]byte, 50<<20)
	profile, err := Encode(icc, "png")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		data []byte
		good bool
	}{{"png", png, false}, {"nii.gz", nii, false}, {"profile", profile, true}} {
		t.Run(c.name, func(t *testing.T) {
			h, err := ReadHeader(c.data, nil)
			if err != nil {
				t.Fatal(err)
			}
			n := allocated(func() { _, err = Decode(c.data, nil) })
			if (err == nil) != c.good {
				t.Errorf("error %v", err)
			}
			if n > h.DecodedBytes+1<<20 {
				t.Errorf("it took %d bytes, the header promises at most %d", n, h.DecodedBytes)
			}
		})
	}
}

// allocated is the memory that f takes in total, which is at least what it holds
// at its peak.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// DecodedBytes is never less than what Decode takes, and not wildly more: the
// worker's budget is counted in it.
func TestDecodedBytes(t *testing.T) {
	const w, h = 640, 480
	files := map[string][]byte{}
	add := func(name, format string, m *raster.Image) {
		data, err := Encode(m, format)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
	}
	for channels := 1; channels <= 4; channels++ {
		for _, bits := range []int{8, 16} {
			for _, format := range []string{"png", "pnm", "tiff"} {
				add(format+string(rune('0'+channels))+map[int]string{8: "x8", 16: "x16"}[bits], format, pattern(w, h, 1, channels, bits))
			}
		}
	}
	add("pages", "tiff", pattern(w, h, 3, 3, 8))
	add("volume", "nii", pattern(w, h, 4, 1, 16))
	files["volume.gz"] = zip(files["volume"])
	rgb := scene(w, h, 3, landscape)
	files["jpeg 420"] = asJPEG(t, rgb, 90)
	files["jpeg grey"] = asJPEG(t, scene(w, h, 1, plasma), 90)
	files["jpeg turned"] = withEXIF(files["jpeg 420"], exifBlock(binary.LittleEndian, 6))
	p := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.RGBA{1, 2, 3, 255}, color.RGBA{9, 9, 9, 255}})
	files["palette png"] = palettePNG(t, p)
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{p, p, p}, Delay: []int{1, 1, 1}, Disposal: []byte{1, 3, 1}}); err != nil {
		t.Fatal(err)
	}
	files["gif"] = b.Bytes()
	for name, data := range goodFiles(t) {
		files["small "+name] = data
	}
	for name, data := range files {
		head, err := ReadHeader(data, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		n := allocated(func() { _, err = Decode(data, nil) })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n > head.DecodedBytes {
			t.Errorf("%s: %d bytes were taken, the header says %d", name, n, head.DecodedBytes)
		}
		if head.Format != "webp" && head.DecodedBytes > 4*n+2*overhead {
			t.Errorf("%s: %d bytes were taken, the header says %d", name, n, head.DecodedBytes)
		}
		if n := allocated(func() { _, _ = ReadHeader(data, nil) }); n > 160<<10 {
			t.Errorf("%s: ReadHeader took %d bytes", name, n)
		}
	}
}

// A JPEG of thousands of empty scans costs a pass over the image for each.
func TestScans(t *testing.T) {
	jpg := asJPEG(t, pattern(8, 8, 1, 1, 8), 90)
	sos := bytes.Index(jpg, []byte{0xff, 0xda})
	many := append(append(bytes.Clone(jpg[:sos]), bytes.Repeat(jpg[sos:len(jpg)-2], jpegScans+1)...), 0xff, 0xd9)
	if _, err := ReadHeader(many, nil); !overLimitError(err) {
		t.Errorf("%d scans: %v", jpegScans+1, err)
	}
}
