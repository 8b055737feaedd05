package webp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/internal/container"
)

func read(t testing.TB, name string) []byte {
	data, err := os.ReadFile(filepath.Join("../../../imageio/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func seeds(t testing.TB) [][]byte {
	names, err := filepath.Glob("../../../imageio/testdata/*/*.webp")
	if err != nil || len(names) < 6 {
		t.Fatalf("%d files (%v)", len(names), err)
	}
	files := [][]byte{withAttributes()}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	return files
}

// pixel is the lossless bitstream of a black pixel, of which only the header is read
// here.
var pixel = []byte{Signature, 0, 0, 0, 0, 0}

// file is a file of chunks, given as pairs of kind and body.
func file(chunks ...string) []byte {
	b := Begin(nil)
	for i := 0; i < len(chunks); i += 2 {
		b = Append(b, chunks[i], []byte(chunks[i+1]))
	}
	return Finish(b)
}

func extended(flags byte) string { return string(Extended(flags, 1, 1)) }

func withAttributes() []byte {
	return file("VP8X", extended(FlagICC|FlagEXIF|FlagXMP), "ICCP", "profile", "ICCP", "another", "VP8L", string(pixel),
		"EXIF", "Exif\x00\x00II*\x00", "XMP ", "<x/>", "abcd", "")
}

func TestAttributes(t *testing.T) {
	f, err := Open(withAttributes(), container.Strict)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for a := range f.Attributes() {
		got = append(got, []string{container.ICC: "ICC", container.EXIF: "EXIF", container.XMP: "XMP"}[a.Kind]+" "+string(a.Data))
	}
	if want := []string{"ICC profile", "EXIF II*\x00", "XMP <x/>"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for range f.Attributes() {
		break
	}
	if c, ok := Find(withAttributes(), "abcd"); !ok || len(c.Body) != 0 {
		t.Errorf("%+v, %t", c, ok)
	}
	if _, ok := Find(withAttributes(), "none"); ok {
		t.Error("a chunk is found that is not there")
	}
}

func TestDamagedFiles(t *testing.T) {
	good := withAttributes()
	sized := func(n uint32) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[4:], n)
		return b
	}
	for name, c := range map[string]struct {
		data            []byte
		lenient, strict bool // whether it is taken
		unsupported     bool
	}{
		"sound":                         {good, true, true, false},
		"bytes behind the end":          {append(bytes.Clone(good), "tail"...), true, true, false},
		"empty":                         {nil, false, false, false},
		"another format":                {[]byte("RIFF\x04\x00\x00\x00WAVE"), false, false, false},
		"cut short":                     {good[:len(good)-1], false, false, false},
		"a size below its own":          {sized(3), false, false, false},
		"a size beyond":                 {sized(1<<32 - 1), false, false, false},
		"no chunk":                      {file(), false, false, false},
		"no picture":                    {file("VP8X", extended(0)), false, false, false},
		"a chunk too long":              {Finish(append(bytes.Clone(good), "ABCD\xff\xff\xff\xff"...)), false, false, false},
		"stray bytes":                   {Finish(append(bytes.Clone(good), "ABC"...)), true, false, false},
		"stray bytes before a picture":  {Finish(append(Begin(nil), "ABC"...)), false, false, false},
		"two pictures":                  {file("VP8L", string(pixel), "VP8L", string(pixel)), false, false, false},
		"a short VP8X":                  {file("VP8X", "123456789", "VP8L", string(pixel)), false, false, false},
		"a long VP8X":                   {file("VP8X", extended(0)+"x", "VP8L", string(pixel)), true, false, false},
		"a second VP8X":                 {file("VP8X", extended(0), "VP8X", extended(0), "VP8L", string(pixel)), true, false, false},
		"VP8X behind the picture":       {file("VP8L", string(pixel), "VP8X", extended(0)), true, false, false},
		"an animation":                  {file("VP8X", extended(FlagAnimation)), false, false, true},
		"a picture without its padding": {func() []byte { b := file("VP8L", "12345"); return Finish(b[:len(b)-1]) }(), true, true, false},
	} {
		for mode, want := range map[container.Mode]bool{container.Lenient: c.lenient, container.Strict: c.strict} {
			_, err := Open(c.data, mode)
			var malformed *container.FormatError
			var unsupported *container.UnsupportedError
			switch {
			case (err == nil) != want, c.unsupported && !errors.As(err, &unsupported):
				t.Errorf("%s, mode %d: error %v", name, mode, err)
			case err != nil && !c.unsupported && !errors.As(err, &malformed):
				t.Errorf("%s, mode %d: %T: %v", name, mode, err, err)
			}
		}
	}
}

func TestShape(t *testing.T) {
	vp8 := "\x10\x00\x00\x9d\x01\x2a\x05\x40\x07\x80" // 5 x 7, scaled in both directions
	for name, c := range map[string]struct {
		data []byte
		want Shape
		ok   bool
	}{
		"lossless":                {file("VP8L", string(pixel)), Shape{1, 1, false}, true},
		"lossless with alpha":     {file("VP8L", "\x2f\x02\xc0\x00\x10"), Shape{3, 4, true}, true},
		"lossy":                   {file("VP8 ", vp8), Shape{5, 7, false}, true},
		"lossy with alpha":        {file("VP8X", string(Extended(0, 5, 7)), "ALPH", "x", "VP8 ", vp8), Shape{5, 7, true}, true},
		"alpha without VP8X":      {file("ALPH", "x", "VP8 ", vp8), Shape{5, 7, false}, true},
		"an empty lossless":       {file("VP8L", ""), Shape{}, false},
		"another signature":       {file("VP8L", "\x2e\x00\x00\x00\x00"), Shape{}, false},
		"another version":         {file("VP8L", "\x2f\x00\x00\x00\x20"), Shape{}, false},
		"a canvas of other size":  {file("VP8X", string(Extended(0, 2, 1)), "VP8L", string(pixel)), Shape{}, false},
		"a short lossy":           {file("VP8 ", vp8[:9]), Shape{}, false},
		"a lossy frame between":   {file("VP8 ", "\x11"+vp8[1:]), Shape{}, false},
		"a partition that is cut": {file("VP8 ", "\x30"+vp8[1:]), Shape{}, false},
	} {
		f, err := Open(c.data, container.Lenient)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := f.Shape(); (err == nil) != c.ok || c.ok && got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestDecode(t *testing.T) {
	for name, want := range map[string]image.Image{
		"good/lossless.webp": &image.NRGBA{}, "good/lossless-alpha.webp": &image.NRGBA{},
		"good/lossy.webp": &image.YCbCr{}, "good/lossy-alpha.webp": &image.NYCbCrA{},
	} {
		f, err := Open(read(t, name), container.Strict)
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.Shape()
		if err != nil {
			t.Fatal(err)
		}
		m, err := f.Decode()
		if err != nil || m.ColorModel() != want.ColorModel() || m.Bounds() != image.Rect(0, 0, s.Width, s.Height) {
			t.Errorf("%s: %T (%v)", name, m, err)
		}
	}
}

// tiles says what is wrong with the chunks of a file: they follow one another
// without a gap, from the beginning on, and share the file's bytes.
func tiles(data []byte) error {
	at := riffHeader
	for c, err := range Chunks(data) {
		switch {
		case err != nil:
			return nil
		case c.At != at, c.Kind != string(data[at:at+4]), len(c.Body) != int(binary.LittleEndian.Uint32(data[at+4:])):
			return errors.New("chunk " + c.Kind + " does not begin where the one before ends")
		case len(c.Body) > 0 && &c.Body[0] != &data[at+chunkHeader]:
			return errors.New("chunk " + c.Kind + " is a copy")
		}
		at += chunkHeader + len(c.Body) + len(c.Body)&1
	}
	if Match(data) && at < int(binary.LittleEndian.Uint32(data[4:]))+8 && at != riffHeader {
		return errors.New("the walk ends before the file")
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
		if a, err := OpenAnimation(data, 16); err == nil && (len(a.Frames) == 0 || len(a.Frames) > 16) {
			t.Fatalf("%d frames", len(a.Frames))
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
			for range file.Attributes() {
			}
			if _, err := file.Shape(); err != nil && !errors.As(err, &malformed) {
				t.Fatalf("%T: %v", err, err)
			}
		}
		if !bytes.Equal(before, data) {
			t.Fatal("the walker changed the file")
		}
	})
}

// What a file only claims costs nothing.
func TestClaimsCostNothing(t *testing.T) {
	for i, data := range [][]byte{
		Finish(append(bytes.Clone(withAttributes()), "ICCP\xf0\xff\xff\xff"...)),
		file("VP8X", string(Extended(0, 1<<24, 1<<24)), "VP8L", "\x2f\xff\xff\xff\x0f"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if f, err := Open(data, container.Lenient); err == nil {
			f.Shape()
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 8<<10 {
			t.Errorf("claim %d: %d bytes were taken", i, n)
		}
	}
}
