package png

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/klauspost/compress/zlib"

	"github.com/pelmill/pelmill/internal/container"
)

// seeds are files of peers and of the standard encoder, sound and damaged.
func seeds(t testing.TB) (files [][]byte) {
	names, err := filepath.Glob("../../../imageio/testdata/*/*.png")
	if err != nil || len(names) < 4 {
		t.Fatalf("%d files (%v)", len(names), err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	return append(files, withAttributes(t), palettes(t, 2))
}

func zlibbed(t testing.TB, data []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// file is an image of 2 x 2 black pixels with chunks before its samples.
func file(t testing.TB, depth, colour byte, row []byte, before ...[]byte) []byte {
	head := []byte{0, 0, 0, 2, 0, 0, 0, 2, depth, colour, 0, 0, 0}
	data := Append([]byte(Signature), "IHDR", head)
	data = append(data, bytes.Join(before, nil)...)
	data = Append(data, "IDAT", zlibbed(t, append(append([]byte{0}, row...), append([]byte{0}, row...)...)))
	return Append(data, "IEND", nil)
}

func chunk(kind string, body string) []byte { return Append(nil, kind, []byte(body)) }

// palettes is a file with so many colours more than its depth of 1 bit reaches.
func palettes(t testing.TB, more int) []byte {
	return file(t, 1, Palette, []byte{0x40}, chunk("PLTE", string(make([]byte, 3*(2+more)))))
}

func withAttributes(t testing.TB) []byte {
	packed := func(s string) string { return string(zlibbed(t, []byte(s))) }
	return file(t, 8, Grey, []byte{1, 2},
		chunk("iCCP", "name\x00\x00"+packed("profile")),
		chunk("pHYs", "\x00\x00\x0b\x13\x00\x00\x0b\x14\x01"),
		chunk("tEXt", "Author\x00somebody"),
		chunk("zTXt", "Comment\x00\x00"+packed("long text")),
		chunk("iTXt", "Title\x00\x00\x00en\x00Title\x00short"),
		chunk("iTXt", "Title\x00\x01\x00de\x00Titel\x00"+packed("kurz")),
		chunk("iTXt", xmpKeyword+"\x00\x00\x00\x00\x00<x/>"),
		chunk("eXIf", "MM\x00*\x00\x00\x00\x08\x00\x00"),
		chunk("zTXt", "Raw profile type exif\x00\x00"+packed("\nexif\n 8\n49492a0008000000\n")),
		chunk("tEXt", "no end of keyword"),
		chunk("pHYs", "short"))
}

func TestAttributes(t *testing.T) {
	f, err := Open(withAttributes(t), container.Strict)
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		kind      container.Kind
		key, data string
	}
	var got []seen
	for a := range f.Attributes() {
		if a.Kind == container.Density {
			want := container.Resolution{X: container.Rational{Numerator: 2835, Denominator: 1}, Y: container.Rational{Numerator: 2836, Denominator: 1}, Per: container.Metre}
			if a.Resolution != want {
				t.Errorf("density %+v", a.Resolution)
			}
		}
		data, ok := a.Bytes(1 << 10)
		if !ok {
			t.Errorf("%+v does not inflate", a)
		}
		got = append(got, seen{a.Kind, a.Key, string(data)})
	}
	want := []seen{
		{container.ICC, "name", "profile"},
		{container.EXIF, "", "MM\x00*\x00\x00\x00\x08\x00\x00"},
		{container.Density, "", ""},
		{container.Text, "Author", "somebody"},
		{container.Text, "Comment", "long text"},
		{container.Text, "Title", "short"},
		{container.Text, "Title", "kurz"},
		{container.XMP, xmpKeyword, "<x/>"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for range f.Attributes() {
		break // an early end of the loop is the walker's end too
	}
}

func TestDamagedFiles(t *testing.T) {
	good := withAttributes(t)
	for name, c := range map[string]struct {
		data        []byte
		want        error
		unsupported bool
	}{
		"empty":            {nil, nil, false},
		"another format":   {[]byte("GIF89a and more"), nil, false},
		"signature only":   {good[:8], container.ErrCutShort, false},
		"no IEND":          {good[:len(good)-12], container.ErrCutShort, false},
		"half of IEND":     {good[:len(good)-4], container.ErrCutShort, false},
		"a length too far": {append(bytes.Clone(good[:33]), "\xff\xff\xff\xffIDAT...."...), container.ErrCutShort, false},
		"no name":          {append(bytes.Clone(good[:33]), "\x00\x00\x00\x00ID T...."...), nil, false},
		"no IHDR":          {append([]byte(Signature), chunk("IDAT", "")...), errFirst, false},
		"two of IHDR":      {slices.Concat(good[:33], good[8:]), errFirst, false},
		"a short IHDR":     {append([]byte(Signature), chunk("IHDR", "short")...), nil, false},
		"no such colour":   {file(t, 8, 1, nil), nil, false},
		"Apple's variant":  {append([]byte(Signature), chunk("CgBI", "1234")...), nil, true},
		"a critical chunk": {file(t, 8, Grey, []byte{1, 2}, chunk("NEED", "")), nil, true},
	} {
		_, err := Open(c.data, container.Lenient)
		var malformed *container.FormatError
		var unsupported *container.UnsupportedError
		switch {
		case c.unsupported && !errors.As(err, &unsupported), !c.unsupported && !errors.As(err, &malformed):
			t.Errorf("%s: error %v", name, err)
		case c.want != nil && err != c.want:
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}

// A strict decoder refuses what a lenient one mends, and both agree on the rest.
func TestModes(t *testing.T) {
	for name, c := range map[string]struct {
		data           []byte
		lenient, agree bool
	}{
		"a palette that is too long":  {palettes(t, 1), true, false},
		"a palette of the right size": {palettes(t, 0), true, true},
		"a key beyond the depth":      {file(t, 2, Grey, []byte{0}, chunk("tRNS", "\x00\xff")), true, true},
		"more than 256 colours":       {palettes(t, 255), false, false},
	} {
		var got [2]image.Image
		for mode, want := range map[container.Mode]bool{container.Lenient: c.lenient, container.Strict: c.agree} {
			f, err := Open(c.data, mode)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got[mode], err = f.Decode(); (err == nil) != want {
				t.Errorf("%s, mode %d: %v", name, mode, err)
			}
		}
		if c.agree && got[0].Bounds() != got[1].Bounds() {
			t.Errorf("%s: %v and %v", name, got[0].Bounds(), got[1].Bounds())
		}
	}
	f, err := Open(palettes(t, 1), container.Lenient)
	if err != nil {
		t.Fatal(err)
	}
	m, err := f.Decode()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.(*image.Paletted).Palette); n != 2 {
		t.Errorf("%d colours, want 2", n)
	}
}

// Append writes what the standard decoder reads.
func TestAppend(t *testing.T) {
	m, err := png.Decode(bytes.NewReader(withAttributes(t)))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.At(1, 1); got != (color.Gray{Y: 2}) {
		t.Errorf("pixel %v", got)
	}
	c, ok := Find(withAttributes(t), "pHYs")
	if !ok || !c.Sound() || len(c.Body()) != 9 {
		t.Errorf("%+v, %t", c, ok)
	}
	c.Whole = bytes.Clone(c.Whole)
	c.Whole[9] ^= 1
	if c.Sound() {
		t.Error("a changed chunk is sound")
	}
	if _, ok := Find(withAttributes(t), "none"); ok {
		t.Error("a chunk is found that is not there")
	}
	if (&Chunk{}).Sound() || (&Chunk{}).Body() != nil {
		t.Error("a chunk that is not there has a body")
	}
}

// tiles says what is wrong with the chunks of a file: they follow one another
// without a gap, from the signature on, and share the file's bytes.
func tiles(data []byte) error {
	at := len(Signature)
	for c, err := range Chunks(data) {
		if err != nil {
			return nil
		}
		n := int(binary.BigEndian.Uint32(data[c.At:]))
		switch {
		case c.At != at, len(c.Whole) != n+12, len(c.Body()) != n, c.Kind != string(data[at+4:at+8]):
			return errors.New("chunk " + c.Kind + " does not begin where the one before ends")
		case &c.Whole[0] != &data[at]:
			return errors.New("chunk " + c.Kind + " is a copy")
		}
		at += len(c.Whole)
	}
	return nil
}

func FuzzChunks(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		if err := tiles(data); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []container.Mode{container.Lenient, container.Strict} {
			file, err := Open(data, mode)
			var malformed *container.FormatError
			var unsupported *container.UnsupportedError
			if err != nil {
				if !errors.As(err, &malformed) && !errors.As(err, &unsupported) {
					t.Fatalf("%T: %v", err, err)
				}
				continue
			}
			for a := range file.Attributes() {
				a.Bytes(1 << 16)
			}
			if int64(file.Width)*int64(file.Height) <= 1<<16 {
				file.Decode()
				if a, ok := file.Animation(); ok {
					for i := range a.Frames {
						if frame, err := file.OpenFrame(&a.Frames[i]); err == nil {
							frame.Decode()
						}
					}
				}
			}
		}
		if !bytes.Equal(before, data) {
			t.Fatal("the walker changed the file")
		}
	})
}

// A length that a file only claims costs nothing.
func TestClaimsCostNothing(t *testing.T) {
	claims := [][]byte{
		append(bytes.Clone(withAttributes(t)[:33]), "\x7f\xff\xff\xffIDAT...."...),
		file(t, 8, Grey, []byte{1, 2}, chunk("tEXt", "Raw profile type exif\x00\nexif\n 1000000\n00")),
		file(t, 8, Grey, []byte{1, 2}, chunk("zTXt", "Raw profile type exif\x00\x00"+string(zlibbed(t, append([]byte("\nexif\n 1000000\n"), make([]byte, 4<<20)...))))),
	}
	for i, data := range claims {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		Open(data, container.Lenient)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 100<<10 {
			t.Errorf("claim %d: %d bytes were taken", i, n)
		}
	}
}
