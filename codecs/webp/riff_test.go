package webp

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/container/exif"
	webpfile "github.com/pelmill/pelmill/internal/container/webp"
	"github.com/pelmill/pelmill/raster"
)

// chunks are the names and sizes of a file's chunks.
func chunks(file []byte) string {
	var list []string
	for rest := file[12:]; len(rest) > 0; {
		n := int(binary.LittleEndian.Uint32(rest[4:]))
		list = append(list, string(rest[:4]))
		rest = rest[8+n+n&1:]
	}
	return strings.Join(list, ",")
}

func TestSimpleFileByteForByte(t *testing.T) {
	m := raster.New(1, 1, 1, 1, 8)
	m.Pix[0] = 5
	f := &file{width: 1, height: 1, bitstream: []byte{format.Signature, 0, 0, 0, 0, 1, 2}}
	got, err := f.write()
	want := "52494646" + "14000000" + "57454250" + // RIFF, 20 bytes follow, WEBP
		"5650384c" + "07000000" + "2f00000000" + "0102" + "00" // VP8L, 7 bytes, filling
	if err != nil || hex.EncodeToString(got) != want {
		t.Errorf("%x (%v), want %s", got, err, want)
	}
}

func TestChunksFollowTheMetadata(t *testing.T) {
	grey, colour := raster.New(9, 9, 1, 1, 8), raster.New(9, 9, 1, 3, 8)
	colour.Pix[0] = 1
	for _, c := range []struct {
		m              *raster.Image
		icc, exif, xmp string
		want           string
	}{
		{grey, "", "", "", "VP8L"},
		{colour, "", "", "", "VP8L"},
		{raster.New(9, 9, 1, 3, 8), "", "", "", "VP8L,RGB "},
		{raster.New(9, 9, 1, 4, 8), "", "", "", "VP8L,RGB "},
		{raster.New(9, 9, 1, 2, 8), "", "", "", "VP8L"},
		{grey, "abc", "", "", "VP8X,ICCP,VP8L"},
		{grey, "", "MM\x00*xyz", "", "VP8X,VP8L,EXIF"},
		{grey, "", "", "<x/>", "VP8X,VP8L,XMP "},
		{raster.New(9, 9, 1, 3, 8), "abc", "MM\x00*xyz", "<x>", "VP8X,ICCP,VP8L,EXIF,XMP ,RGB "},
	} {
		m := *c.m
		if c.icc != "" {
			m.Meta.ICC = []byte(c.icc)
		}
		if c.exif != "" {
			m.Meta.EXIF = []byte(c.exif)
		}
		if c.xmp != "" {
			m.Meta.XMP = []byte(c.xmp)
		}
		file := encoded(t, &m)
		if got := chunks(file); got != c.want {
			t.Errorf("%s with %q, %q and %q: %s, want %s", m.Shape, c.icc, c.exif, c.xmp, got, c.want)
		}
		if n := binary.LittleEndian.Uint32(file[4:]); int(n) != len(file)-8 || n%2 != 0 {
			t.Errorf("%s: the container says %d bytes of %d", m.Shape, n, len(file))
		}
		got, err := decoded(file)
		if err != nil || got.Hash() != m.Hash() || string(got.Meta.ICC) != c.icc || string(got.Meta.EXIF) != c.exif || string(got.Meta.XMP) != c.xmp {
			t.Errorf("%s with %q, %q and %q: comes back with %q, %q and %q (%v)", m.Shape, c.icc, c.exif, c.xmp, got.Meta.ICC, got.Meta.EXIF, got.Meta.XMP, err)
		}
		if stripped := encoded(t, &m, "metadata=strip"); strings.Contains(chunks(stripped), "VP8X") {
			t.Errorf("%s: metadata=strip leaves %s", m.Shape, chunks(stripped))
		}
	}
}

// What is written is upright, whoever says otherwise; what others wrote is turned.
func TestOrientation(t *testing.T) {
	m := raster.New(5, 3, 1, 3, 8)
	for i := range m.Pix {
		m.Pix[i] = byte(11 * i)
	}
	for orientation := 1; orientation <= 8; orientation++ {
		for _, big := range []bool{false, true} {
			m.Meta.EXIF = exifBlock(orientation, big, 3)
			kept := bytes.Clone(m.Meta.EXIF)
			file := encoded(t, m)
			if !bytes.Equal(m.Meta.EXIF, kept) {
				t.Fatal("encode changed the picture's EXIF block")
			}
			got, err := decoded(file)
			if err != nil || got.Hash() != m.Hash() {
				t.Fatalf("orientation %d: comes back as another picture (%v)", orientation, err)
			}
			if o := exif.Orientation(got.Meta.EXIF); o != 1 {
				t.Errorf("orientation %d: the file says %d, want 1", orientation, o)
			}

			f, err := open(file)
			if err != nil {
				t.Fatal(err)
			}
			f.exif = append([]byte("Exif\x00\x00"), kept...)
			lying, err := f.write()
			if err != nil {
				t.Fatal(err)
			}
			got, err = decoded(lying)
			want, err2 := imageio.Decode(lying, nil)
			if err != nil || err2 != nil || got.Hash() != want.Hash() || got.Meta.Orientation != orientation {
				t.Errorf("orientation %d: another picture than imageio's (%v, %v)", orientation, err, err2)
			}
		}
	}
}

func TestDamagedContainers(t *testing.T) {
	m := raster.New(20, 10, 1, 4, 8)
	m.Meta.ICC, m.Meta.EXIF = []byte("icc"), exifBlock(1, false, 0)
	good := encoded(t, m)
	set := func(at int, bytes ...byte) func([]byte) []byte {
		return func(f []byte) []byte { copy(f[at:], bytes); return f }
	}
	for name, damage := range map[string]func([]byte) []byte{
		"empty":            func(f []byte) []byte { return nil },
		"head only":        func(f []byte) []byte { return f[:12] },
		"another format":   set(8, 'W', 'A', 'V', 'E'),
		"cut":              func(f []byte) []byte { return f[:len(f)-1] },
		"too long":         set(4, 0xff, 0xff, 0xff, 0xff),
		"less than a head": set(4, 0, 0, 0, 0),
		"chunk too long":   set(16, 0xff, 0xff, 0xff, 0xff),
		"VP8X of 11 bytes": set(16, 11),
		"canvas too wide":  set(24, 200),
		"second VP8X":      func(f []byte) []byte { return webpfile.Finish(append(f, f[12:30]...)) },
		"second picture": func(f []byte) []byte {
			return webpfile.Finish(webpfile.Append(f, "VP8L", []byte{format.Signature, 0, 0, 0, 0, 0}))
		},
		"half a chunk head": func(f []byte) []byte { return webpfile.Finish(append(f, 'E', 'X')) },
		"no picture":        func(f []byte) []byte { return webpfile.Finish(f[:30]) },
		"no stream": func(f []byte) []byte {
			return webpfile.Finish(webpfile.Append(f[:12:12], "VP8L", []byte{format.Signature}))
		},
		"other signature": func(f []byte) []byte {
			return webpfile.Finish(webpfile.Append(f[:12:12], "VP8L", []byte{0x2e, 0, 0, 0, 0, 0}))
		},
		"other version": func(f []byte) []byte {
			return webpfile.Finish(webpfile.Append(f[:12:12], "VP8L", []byte{format.Signature, 0, 0, 0, 0x20, 0}))
		},
		"16,384 wide": func(f []byte) []byte {
			return webpfile.Finish(webpfile.Append(f[:12:12], "VP8L", []byte{format.Signature, 0xff, 0x3f, 0, 0, 0}))
		},
	} {
		bad := damage(bytes.Clone(good))
		_, err := decoded(bad)
		if f := (*codec.FormatError)(nil); !errors.As(err, &f) {
			t.Errorf("%s: decode: %v, want a FormatError", name, err)
		}
		if _, err := (Codec{}).Header(bad); err == nil && name != "no stream" {
			t.Errorf("%s: inspect takes it", name)
		}
	}
	for name, damage := range map[string]func([]byte) []byte{
		"animation": set(20, webpfile.FlagAnimation),
		"lossy":     func(f []byte) []byte { return webpfile.Finish(webpfile.Append(f[:12:12], "VP8 ", make([]byte, 20))) },
	} {
		_, err := decoded(damage(bytes.Clone(good)))
		if u := (*codec.UnsupportedError)(nil); !errors.As(err, &u) {
			t.Errorf("%s: %v, want an UnsupportedError", name, err)
		}
	}
}

func TestHeaderFields(t *testing.T) {
	m := raster.New(20, 10, 1, 2, 8)
	m.Meta.ICC = []byte("icc")
	h, err := Codec{}.Header(encoded(t, m))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range h.Fields {
		got[f.Name] = f.Value
	}
	for name, want := range map[string]string{"width": "20", "height": "10", "alpha": "yes", "ICC profile": "3 bytes", "EXIF block": "", "XMP packet": ""} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}
