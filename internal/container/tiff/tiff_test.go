package tiff

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

// entry is a field of a directory for tests, with values as they lie in a file.
type entry struct {
	tag, kind uint16
	count     uint32
	values    []byte
}

// structure has one directory, behind which the values that do not fit follow.
func structure(order binary.AppendByteOrder, entries ...entry) []byte {
	b := []byte("II*\x00")
	if order.String() == "BigEndian" {
		b = []byte("MM\x00*")
	}
	b = order.AppendUint16(order.AppendUint32(b, headLength), uint16(len(entries)))
	extra := len(b) + fieldLength*len(entries) + placeLength
	var tail []byte
	for _, e := range entries {
		b = order.AppendUint32(order.AppendUint16(order.AppendUint16(b, e.tag), e.kind), e.count)
		if len(e.values) > 4 {
			b = order.AppendUint32(b, uint32(extra+len(tail)))
			tail = append(tail, e.values...)
			continue
		}
		b = append(append(b, e.values...), make([]byte, 4-len(e.values))...)
	}
	return append(order.AppendUint32(b, 0), tail...)
}

func withAttributes(order binary.AppendByteOrder) []byte {
	rational := func(n, d uint32) []byte { return order.AppendUint32(order.AppendUint32(nil, n), d) }
	return structure(order,
		entry{256, Short, 1, order.AppendUint16(nil, 7)},
		entry{270, ASCII, 9, []byte("an image\x00")},
		entry{tagXResolution, Rational, 1, rational(300, 1)},
		entry{tagYResolution, Rational, 1, rational(600, 2)},
		entry{tagResolutionUnit, Short, 1, order.AppendUint16(nil, 3)},
		entry{315, ASCII, 4, []byte("me\x00\x00")},
		entry{316, ASCII, 1, []byte("\x00")},
		entry{tagXMP, Byte, 4, []byte("<x/>")},
		entry{33432, ASCII, 1 << 30, []byte("far away")}, // values outside of the structure
		entry{TagICC, Undefined, 7, []byte("profile")},
	)
}

func seeds(t testing.TB) [][]byte {
	names, err := filepath.Glob("../../../imageio/testdata/*/*.tiff")
	if err != nil || len(names) < 4 {
		t.Fatalf("%d files (%v)", len(names), err)
	}
	files := [][]byte{withAttributes(binary.LittleEndian), withAttributes(binary.BigEndian)}
	for _, name := range names {
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
	want := []seen{
		{container.Text, "ImageDescription", "an image"},
		{container.Text, "Artist", "me"},
		{container.XMP, "", "<x/>"},
		{container.ICC, "", "profile"},
		{container.Density, "", ""},
	}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		s, ok := Open(withAttributes(order))
		if !ok {
			t.Fatal("it is no structure")
		}
		var got []seen
		for a := range s.Attributes(s.First()) {
			got = append(got, seen{a.Kind, a.Key, string(a.Data)})
			density := container.Resolution{
				X: container.Rational{Numerator: 300, Denominator: 1}, Y: container.Rational{Numerator: 600, Denominator: 2}, Per: container.Centimetre,
			}
			if a.Kind == container.Density && a.Resolution != density {
				t.Errorf("density %+v", a.Resolution)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", order, got, want)
		}
		for range s.Attributes(s.First()) {
			break
		}
	}
}

func TestDirectories(t *testing.T) {
	good := structure(binary.LittleEndian, entry{256, Short, 1, []byte{7, 0}}, entry{258, Short, 3, []byte{8, 0, 9, 0, 10, 0}}, entry{300, 99, 1, nil})
	many := binary.LittleEndian.AppendUint16([]byte("II*\x00\x08\x00\x00\x00"), MaxFields+1)
	many = append(many, make([]byte, fieldLength*(MaxFields+1)+placeLength)...)
	for name, c := range map[string]struct {
		data   []byte
		ok     bool // it is a structure
		next   bool // whose first directory is whole
		fields int  // of it, before damage
		limit  bool
	}{
		"sound":              {good, true, true, 3, false},
		"empty":              {nil, false, false, 0, false},
		"another format":     {[]byte("II+\x00\x08\x00\x00\x00"), false, false, 0, false},
		"a head":             {good[:8], true, false, 0, false},
		"half of the fields": {good[:8+2+12+3], true, false, 1, false},
		"no next place":      {good[:8+2+3*12], true, false, 3, false},
		"too many fields":    {many, true, false, MaxFields + 1, true},
	} {
		s, ok := Open(c.data)
		if ok != c.ok {
			t.Errorf("%s: %t", name, ok)
		}
		if !ok {
			continue
		}
		_, err := s.Next(s.First())
		var malformed *container.FormatError
		if (err == nil) != c.next || err != nil && (!errors.As(err, &malformed) || malformed.Limit != c.limit) {
			t.Errorf("%s: %v", name, err)
		}
		n := 0
		for _, err := range s.Fields(s.First()) {
			if err == nil {
				n++
			}
		}
		if n != c.fields {
			t.Errorf("%s: %d fields, want %d", name, n, c.fields)
		}
	}
	s, _ := Open(good)
	var got []int64
	for f, err := range s.Fields(s.First()) {
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.Values(f)
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(v.Count) + 1 {
			got = append(got, v.Int(s.Order, i))
		}
	}
	if want := []int64{7, 0, 8, 9, 10, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("values %v, want %v", got, want)
	}
}

// A directory tiles its part of the structure: fields of 12 bytes from behind the
// count to the place of the next directory.
func tiles(s *Structure, at uint32) error {
	count, length, values := countLength, fieldLength, 8
	if s.Big {
		count, length, values = bigCountLength, bigFieldLength, 12
	}
	place := int(at) + count
	for f, err := range s.Fields(at) {
		if err != nil {
			return nil
		}
		if f.At != place+values || f.Tag != s.Order.Uint16(s.Data[place:]) {
			return errors.New("a field does not begin where the one before ends")
		}
		place += length
	}
	next, err := s.Next(at)
	if err == nil && next != s.place(int64(place)) {
		return errors.New("the place of the next directory does not follow the fields")
	}
	return nil
}

func FuzzDirectories(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
	}
	f.Add([]byte("II+\x00\x08\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x10\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, ok := OpenFile(data)
		if !ok {
			return
		}
		before := bytes.Clone(data)
		at := s.First()
		for pages := 0; at != 0 && pages < 8; pages++ {
			if err := tiles(&s, at); err != nil {
				t.Fatal(err)
			}
			for f, err := range s.Fields(at) {
				if err != nil {
					break
				}
				v, err := s.Values(f)
				if err != nil && err != container.ErrCutShort {
					t.Fatal(err)
				}
				v.Int(s.Order, int(f.Count)-1)
			}
			for range s.Attributes(at) {
			}
			next, err := s.Next(at)
			if err != nil {
				break
			}
			at = next
		}
		if !bytes.Equal(before, data) {
			t.Fatal("the walker changed the structure")
		}
	})
}

// What a field only claims costs nothing.
func TestClaimsCostNothing(t *testing.T) {
	data := structure(binary.BigEndian, entry{270, ASCII, 1<<32 - 1, []byte("12345")}, entry{TagICC, Rational, 1<<32 - 1, []byte("12345")})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, _ := Open(data)
	for range s.Attributes(s.First()) {
		t.Error("an attribute is yielded that is not there")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<10 {
		t.Errorf("%d bytes were taken", n)
	}
}
