package dicom

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/internal/container"
)

// element writes an element of explicit little endian; a length of -1 is that of the value.
func element(t Tag, vr VR, value []byte) []byte { return elementOf(t, vr, value, uint32(len(value))) }

func elementOf(t Tag, vr VR, value []byte, length uint32) []byte {
	b := binary.LittleEndian.AppendUint16(nil, uint16(t>>16))
	b = binary.LittleEndian.AppendUint16(b, uint16(t))
	b = append(b, vr...)
	if vr.long() {
		b = binary.LittleEndian.AppendUint32(append(b, 0, 0), length)
	} else {
		b = binary.LittleEndian.AppendUint16(b, uint16(length))
	}
	return append(b, value...)
}

func marker(t Tag, length uint32) []byte {
	b := binary.LittleEndian.AppendUint16(nil, uint16(t>>16))
	b = binary.LittleEndian.AppendUint16(b, uint16(t))
	return binary.LittleEndian.AppendUint32(b, length)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func us(v int) []byte { return binary.LittleEndian.AppendUint16(nil, uint16(v)) }

// wrap is a file of a data set.
func wrap(syntax string, set ...[]byte) []byte {
	if len(syntax)%2 == 1 {
		syntax += "\x00"
	}
	meta := join(element(metaVersion, "OB", []byte{0, 1}), element(metaClass, "UI", []byte("1.2.3.4\x00")),
		element(metaInstance, "UI", []byte("1.2.3.4.5\x00")), element(metaSyntax, "UI", []byte(syntax)))
	head := append(make([]byte, 128), "DICM"...)
	return join(head, element(metaLength, "UL", binary.LittleEndian.AppendUint32(nil, uint32(len(meta)))), meta, join(set...))
}

func TestMeta(t *testing.T) {
	file := wrap(ExplicitLittle, element(sopClass, "UI", []byte("1.2.3.4\x00")), element(0x00080018, "UI", []byte("1.2.3.4.5\x00")), element(0x00100010, "PN", []byte("X ")))
	m, err := ReadMeta(file)
	if err != nil || m.Syntax != ExplicitLittle || m.Class != "1.2.3.4" || m.Instance != "1.2.3.4.5" || len(m.Elements) != 5 {
		t.Fatalf("%+v, %v", m, err)
	}
	wrong := bytes.Clone(file)
	wrong[headerBytes+8] = 3 // the length of the group says nothing
	if m, err := ReadMeta(wrong); err != nil || m.Syntax != ExplicitLittle {
		t.Errorf("with a wrong group length: %+v, %v", m, err)
	}
	if _, err := ReadMeta(file[1:]); err == nil {
		t.Error("without a preamble: no error")
	}
	for n := range m.End { // the file meta information cut anywhere
		cut, err := ReadMeta(file[:n])
		if err == nil && cut.Syntax != "" && n < m.End-1 {
			t.Fatalf("cut to %d bytes it has the transfer syntax", n)
		}
	}
	if !Bare(file[headerBytes:]) || !Bare(file[m.End:]) || Bare([]byte("P5 1 1 255\nabc")) || Bare(nil) {
		t.Error("a data set without preamble is not known, or something else is")
	}
}

func TestDictionary(t *testing.T) {
	for _, c := range []struct {
		tag    Tag
		signed bool
		want   VR
	}{
		{0x00080016, false, "UI"}, {0x00280106, false, "US"}, {0x00280106, true, "SS"}, {0x00283002, true, "US"}, {0x00283006, false, "OW"},
		{PixelData, false, "OW"}, {0x60023000, false, "OW"}, {0x60020010, false, "US"}, {0x00080000, false, "UL"}, {0x00090010, false, "LO"},
		{0x00091001, false, "UN"}, {0x00081fff, false, "UN"}, {0x002031ff, false, "CS"}, {0x00081199, false, "SQ"}, {0x54001010, false, "OW"},
	} {
		if got := implicitVR(c.tag, c.signed); got != c.want {
			t.Errorf("%v: %s, want %s", c.tag, got, c.want)
		}
	}
	if Keyword(PixelData) != "PixelData" || Keyword(0x00091001) != "" || DictionarySize() < 5000 {
		t.Error("keywords")
	}
	for i := 1; i < len(dictionary); i++ {
		if dictionary[i-1].tag >= dictionary[i].tag {
			t.Fatalf("%08x follows %08x", dictionary[i].tag, dictionary[i-1].tag)
		}
	}
	for _, s := range syntaxes {
		if got, ok := SyntaxOf(s.UID); !ok || got.Encoding.Order == nil || got.Name == "" {
			t.Errorf("%+v", got)
		}
	}
}

// Sequences that nest more deeply than any real one are refused, whichever way they nest.
func TestNesting(t *testing.T) {
	const deep = 10_000
	for name, level := range map[string][]byte{
		"undefined": join(elementOf(0x00081199, "SQ", nil, undefined), marker(itemTag, undefined)),
		"unknown":   join(elementOf(0x00091099, "UN", nil, undefined), marker(itemTag, undefined)),
	} {
		data := bytes.Repeat(level, deep)
		w := walker{data: data, enc: explicitLittle}
		_, err := w.elements(0, len(data), 0, false)
		var f *container.FormatError
		if !errors.As(err, &f) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// seeds are small files: of the test data where they are there, and made ones.
func seeds(f *testing.F) {
	f.Add(wrap(ExplicitLittle, element(0x00280010, "US", us(1)), element(PixelData, "OW", []byte{1, 2})))
	f.Add(wrap(JPEG2000, join(elementOf(PixelData, "OB", nil, undefined), marker(itemTag, 0), marker(itemTag, 2), []byte{1, 2}, marker(sequenceEnd, 0))))
	f.Add(wrap("1.2.840.10008.1.2", join(marker(0x00081199, undefined), marker(itemTag, undefined), marker(itemEnd, 0), marker(sequenceEnd, 0))))
	f.Add(wrap("1.2.840.10008.1.2.2", []byte{0, 8, 0x11, 0x99, 'S', 'Q', 0, 0, 0, 0, 0, 8, 0xff, 0xfe, 0xe0, 0, 0, 0, 0, 0}))
	files, _ := filepath.Glob("../../../../shared/data/dicom/*.dcm")
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil && len(data) < 60000 {
			f.Add(data)
		}
	}
}

// FuzzWalk: no panic, and every element lies inside of its parent and behind the one before.
func FuzzWalk(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ReadMeta(data)
		if err != nil {
			return
		}
		_, _ = SeriesUID(data)
		for _, enc := range []Encoding{explicitLittle, implicitLittle, explicitBig} {
			order := &inOrder{t: t}
			w := walker{data: data, enc: enc, visitor: order}
			end, err := w.elements(m.End, len(data), 0, false)
			if err == nil && end != len(data) {
				t.Fatalf("it ends at %d of %d", end, len(data))
			}
		}
	})
}

// inOrder fails a test where headers do not follow each other.
type inOrder struct {
	t    *testing.T
	last int
}

func (o *inOrder) at(offset int) {
	if offset < o.last {
		o.t.Fatalf("offset %d behind %d", offset, o.last)
	}
	o.last = offset
}

func (o *inOrder) element(e *Element, depth int, _ Encoding) error {
	o.at(e.Header)
	if depth > MaxNesting {
		o.t.Fatalf("depth %d", depth)
	}
	return nil
}
func (o *inOrder) item(value, end int, _ Encoding) error { o.at(value); return nil }
func (o *inOrder) itemEnded(bool) error                  { return nil }
func (o *inOrder) sequenceEnded(bool) error              { return nil }
