package dicom

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/internal/container"
)

// set is a data set by which tests vary one element.
type set map[Tag][]byte

// small is a native image of 2 x 3 samples of 12 bits in 16.
func small() set {
	return set{
		sopClass: element(sopClass, "UI", []byte("1.2.3.4\x00")), sopInstance: element(sopInstance, "UI", []byte("1.2.3.4.5\x00")),
		0x00081199:      join(elementOf(0x00081199, "SQ", nil, undefined), marker(itemTag, undefined), element(0x00081150, "UI", []byte("1.2\x00")), marker(itemEnd, 0), marker(sequenceEnd, 0)),
		0x00090010:      element(0x00090010, "LO", []byte("OURS")),
		0x00091001:      element(0x00091001, "OB", []byte{1, 2, 3}),
		samplesPerPixel: element(samplesPerPixel, "US", us(1)), photometric: element(photometric, "CS", []byte("MONOCHROME2 ")),
		rows: element(rows, "US", us(3)), columns: element(columns, "US", us(2)), bitsAllocated: element(bitsAllocated, "US", us(16)),
		bitsStored: element(bitsStored, "US", us(12)), highBit: element(highBit, "US", us(11)), pixelRepresentation: element(pixelRepresentation, "US", us(0)),
		PixelData:       element(PixelData, "OW", []byte{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 255, 15}),
		trailingPadding: element(trailingPadding, "OB", []byte{0, 0}),
	}
}

func (s set) bytes() []byte {
	var tags []Tag
	for t := range s {
		tags = append(tags, t)
	}
	slices.Sort(tags)
	var out []byte
	for _, t := range tags {
		out = append(out, s[t]...)
	}
	return out
}

// with returns the set with other elements; nil leaves one out.
func (s set) with(other set) set {
	for t, b := range other {
		if s[t] = b; b == nil {
			delete(s, t)
		}
	}
	return s
}

func number(t Tag, v int) []byte { return element(t, "US", us(v)) }

func mustOpen(t testing.TB, file []byte) *File {
	t.Helper()
	f, err := Open(file, 1<<20)
	if err == nil {
		err = f.Check()
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rewritten is the file with the codestream "codestream" for every frame, verified.
func rewritten(t testing.TB, file []byte, photometric string) ([]byte, *Proof) {
	t.Helper()
	f := mustOpen(t, file)
	frames := make([][]byte, f.Image.Frames)
	for i := range frames {
		frames[i] = fmt.Appendf(nil, "codestream%d", i)
	}
	out, err := f.Rewrite(&Rewriting{Syntax: JPEG2000, Photometric: photometric, Frames: frames})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Verify(file, out, &Expected{Syntax: JPEG2000, Photometric: photometric, Samples: f.Image.Samples, Frames: len(frames)})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Frames) != len(frames) || !bytes.HasPrefix(p.Frames[0], frames[0]) {
		t.Fatalf("%d frames", len(p.Frames))
	}
	return out, p
}

// What an explicit source has is copied byte for byte but for the rules.
func TestRewriteCopies(t *testing.T) {
	s := small().with(set{
		0x00080000: element(0x00080000, "UL", []byte{9, 9, 9, 9}), 0x00280000: element(0x00280000, "UL", []byte{9, 9, 9, 9}),
		0x00100010: element(0x00100010, "PN", []byte(" ODD")[:3]), // odd lengths stay
		0x00110010: element(0x00110010, "UN", []byte("?")),
	})
	file := wrap(ExplicitLittle, s.bytes())
	out, p := rewritten(t, file, "MONOCHROME2")
	delete(s, 0x00280000)
	s[PixelData] = join(elementOf(PixelData, "OB", nil, undefined), marker(itemTag, 4), []byte{0, 0, 0, 0}, marker(itemTag, 12), []byte("codestream0\x00"), marker(sequenceEnd, 0))
	m, err := ReadMeta(out)
	if err != nil || !bytes.Equal(out[m.End:], s.bytes()) {
		t.Errorf("%v\n%q, want\n%q", err, out[m.End:], s.bytes())
	}
	if m.Syntax != JPEG2000 || m.Class != "1.2.3.4" || m.Instance != "1.2.3.4.5" {
		t.Errorf("%+v", m)
	}
	want := []Tag{metaLength, metaSyntax, metaImplementation, metaImplementationName, 0x00280000, PixelData}
	if !slices.Equal(p.Changed, want) {
		t.Errorf("changed: %v, want %v", p.Changed, want)
	}
}

func TestRewriteColour(t *testing.T) {
	colour := func() set {
		return small().with(set{samplesPerPixel: number(samplesPerPixel, 3), photometric: element(photometric, "CS", []byte("RGB ")),
			bitsAllocated: number(bitsAllocated, 8), bitsStored: number(bitsStored, 8), highBit: number(highBit, 7), PixelData: element(PixelData, "OB", make([]byte, 18))})
	}
	for name, planar := range map[string][]byte{"absent": nil, "0": number(planarConfiguration, 0), "1": number(planarConfiguration, 1)} {
		file := wrap(ExplicitLittle, colour().with(set{planarConfiguration: planar}).bytes())
		out, p := rewritten(t, file, "YBR_RCT")
		f, err := Open(out, 0)
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := f.number(planarConfiguration); v != 0 || !ok || text(f.values[photometric]) != "YBR_RCT" || !slices.IsSortedFunc(f.Elements, func(a, b Element) int { return int(int64(a.Tag) - int64(b.Tag)) }) {
			t.Errorf("planar %s: %d, %v, %v", name, v, ok, f.Elements)
		}
		if got := slices.Contains(p.Changed, planarConfiguration); got != (name != "0") {
			t.Errorf("planar %s: changed: %v", name, got)
		}
	}
	// The preamble of a TIFF file points nowhere now.
	file := wrap(ExplicitLittle, colour().bytes())
	copy(file, "II*\x00\x08")
	if out, _ := rewritten(t, file, "RGB"); !bytes.Equal(out[:128], make([]byte, 128)) {
		t.Error("the preamble of a TIFF file stays")
	}
	copy(file, "mine\x08")
	if out, _ := rewritten(t, file, "RGB"); !bytes.Equal(out[:128], file[:128]) {
		t.Error("a preamble does not stay")
	}
}

// transcribed writes a data set of explicit little endian in another encoding: the inverse of what the
// rewriter does, for sequences of undefined length.
func transcribed(little []byte, implicit bool, order binary.ByteOrder) []byte {
	var out []byte
	w := walker{data: little, enc: explicitLittle}
	put := func(e *Element, n uint32) {
		out = append(out, 0, 0, 0, 0)
		order.PutUint16(out[len(out)-4:], uint16(e.Tag>>16))
		order.PutUint16(out[len(out)-2:], uint16(e.Tag))
		if !implicit && e.VR != "" {
			out = append(out, e.VR...)
			if !e.VR.long() {
				out = append(out, 0, 0)
				order.PutUint16(out[len(out)-2:], uint16(n))
				return
			}
			out = append(out, 0, 0)
		}
		out = append(out, 0, 0, 0, 0)
		order.PutUint32(out[len(out)-4:], n)
	}
	for at := 0; at < len(little); {
		e, err := w.header(at, len(little))
		if err != nil {
			panic(err)
		}
		if e.Undefined {
			put(&e, undefined)
			at = e.Value
			continue
		}
		put(&e, uint32(e.End-e.Value))
		out = appendLittle(out, little[e.Value:e.End], e.VR, Encoding{Order: order})
		at = e.End
	}
	return out
}

// What is implicit or big endian comes out as the same data set in explicit little endian; what
// no dictionary knows is unknown.
func TestRewriteTranscribes(t *testing.T) {
	s := small().with(set{0x00280106: element(0x00280106, "US", us(7)), 0x00181310: element(0x00181310, "US", join(us(1), us(2))), 0x00209165: element(0x00209165, "AT", []byte{8, 0, 0x16, 0})})
	want := func(vr VR) []byte {
		w := small().with(s)
		w[PixelData] = join(elementOf(PixelData, "OB", nil, undefined), marker(itemTag, 4), []byte{0, 0, 0, 0}, marker(itemTag, 12), []byte("codestream0\x00"), marker(sequenceEnd, 0))
		w[0x00091001] = element(0x00091001, vr, []byte{1, 2, 3})
		if vr == "UN" { // an element beyond the dictionary
			w[trailingPadding] = element(trailingPadding, "OB", []byte{0, 0})
		}
		return w.bytes()
	}
	for _, c := range []struct {
		syntax   string
		implicit bool
		order    binary.ByteOrder
		vr       VR
	}{{"1.2.840.10008.1.2", true, binary.LittleEndian, "UN"}, {"1.2.840.10008.1.2.2", false, binary.BigEndian, "OB"}} {
		file := wrap(c.syntax, transcribed(s.bytes(), c.implicit, c.order))
		out, _ := rewritten(t, file, "MONOCHROME2")
		m, err := ReadMeta(out)
		if err != nil || !bytes.Equal(out[m.End:], want(c.vr)) {
			t.Errorf("%s: %v\n%q, want\n%q", c.syntax, err, out[m.End:], want(c.vr))
		}
		pix := mustOpen(t, file).Native()
		if !bytes.Equal(pix, []byte{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 255, 15}) {
			t.Errorf("%s: samples %v", c.syntax, pix)
		}
	}
	long := wrap("1.2.840.10008.1.2", transcribed(small().bytes(), true, binary.LittleEndian)[:0], marker(0x00080008, 70000), make([]byte, 70000), transcribed(small().bytes(), true, binary.LittleEndian))
	out, _ := rewritten(t, long, "MONOCHROME2")
	f, err := Open(out, 0)
	if err != nil || f.Elements[0].VR != "UN" || f.Elements[0].End-f.Elements[0].Value != 70000 {
		t.Errorf("a value too long for its value representation: %v", err)
	}
}

// Private elements keep their bytes. In an implicit source nothing says what they are: they become unknown, sequences of
// undefined length among them, which stay implicit inside (PS3.5 6.2.2), and creators text, also in items. In a big-endian
// one they have a value representation, by which they are turned or not.
func TestRewritePrivate(t *testing.T) {
	creator, item := element(0x00090010, "LO", []byte("OURS")), marker(itemTag, undefined)
	ends := join(marker(itemEnd, 0), marker(sequenceEnd, 0))
	inside := join(creator, element(0x00091001, "US", us(7)))
	source := set{
		0x00081199: join(elementOf(0x00081199, "SQ", nil, undefined), item, element(0x00081150, "UI", []byte("1.2\x00")), inside, ends),
		0x00091002: element(0x00091002, "OW", []byte{1, 0, 2, 0}), 0x00091003: join(elementOf(0x00091003, "SQ", nil, undefined), item, inside, ends),
		0x00091004: element(0x00091004, "UN", []byte{1, 0, 2, 0}), trailingPadding: nil,
	}
	want := func(nested, sequence []byte, words VR) []byte {
		return join(elementOf(0x00081199, "SQ", nil, undefined), item, element(0x00081150, "UI", []byte("1.2\x00")), nested, ends,
			creator, element(0x00091001, map[VR]VR{"UN": "UN", "OW": "OB"}[words], []byte{1, 2, 3}), element(0x00091002, words, []byte{1, 0, 2, 0}), sequence)
	}
	for _, c := range []struct {
		syntax   string
		implicit bool
		order    binary.ByteOrder
		want     []byte
	}{
		{"1.2.840.10008.1.2", true, binary.LittleEndian, join(
			want(join(creator, element(0x00091001, "UN", us(7))), join(elementOf(0x00091003, "UN", nil, undefined), item, transcribed(inside, true, binary.LittleEndian), ends), "UN"),
			element(0x00091004, "UN", []byte{1, 0, 2, 0}))},
		{"1.2.840.10008.1.2.2", false, binary.BigEndian, join(
			want(inside, join(elementOf(0x00091003, "SQ", nil, undefined), item, inside, ends), "OW"),
			element(0x00091004, "UN", []byte{1, 0, 2, 0}))},
	} {
		file := wrap(c.syntax, transcribed(small().with(source).bytes(), c.implicit, c.order))
		out, _ := rewritten(t, file, "MONOCHROME2")
		if !bytes.Contains(out, c.want) {
			t.Errorf("%s:\n%q has not\n%q", c.syntax, out, c.want)
		}
	}
}

// Numbers of an implicit source are signed as the pixels of the item are that they stand in, an icon, or else of the data set.
func TestRewriteSigns(t *testing.T) {
	icon := func(sign ...int) []byte {
		b := join(elementOf(0x00880200, "SQ", nil, undefined), marker(itemTag, undefined))
		for _, v := range sign {
			b = append(b, number(pixelRepresentation, v)...)
		}
		return join(b, number(0x00280106, 7), marker(itemEnd, 0), marker(sequenceEnd, 0))
	}
	for _, c := range []struct {
		outer int
		icon  []byte
		want  string // value representations of the two numbers, in the order of the file: the data set's, the icon's
	}{{1, icon(0), "SS US"}, {0, icon(1), "US SS"}, {1, icon(), "SS SS"}, {0, icon(), "US US"}} {
		s := small().with(set{pixelRepresentation: number(pixelRepresentation, c.outer), 0x00280106: number(0x00280106, 7), 0x00880200: c.icon, trailingPadding: nil})
		file := wrap("1.2.840.10008.1.2", transcribed(s.bytes(), true, binary.LittleEndian))
		out, _ := rewritten(t, file, "MONOCHROME2")
		var got []string
		for at := 0; ; at++ {
			i := bytes.Index(out[at:], []byte{0x28, 0x00, 0x06, 0x01})
			if i < 0 {
				break
			}
			at += i
			got = append(got, string(out[at+4:at+6]))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("pixels %d: %v, want %s", c.outer, got, c.want)
		}
	}
}

// The check notices every byte that is another one, but for those of the codestreams, which are decoded.
func TestVerifyNoticesEveryByte(t *testing.T) {
	for _, syntax := range []string{ExplicitLittle, "1.2.840.10008.1.2"} {
		little := small().with(set{trailingPadding: nil}).bytes()
		file := wrap(syntax, little)
		if syntax != ExplicitLittle {
			file = wrap(syntax, transcribed(little, true, binary.LittleEndian))
		}
		out, p := rewritten(t, file, "MONOCHROME2")
		m, err := ReadMeta(out)
		if err != nil {
			t.Fatal(err)
		}
		stream := bytes.Index(out, p.Frames[0])
		table := stream - 8 - 4 // its own check: 0 is the only offset
		for i := range out {
			// What names the writer may be any name; reserved bytes of headers are in nobody's value.
			if i >= stream && i < stream+len(p.Frames[0]) || i >= headerBytes && i < m.End {
				continue
			}
			bad := bytes.Clone(out)
			bad[i] ^= 0x11
			_, err := Verify(file, bad, &Expected{Syntax: JPEG2000, Photometric: "MONOCHROME2", Samples: 1, Frames: 1})
			if err == nil && !reserved(out, i, syntax) {
				t.Errorf("%s: byte %d of %d (the table is at %d) is another one, and nothing is said", syntax, i, len(out), table)
			}
		}
		if _, err := Verify(file, out[:len(out)-8], &Expected{Syntax: JPEG2000, Photometric: "MONOCHROME2", Samples: 1, Frames: 1}); err == nil {
			t.Error("a file that is cut short passes")
		}
	}
}

// reserved reports whether byte i is one of the two behind the value representation of what the
// rewriter wrote: PixelData, and sequences and unknown values of an implicit source.
func reserved(out []byte, i int, syntax string) bool {
	for _, vr := range []string{"OB", "SQ", "UN"} {
		for back := 2; back <= 3; back++ {
			if i >= back && string(out[i-back:i-back+2]) == vr && (vr == "OB" || syntax != ExplicitLittle) {
				return true
			}
		}
	}
	return false
}

// Every file is rewritten, left alone for the right reason, or refused.
func TestOutcomes(t *testing.T) {
	encapsulated := func(fragments ...[]byte) []byte {
		b := join(elementOf(PixelData, "OB", nil, undefined), marker(itemTag, 0))
		for _, f := range fragments {
			b = append(join(b, marker(itemTag, uint32(len(f)))), f...)
		}
		return append(b, marker(sequenceEnd, 0)...)
	}
	icon := func(pixels []byte) []byte {
		return join(elementOf(0x00880200, "SQ", nil, undefined), marker(itemTag, undefined), pixels, marker(itemEnd, 0), marker(sequenceEnd, 0))
	}
	const malformed = "malformed"
	for name, c := range map[string]struct {
		syntax string
		set    set
		why    string // "": it can be rewritten
	}{
		"native":                             {ExplicitLittle, set{}, ""},
		"one pad byte":                       {ExplicitLittle, set{PixelData: element(PixelData, "OW", make([]byte, 13))}, ""},
		"padded":                             {ExplicitLittle, set{PixelData: element(PixelData, "OW", make([]byte, 14))}, ReasonLength},
		"short":                              {ExplicitLittle, set{PixelData: element(PixelData, "OW", make([]byte, 11))}, malformed},
		"2^31 frames":                        {ExplicitLittle, set{numberOfFrames: element(numberOfFrames, "IS", []byte("2147483648"))}, malformed},
		"2^31 frames, RLE":                   {"1.2.840.10008.1.2.5", set{numberOfFrames: element(numberOfFrames, "IS", []byte("2147483648")), PixelData: encapsulated([]byte("ab"))}, malformed},
		"frames of letters":                  {ExplicitLittle, set{numberOfFrames: element(numberOfFrames, "IS", []byte("1A"))}, ReasonFrames},
		"no frames":                          {ExplicitLittle, set{numberOfFrames: element(numberOfFrames, "IS", []byte("0 "))}, ReasonFrames},
		"no number of frames":                {ExplicitLittle, set{numberOfFrames: element(numberOfFrames, "IS", nil)}, ""},
		"no pixels":                          {ExplicitLittle, set{PixelData: nil}, malformed},
		"spectroscopy":                       {ExplicitLittle, set{PixelData: nil, spectroscopyData: element(spectroscopyData, "OF", make([]byte, 24))}, ReasonNoPixels},
		"pixels elsewhere":                   {ExplicitLittle, set{PixelData: nil, providerURL: element(providerURL, "UR", []byte("u "))}, ReasonNoPixels},
		"a report":                           {ExplicitLittle, set{PixelData: nil, rows: nil}, ReasonNoPixels},
		"float":                              {ExplicitLittle, set{PixelData: nil, floatPixelData: element(floatPixelData, "OF", make([]byte, 24))}, ReasonFloat},
		"directory":                          {ExplicitLittle, set{directoryRecords: elementOf(directoryRecords, "SQ", nil, 0)}, ReasonDirectory},
		"1 bit":                              {ExplicitLittle, set{bitsAllocated: number(bitsAllocated, 1)}, ReasonShape},
		"32 bits":                            {ExplicitLittle, set{bitsAllocated: number(bitsAllocated, 32)}, ReasonShape},
		"0 bits stored":                      {ExplicitLittle, set{bitsStored: number(bitsStored, 0)}, ReasonShape},
		"17 bits stored":                     {ExplicitLittle, set{bitsStored: number(bitsStored, 17)}, ReasonShape},
		"high bit":                           {ExplicitLittle, set{highBit: number(highBit, 15)}, ReasonShape},
		"unknown pixels":                     {ExplicitLittle, set{PixelData: element(PixelData, "UN", make([]byte, 12))}, ""},
		"pixels that are text":               {ExplicitLittle, set{PixelData: element(PixelData, "UT", make([]byte, 12))}, ReasonShape},
		"2 samples":                          {ExplicitLittle, set{samplesPerPixel: number(samplesPerPixel, 2)}, ReasonShape},
		"4:2:2":                              {ExplicitLittle, set{samplesPerPixel: number(samplesPerPixel, 3), photometric: element(photometric, "CS", []byte("YBR_FULL_422"))}, ReasonShape},
		"no photometric":                     {ExplicitLittle, set{photometric: nil}, ReasonShape},
		"no rows, but pixels":                {ExplicitLittle, set{rows: nil}, ReasonShape},
		"signature":                          {ExplicitLittle, set{digitalSignatures: elementOf(digitalSignatures, "SQ", nil, 0)}, ReasonSignature},
		"compressed icon":                    {ExplicitLittle, set{0x00880200: icon(encapsulated([]byte("ab")))}, ReasonNested},
		"native icon":                        {ExplicitLittle, set{0x00880200: icon(element(PixelData, "OB", []byte("ab")))}, ""},
		"lossy":                              {"1.2.840.10008.1.2.4.50", set{PixelData: encapsulated([]byte("ab"))}, ReasonSyntax},
		"unknown syntax":                     {"1.2.3.4", set{}, ReasonSyntax},
		"no syntax":                          {"", set{}, ReasonSyntax},
		"encapsulated, native":               {ExplicitLittle, set{PixelData: encapsulated([]byte("ab"))}, ReasonEncapsulate},
		"native, encapsulated":               {JPEG2000, set{}, ReasonEncapsulate},
		"twice":                              {ExplicitLittle, set{rows: join(number(rows, 3), number(rows, 3))}, ReasonDuplicate},
		"no letters":                         {ExplicitLittle, set{0x00100010: element(0x00100010, "\x00\x00", nil)}, malformed},
		"over the end":                       {ExplicitLittle, set{trailingPadding: elementOf(trailingPadding, "OB", nil, 1)}, malformed},
		"behind the end":                     {ExplicitLittle, set{0xfffeffff: make([]byte, 7)}, malformed},
		"an item at the top":                 {ExplicitLittle, set{0xfffd0000: marker(itemTag, 0)}, malformed},
		"sequence without end":               {ExplicitLittle, set{0x60000000: elementOf(0x60000000, "SQ", nil, undefined), trailingPadding: nil}, malformed},
		"text without length":                {ExplicitLittle, set{0x00100010: elementOf(0x00100010, "PN", nil, undefined)}, malformed},
		"a value representation of tomorrow": {ExplicitLittle, set{0x00100010: element(0x00100010, "ZZ", []byte("ab"))}, ""},
	} {
		file := wrap(c.syntax, small().with(c.set).bytes())
		f, err := Open(file, 1<<20)
		if err == nil {
			if err = f.Check(); err == nil && f.Syntax.Encapsulated() {
				_, err = f.Frames()
			}
		}
		var left *LeftAlone
		var bad *container.FormatError
		var unsupported *container.UnsupportedError
		switch {
		case c.why == "" && err == nil:
			rewritten(t, file, f.Image.Photometric)
		case c.why == malformed && errors.As(err, &bad):
		case c.why != "" && errors.As(err, &left) && left.Why == c.why && errors.As(err, &unsupported) && strings.HasPrefix(err.Error(), c.why+": "):
		default:
			t.Errorf("%s: %v, want %q", name, err, c.why)
		}
	}
}

// Big-endian samples of 16 bits have the order of their bytes as OW only.
func TestBigEndianBytes(t *testing.T) {
	for vr, why := range map[string]string{"OW": "", "OB": ReasonShape, "UN": ReasonShape} {
		s := small().with(set{PixelData: element(PixelData, VR(vr), make([]byte, 12))})
		f, err := Open(wrap("1.2.840.10008.1.2.2", transcribed(s.bytes(), false, binary.BigEndian)), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		err = f.Check()
		var left *LeftAlone
		if why == "" && err != nil || why != "" && (!errors.As(err, &left) || left.Why != why) {
			t.Errorf("%s: %v, want %q", vr, err, why)
		}
	}
}

// What is left out or replaced has no items: they would stand in what is written, without the sequence around them.
func TestItemsOfWhatIsLeftOut(t *testing.T) {
	items := join(marker(itemTag, 0), marker(sequenceEnd, 0))
	for _, tag := range []Tag{0x00280000, 0x00090000, extendedOffsets} {
		set := small().with(set{tag: join(appendTag(nil, tag), []byte("\xff\xff\xff\xff"), items)})
		for in := range set {
			if in != tag {
				set[in] = transcribed(set[in], true, binary.LittleEndian)
			}
		}
		f := mustOpen(t, wrap("1.2.840.10008.1.2", set.bytes()))
		if err := f.Check(); err != nil {
			t.Fatalf("%v: %v", tag, err)
		}
		_, err := f.Rewrite(&Rewriting{Syntax: JPEG2000, Photometric: f.Image.Photometric, Frames: make([][]byte, f.Image.Frames)})
		if bad := (*container.FormatError)(nil); !errors.As(err, &bad) {
			t.Errorf("%v: %v", tag, err)
		}
	}
}

// A text that a big-endian file calls numbers is left alone: written in little endian its letters would be turned.
func TestPhotometricOfNumbers(t *testing.T) {
	for vr, why := range map[VR]string{"CS": "", "UN": "", "SS": ReasonShape} {
		big := small()
		for tag := range big {
			big[tag] = transcribed(big[tag], false, binary.BigEndian)
		}
		big[photometric] = join([]byte("\x00\x28\x00\x04"), []byte(vr))
		if vr.long() {
			big[photometric] = append(big[photometric], 0, 0, 0, 0)
		}
		big[photometric] = append(append(big[photometric], 0, 12), "MONOCHROME2 "...)
		f, err := Open(wrap("1.2.840.10008.1.2.2", big.bytes()), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		err = f.Check()
		if left := (*LeftAlone)(nil); why == "" && err != nil || why != "" && (!errors.As(err, &left) || left.Why != why) {
			t.Errorf("%s: %v, want %q", vr, err, why)
		}
	}
}

// File meta information with an element twice is not rewritten: a reader may take either.
func TestMetaTwice(t *testing.T) {
	file := wrap(ExplicitLittle, element(0x00020016, "AE", []byte("HERE")), element(0x00020016, "AE", []byte("THERE ")), small().bytes())
	f, err := Open(file, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var left *LeftAlone
	if err := f.Check(); !errors.As(err, &left) || left.Why != ReasonDuplicate {
		t.Errorf("%v, want %q", err, ReasonDuplicate)
	}
}

// File meta information with a sequence is malformed, whatever the rest of the file is.
func TestMetaSequence(t *testing.T) {
	f, err := Open(wrap(ExplicitLittle, element(0x00020102, "SQ", nil), small().bytes()), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var bad *container.FormatError
	if err := f.Check(); !errors.As(err, &bad) {
		t.Errorf("%v, want a malformed file", err)
	}
}

// A file that is cut anywhere is refused or, behind its last byte of pixel data, found to be whole.
func TestTruncation(t *testing.T) {
	file := wrap(ExplicitLittle, small().bytes())
	whole := len(file) - len(small()[trailingPadding])
	for n := range file {
		f, err := Open(file[:n], 1<<20)
		if err == nil {
			err = f.Check()
		}
		if err == nil && n != whole {
			t.Errorf("cut to %d of %d bytes it is taken", n, len(file))
		}
		var bad *container.FormatError
		if n <= mustOpen(t, file).Meta.End && !errors.As(err, &bad) {
			t.Errorf("cut to %d bytes, in its file meta information: %v", n, err)
		}
	}
}

func TestPaddingBits(t *testing.T) {
	for _, c := range []struct {
		allocated, stored int
		signed            bool
		pix               []byte
		ok                bool
	}{
		{16, 12, false, []byte{255, 15}, true}, {16, 12, false, []byte{255, 31}, false}, {16, 16, false, []byte{255, 255}, true},
		{16, 12, true, []byte{0, 248}, true}, {16, 12, true, []byte{0, 8}, false}, {16, 8, true, []byte{128, 255}, true}, {16, 8, false, []byte{128, 0}, true},
		{8, 7, false, []byte{127}, true}, {8, 7, false, []byte{128}, false}, {8, 7, true, []byte{192}, true}, {8, 7, true, []byte{64}, false}, {8, 8, true, []byte{128}, true},
	} {
		m := Image{Rows: 1, Columns: 1, Samples: 1, Frames: 1, Allocated: c.allocated, Stored: c.stored, Signed: c.signed}
		img, err := m.Raster(c.pix)
		if (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		} else if err == nil && !bytes.Equal(m.Containers(img), c.pix) {
			t.Errorf("%+v: it comes back as %v", c, m.Containers(img))
		}
	}
}

// Fragments are joined by the offset tables, else by what codestreams begin with.
func TestFrames(t *testing.T) {
	soi := func(s string) []byte { return append([]byte{0xff, 0xd8, 0xff}, s...) }
	u32 := func(v ...uint32) (b []byte) {
		for _, n := range v {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
		return b
	}
	u64 := func(v ...uint64) (b []byte) {
		for _, n := range v {
			b = binary.LittleEndian.AppendUint64(b, n)
		}
		return b
	}
	for name, c := range map[string]struct {
		frames    int
		table     []byte
		offsets   []byte
		fragments [][]byte
		want      []string // nil: refused
	}{
		"one each":       {2, nil, nil, [][]byte{[]byte("ab"), []byte("cd")}, []string{"ab", "cd"}},
		"one frame":      {1, nil, nil, [][]byte{[]byte("ab"), []byte("cd")}, []string{"abcd"}},
		"basic table":    {2, u32(0, 20), nil, [][]byte{[]byte("ab"), []byte("cd"), []byte("ef")}, []string{"abcd", "ef"}},
		"extended table": {2, nil, u64(0, 10), [][]byte{[]byte("ab"), []byte("cd"), []byte("ef")}, []string{"ab", "cdef"}},
		"wrong table":    {2, u32(0, 11), nil, [][]byte{soi("a"), []byte("cd"), soi("b")}, []string{"\xff\xd8\xffacd", "\xff\xd8\xffb"}},
		"falling table":  {2, u32(10, 0), nil, [][]byte{[]byte("ab"), []byte("cd"), []byte("ef")}, nil},
		"markers":        {2, nil, nil, [][]byte{soi("a"), soi("b"), []byte("cd")}, []string{"\xff\xd8\xffa", "\xff\xd8\xffbcd"}},
		"no markers":     {2, nil, nil, [][]byte{[]byte("ab"), []byte("cd"), []byte("ef")}, nil},
		"too few":        {3, nil, nil, [][]byte{[]byte("ab"), []byte("cd")}, nil},
		"too many":       {2, nil, nil, [][]byte{soi("a"), soi("b"), soi("c")}, nil},
		"none":           {1, nil, nil, nil, nil},
	} {
		b := join(elementOf(PixelData, "OB", nil, undefined), marker(itemTag, uint32(len(c.table))), c.table)
		for _, f := range c.fragments {
			b = join(b, marker(itemTag, uint32(len(f))), f)
		}
		s := small().with(set{numberOfFrames: element(numberOfFrames, "IS", fmt.Appendf(nil, "%d ", c.frames)), PixelData: append(b, marker(sequenceEnd, 0)...)})
		if c.offsets != nil {
			s[extendedOffsets] = element(extendedOffsets, "OV", c.offsets)
		}
		f := mustOpen(t, wrap("1.2.840.10008.1.2.4.70", s.bytes()))
		frames, err := f.Frames()
		var got []string
		for _, frame := range frames {
			got = append(got, string(frame))
		}
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// Offsets that need more than 32 bits go to the Extended Offset Table, with lengths without padding.
func TestOffsetTables(t *testing.T) {
	basic, offsets, _ := offsetTables([]int{1, 2, 3})
	if want := []byte{0, 0, 0, 0, 10, 0, 0, 0, 20, 0, 0, 0}; !bytes.Equal(basic, want) || offsets != nil {
		t.Errorf("%v, %v", basic, offsets)
	}
	basic, offsets, lengths := offsetTables([]int{1<<32 - 9, 5})
	if len(basic) != 0 || !bytes.Equal(offsets, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}) || lengths[8] != 5 || lengths[0] != 0xf7 {
		t.Errorf("%v, %v, %v", basic, offsets, lengths)
	}
	if basic, offsets, _ := offsetTables([]int{1<<32 - 10, 5}); len(basic) != 8 || offsets != nil {
		t.Error("an offset of 2^32-2 fits")
	}
}

// The native bytes of a file are made again of its samples.
func TestShell(t *testing.T) {
	for name, file := range map[string][]byte{
		"little": wrap(ExplicitLittle, small().bytes()),
		"big":    wrap("1.2.840.10008.1.2.2", transcribed(small().bytes(), false, binary.BigEndian)),
		"planes": wrap(ExplicitLittle, small().with(set{samplesPerPixel: number(samplesPerPixel, 3), photometric: element(photometric, "CS", []byte("RGB ")), planarConfiguration: number(planarConfiguration, 1),
			bitsAllocated: number(bitsAllocated, 8), bitsStored: number(bitsStored, 8), highBit: number(highBit, 7), PixelData: element(PixelData, "OB", []byte("abcdefghijklmnopqr"))}).bytes()),
		"big, 8 bits in words": wrap("1.2.840.10008.1.2.2", transcribed(small().with(set{bitsAllocated: number(bitsAllocated, 8), bitsStored: number(bitsStored, 8), highBit: number(highBit, 7), rows: number(rows, 1), columns: number(columns, 3),
			PixelData: element(PixelData, "OW", []byte("abc\x00"))}).bytes(), false, binary.BigEndian)),
	} {
		f := mustOpen(t, file)
		prefix, suffix, ok := f.Shell()
		e := f.PixelElement()
		pix := f.Unnative(f.Native())
		if !ok || !bytes.Equal(join(prefix, pix, f.Set[e.Value+len(pix):e.End], suffix), file) {
			t.Errorf("%s: another file", name)
		}
		if name == "planes" && string(f.Native()) != "agmbhnciodjpekqflr" {
			t.Errorf("%s: %q", name, f.Native())
		}
	}
}

// FuzzRewrite: whatever can be rewritten passes the check, and nothing panics.
func FuzzRewrite(f *testing.F) {
	seeds(f)
	f.Add(wrap(ExplicitLittle, small().bytes()))
	f.Add(wrap("1.2.840.10008.1.2", transcribed(small().bytes(), true, binary.LittleEndian)))
	f.Add(wrap("1.2.840.10008.1.2.2", transcribed(small().bytes(), false, binary.BigEndian)))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Open(data, 1<<20)
		if err != nil || file.Check() != nil || file.Image.Frames > 1000 {
			return
		}
		m := &file.Image
		if file.Syntax.Encapsulated() {
			if _, err := file.Frames(); err != nil {
				return
			}
		} else if pix := file.Native(); len(pix) != m.Frames*m.FrameBytes() {
			t.Fatalf("%d bytes of samples", len(pix))
		}
		frames := make([][]byte, m.Frames)
		for i := range frames {
			frames[i] = []byte("abc")
		}
		out, err := file.Rewrite(&Rewriting{Syntax: JPEG2000, Photometric: m.Photometric, Frames: frames})
		if err != nil {
			return
		}
		if _, err := Verify(data, out, &Expected{Syntax: JPEG2000, Photometric: m.Photometric, Samples: m.Samples, Frames: m.Frames}); err != nil {
			t.Fatal(err)
		}
	})
}
