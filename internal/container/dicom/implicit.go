package dicom

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/internal/container"
)

// transcriber writes a data set of another encoding anew, with explicit value representations in
// little endian. Values, their lengths and the forms of sequences and items stay. Group lengths are
// left out, as headers have other sizes (PS3.5 7.2).
type transcriber struct {
	file      *File
	rewriting *Rewriting
	out       []byte
	open      []int // where the lengths of open sequences and items stand in out; -1: undefined
	verbatim  int   // depth of sequences inside of one that was copied as it stands
	planar    *Element
}

func (t *transcriber) run() ([]byte, error) {
	f := t.file
	if f.lacksPlanar() {
		t.planar = f.planarPlace()
	}
	w := walker{data: f.Set, enc: f.Syntax.Encoding, signed: f.Image.Signed, visitor: t}
	if _, err := w.elements(0, len(f.Set), 0, false); err != nil {
		return nil, err
	}
	return t.out, nil
}

// element writes an element, or the header of a sequence whose items follow.
func (t *transcriber) element(e *Element, depth int, enc Encoding) error {
	switch {
	case t.verbatim > 0:
		t.inside(e, enc)
		return nil
	case depth == 0 && t.planar != nil && e.Header == t.planar.Header:
		t.out = appendPlanar(t.out)
	}
	if depth == 0 && (t.planar == nil || e.Header != t.planar.Header) {
		if replaced, ours := t.file.replace(e, t.rewriting); ours {
			if e.Tag != PixelData && nests(e) {
				return hasItems(e)
			}
			if replaced != nil {
				t.out = replaced(t.out)
			}
			return nil
		}
	}
	switch {
	case e.Tag.groupLength() && nests(e):
		return hasItems(e)
	case e.Tag.groupLength():
	case e.Undefined && e.VR == "UN":
		// Its items are implicit, here as in the source (PS3.5 6.2.2, note 3), wherever it
		// stands: copied as they are.
		end, err := (&walker{data: t.file.Set, enc: enc}).skip(e, len(t.file.Set))
		if err != nil {
			return err
		}
		t.out = appendTag(t.out, e.Tag)
		t.out = append(t.out, "UN\x00\x00\xff\xff\xff\xff"...)
		t.out = append(t.out, t.file.Set[e.Value:end]...)
		t.verbatim = 1
	case e.VR == "SQ" && e.Undefined:
		t.out = append(appendTag(t.out, e.Tag), "SQ\x00\x00\xff\xff\xff\xff"...)
		t.open = append(t.open, -1)
	case e.VR == "SQ":
		t.out = append(appendTag(t.out, e.Tag), "SQ\x00\x00"...)
		t.begin()
	default:
		t.out = appendHeader(t.out, e.Tag, e.VR, e.End-e.Value)
		t.out = appendLittle(t.out, t.file.Set[e.Value:e.End], e.VR, enc)
	}
	return nil
}

// hasItems is the error of an element that is left out or replaced, and whose items would remain.
func hasItems(e *Element) error {
	return container.Malformed("element %v has items where a value has to be", e.Tag)
}

// inside counts the sequences inside of one that was copied.
func (t *transcriber) inside(e *Element, enc Encoding) {
	if nests(e) {
		t.verbatim++
	}
}

// begin writes a length that is known at the end.
func (t *transcriber) begin() {
	t.open = append(t.open, len(t.out))
	t.out = append(t.out, 0, 0, 0, 0)
}

// end writes that length, or the delimiter d.
func (t *transcriber) end(d Tag) error {
	at := t.open[len(t.open)-1]
	t.open = t.open[:len(t.open)-1]
	if at < 0 {
		t.out = append(appendTag(t.out, d), 0, 0, 0, 0)
		return nil
	}
	n := len(t.out) - at - 4
	if n >= undefined {
		return tooLarge()
	}
	binary.LittleEndian.PutUint32(t.out[at:], uint32(n))
	return nil
}

func (t *transcriber) item(value, end int, _ Encoding) error {
	if t.verbatim > 0 {
		return nil
	}
	t.out = appendTag(t.out, itemTag)
	if end == 0 {
		t.out = append(t.out, 0xff, 0xff, 0xff, 0xff)
		t.open = append(t.open, -1)
		return nil
	}
	t.begin()
	return nil
}

func (t *transcriber) itemEnded(bool) error {
	if t.verbatim > 0 {
		return nil
	}
	return t.end(itemEnd)
}

func (t *transcriber) sequenceEnded(bool) error {
	if t.verbatim > 0 {
		t.verbatim--
		return nil
	}
	return t.end(sequenceEnd)
}

// appendLittle appends a value in little endian: each of its numbers is turned (PS3.5 7.3). Text and
// bytes, unknown values among them, are as they are.
func appendLittle(out, value []byte, vr VR, enc Encoding) []byte {
	if enc.Order == binary.LittleEndian {
		return append(out, value...)
	}
	n := vr.number()
	at := 0
	for ; at+n <= len(value); at += n {
		for i := range n {
			out = append(out, value[at+n-1-i])
		}
	}
	return append(out, value[at:]...)
}

// number is the size in bytes of the numbers of a value that the order of bytes turns; 1 for text and bytes.
func (v VR) number() int {
	switch v {
	case "US", "SS", "OW", "AT":
		return 2
	case "UL", "SL", "FL", "OF", "OL":
		return 4
	case "FD", "OD", "OV", "SV", "UV":
		return 8
	}
	return 1
}
