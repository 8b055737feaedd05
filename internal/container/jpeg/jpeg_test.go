package jpeg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/internal/container"
)

// segment is a segment with its marker and length.
func segment(marker byte, body string) string {
	return string(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(2+len(body)))) + body
}

// file has segments between SOI and a scan with stuffed bytes and a restart marker.
func file(segments ...string) []byte {
	b := []byte("\xff\xd8")
	for _, s := range segments {
		b = append(b, s...)
	}
	return append(b, segment(SOS, "\x01\x01\x00\x00\x3f\x00")+"\x12\xff\x00\x34\xff\xd0\x56\xff\xd9"...)
}

func withAttributes() []byte {
	return file(
		segment(APP0, JFIF+"\x01\x02\x01\x01\x2c\x00\x96\x00\x00"),
		segment(APP1, "Exif\x00\x00II*\x00"),
		segment(APP2, Profile+"\x02\x02file"),
		segment(APP1, XMP+"<x/>"),
		segment(APP2, "FPXR\x00"),
		segment(COM, "hello\x00"),
		segment(COM, ""),
		"stray bytes",
		segment(APP2, Profile+"\x01\x02pro"),
	)
}

func seeds(t testing.TB) [][]byte {
	names, err := filepath.Glob("../../../imageio/testdata/*/*.jpg")
	if err != nil || len(names) < 7 {
		t.Fatalf("%d files (%v)", len(names), err)
	}
	files := [][]byte{withAttributes()}
	for _, name := range append(names, "../../../testdata/images/landscape.jpg") {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	return files
}

func TestAttributes(t *testing.T) {
	type seen struct {
		kind      container.Kind
		key, data string
	}
	var got []seen
	for a := range Attributes(withAttributes()) {
		got = append(got, seen{a.Kind, a.Key, string(a.Data)})
		density := container.Resolution{
			X: container.Rational{Numerator: 300, Denominator: 1}, Y: container.Rational{Numerator: 150, Denominator: 1}, Per: container.Inch,
		}
		if a.Kind == container.Density && a.Resolution != density {
			t.Errorf("density %+v", a.Resolution)
		}
	}
	want := []seen{
		{container.Density, "", ""},
		{container.EXIF, "", "II*\x00"},
		{container.XMP, "", "<x/>"},
		{container.Text, "Comment", "hello"},
		{container.ICC, "", "profile"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for range Attributes(withAttributes()) {
		break
	}
	part := func(number, count byte, body string) string {
		return segment(APP2, Profile+string([]byte{number, count})+body)
	}
	for name, data := range map[string][]byte{
		"a missing segment":      file(part(1, 2, "a")),
		"a doubled segment":      file(part(1, 1, "a"), part(1, 1, "b")),
		"a number that is zero":  file(part(0, 1, "a")),
		"a number beyond":        file(part(2, 1, "a")),
		"two counts":             file(part(1, 2, "a"), part(2, 3, "b")),
		"no number":              file(segment(APP2, Profile)),
		"a short JFIF":           file(segment(APP0, JFIF+"\x01")),
		"behind the first scan":  append(file(), segment(COM, "hello")...),
		"behind what is damaged": file("\xff\xe0\x00\x01", segment(COM, "hello")),
		"no SOI":                 []byte(segment(COM, "hello")),
	} {
		for a := range Attributes(data) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		data   string
		marker byte
		body   string
		next   int // -1 where there is an error
	}{
		"SOI":                 {"\xff\xd8", SOI, "", 2},
		"EOI behind samples":  {"\x12\xff\x00\x34\xff\xd3\x56\xff\xd9", EOI, "", 9},
		"bytes that fill":     {"\xff\xff\xff\xfe\x00\x03x", COM, "x", 7},
		"an empty body":       {"\xff\xfe\x00\x02", COM, "", 4},
		"TEM before":          {"\xff\x01\xff\xfe\x00\x02", COM, "", 6},
		"nothing":             {"", 0, "", -1},
		"no marker":           {"abc\xff", 0, "", -1},
		"no length":           {"\xff\xfe\x00", COM, "", -1},
		"a length of one":     {"\xff\xfe\x00\x01", COM, "", -1},
		"a length beyond":     {"\xff\xfe\x00\x04x", COM, "", -1},
		"only restart":        {"\xff\xd0\xff\xd7", 0, "", -1},
		"a reserved marker":   {"\xff\x02\x00\x03x", 0x02, "x", 5},
		"half of a JPG frame": {"\xff\xc8\x00\x08xx", JPG, "", -1},
	} {
		s, next, err := Next([]byte(c.data), 0)
		var malformed *container.FormatError
		switch {
		case (err == nil) != (c.next >= 0), err != nil && !errors.As(err, &malformed):
			t.Errorf("%s: %v", name, err)
		case s.Marker != c.marker, string(s.Body) != c.body, err == nil && next != c.next:
			t.Errorf("%s: %+v, next %d", name, s, next)
		}
	}
}

// tiles says what is wrong with the segments of a file: each lies behind the one
// before, and between them are only bytes that are no marker with a segment.
func tiles(data []byte) error {
	for at := 0; ; {
		s, next, err := Next(data, at)
		if err != nil {
			return nil
		}
		end := s.At + 1
		if s.Marker != SOI && s.Marker != EOI {
			end += 2 + len(s.Body)
		}
		if s.At <= at || next != end || data[s.At] != s.Marker || data[s.At-1] != 0xff {
			return errors.New("a segment does not begin behind the one before")
		}
		for i := at; i < s.At-1; i++ {
			if m := data[i+1]; data[i] == 0xff && m != 0 && m != 0xff && m != TEM && (m < RST0 || m > RST7) {
				return errors.New("a marker is passed over")
			}
		}
		at = next
	}
}

func FuzzSegments(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		if err := tiles(data); err != nil {
			t.Fatal(err)
		}
		for range Attributes(data) {
		}
		if !bytes.Equal(before, data) {
			t.Fatal("the walker changed the file")
		}
	})
}

// What a segment only claims costs nothing.
func TestClaimsCostNothing(t *testing.T) {
	data := append([]byte("\xff\xd8"), "\xff\xe2\xff\xff"+Profile+"\x01\x01"...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range Attributes(data) {
		t.Error("an attribute is yielded that is not there")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<10 {
		t.Errorf("%d bytes were taken", n)
	}
}
