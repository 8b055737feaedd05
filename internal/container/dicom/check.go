package dicom

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Expected is what a result has to differ in from its source, see [Rewriting].
type Expected struct {
	Syntax      string
	Photometric string
	Samples     int   // per pixel
	Frames      int   // codestreams; 0 where pixel data are native
	Native      int64 // bytes of native pixel data; 0 where there are codestreams
}

// Proof is what [Verify] found.
type Proof struct {
	Changed []Tag    // that differ, in the file meta information first; each once
	Frames  [][]byte // the codestreams of the result, each with its padding
	Native  []byte   // the native pixel data of the result, without padding

	expected *Expected
	image    pixelHead
	source   []byte // the native pixel data of the source, as they stand there; nil where they are fragments
	words    bool   // in source the bytes of each word of 16 bits are exchanged
}

// Verify parses a source and its result with a parser that has nothing in common with the one by
// which the result was made, and compares them: all that [File.Rewrite] does not say to
// change has the same bytes, or, where the source is of another encoding, the same values. It says
// nothing of pixels: whoever calls it decodes them from the proof.
func Verify(source, result []byte, x *Expected) (*Proof, error) {
	v := &verifier{expected: x, proof: Proof{expected: x}}
	src, err := openSide(source)
	if err != nil {
		return nil, fmt.Errorf("the source: %w", err)
	}
	dst, err := openSide(result)
	if err != nil {
		return nil, fmt.Errorf("the result: %w", err)
	}
	if err := v.metas(src, dst); err != nil {
		return nil, err
	}
	v.src, v.dst = src, dst
	if err := v.sets(); err != nil {
		return nil, err
	}
	if err := v.uids(); err != nil {
		return nil, err
	}
	slices.Sort(v.proof.Changed)
	v.proof.Changed = slices.Compact(v.proof.Changed)
	return &v.proof, nil
}

// verifier compares two sides.
type verifier struct {
	expected *Expected
	src, dst *side
	proof    Proof
}

func (v *verifier) changed(tag uint32) { v.proof.Changed = append(v.proof.Changed, Tag(tag)) }

// metas compares preambles and file meta information.
func (v *verifier) metas(src, dst *side) error {
	tiff := string(src.preamble[:4]) == "II*\x00" || string(src.preamble[:4]) == "MM\x00*"
	if want := src.preamble; !tiff && !bytes.Equal(want, dst.preamble) || tiff && !bytes.Equal(dst.preamble, make([]byte, 128)) {
		return fmt.Errorf("the preamble is another one")
	}
	for tag, raw := range src.meta {
		switch tag {
		case 0x00020000, 0x00020001, 0x00020002, 0x00020003, 0x00020010, 0x00020012, 0x00020013:
		default:
			if !bytes.Equal(raw, dst.meta[tag]) {
				return fmt.Errorf("element %v of the file meta information is another one", Tag(tag))
			}
		}
	}
	total := 0
	for tag, raw := range dst.meta {
		if tag != 0x00020000 {
			total += len(raw)
		}
		if src.meta[tag] == nil && tag > 0x00020013 {
			return fmt.Errorf("element %v of the file meta information is new", Tag(tag))
		}
		if !bytes.Equal(raw, src.meta[tag]) {
			v.changed(tag)
		}
	}
	switch length := dst.values[0x00020000]; {
	case dst.syntax != v.expected.Syntax:
		return fmt.Errorf("the transfer syntax is another one")
	case len(length) != 4 || int(binary.LittleEndian.Uint32(length)) != total:
		return fmt.Errorf("the length of the file meta information is wrong")
	}
	return nil
}

// uids looks whether the file meta information names the class and instance of the source: as its data set
// does, or, where that does not, as its file meta information does.
func (v *verifier) uids() error {
	for meta, tag := range map[uint32]uint32{0x00020002: 0x00080016, 0x00020003: 0x00080018} {
		want := bytes.TrimRight(v.src.values[tag], " \x00")
		if len(want) == 0 {
			want = bytes.TrimRight(v.src.values[meta], " \x00")
		}
		if !bytes.Equal(bytes.TrimRight(v.dst.values[meta], " \x00"), want) {
			return fmt.Errorf("element %v of the file meta information is not that of the data set", Tag(meta))
		}
	}
	return nil
}

// sets compares the data sets.
func (v *verifier) sets() error {
	planar := v.expected.Samples > 1 // to be added where the source has none
	for {
		s, err := v.source()
		if err != nil {
			return fmt.Errorf("the source: %w", err)
		}
		d, err := v.dst.next()
		if err != nil {
			return fmt.Errorf("the result: %w", err)
		}
		if s.depth == 0 && s.kind == 'e' && s.tag != 0x7fe00010 {
			v.src.values[s.tag] = s.value
		}
		if s.depth == 0 && s.tag == 0x00280006 {
			planar = false
		}
		for d.depth == 0 && d.kind == 'e' && d.tag != s.tag && (planar && d.tag == 0x00280006 || d.tag == 0x7fe00001 || d.tag == 0x7fe00002) {
			if d.tag == 0x00280006 && !bytes.Equal(d.value, []byte{0, 0}) {
				return fmt.Errorf("planar configuration is not 0")
			}
			v.changed(d.tag)
			v.dst.values[d.tag] = d.value
			if d, err = v.dst.next(); err != nil {
				return fmt.Errorf("the result: %w", err)
			}
		}
		if err := v.same(&s, &d); err != nil {
			return err
		}
		if s.kind == 0 {
			return nil
		}
	}
}

// source is the next token of the source that the result has too.
func (v *verifier) source() (token, error) {
	verbatim := !v.src.implicit && !v.src.big
	for {
		t, err := v.src.next()
		length := t.kind == 'e' && t.tag&0xffff == 0 && !v.opaque()
		switch {
		case err != nil, t.kind != 'e':
			return t, err
		case verbatim && t.depth == 0 && (t.tag == 0x00280000 || t.tag == 0x7fe00000), !verbatim && length,
			t.depth == 0 && (t.tag == 0x7fe00001 || t.tag == 0x7fe00002):
			v.changed(t.tag)
		default:
			return t, nil
		}
	}
}

// opaque reports whether the source is inside of a sequence of an unknown value representation, which
// is copied as it stands: only there is the result implicit.
func (v *verifier) opaque() bool {
	n := len(v.dst.open)
	return n > 0 && v.dst.open[n-1].implicit
}

// same compares two tokens.
func (v *verifier) same(s, d *token) error {
	if s.depth == 0 && s.tag == 0x7fe00010 && (s.kind == 'e' || s.kind == 'p') {
		return v.pixels(s, d)
	}
	if s.kind != d.kind || s.tag != d.tag || s.depth != d.depth || s.undefined != d.undefined {
		return fmt.Errorf("the result has element %v where the source has %v", Tag(d.tag), Tag(s.tag))
	}
	if s.depth == 0 && s.kind == 'e' && s.tag == 0x00280004 {
		if !bytes.Equal(bytes.TrimRight(d.value, " \x00"), []byte(v.expected.Photometric)) {
			return fmt.Errorf("element %v is not what it has to be", Tag(s.tag))
		}
		if !bytes.Equal(s.value, d.value) {
			v.changed(s.tag)
		}
		return nil
	}
	if s.depth == 0 && s.kind == 'e' && s.tag == 0x00280006 && v.expected.Samples > 1 {
		if !bytes.Equal(d.value, []byte{0, 0}) {
			return fmt.Errorf("element %v is not 0", Tag(s.tag))
		}
		if !bytes.Equal(v.turned(s, "US"), d.value) {
			v.changed(s.tag)
		}
		return nil
	}
	if !v.src.implicit && !v.src.big {
		if !bytes.Equal(s.raw, d.raw) {
			return fmt.Errorf("element %v has other bytes", Tag(s.tag))
		}
		return nil
	}
	return v.equal(s, d)
}

// equal compares an element of the source with that of another encoding.
func (v *verifier) equal(s, d *token) error {
	if s.kind != 'e' && s.kind != 's' || d.implicit {
		if d.implicit && !bytes.Equal(s.value, d.value) {
			return fmt.Errorf("element %v has another value", Tag(s.tag))
		}
		return nil
	}
	allowed := []string{s.vr}
	if s.implicit {
		allowed = []string{"UN"}
		if def, ok := define(Tag(s.tag)); ok && s.tag>>16&1 == 0 {
			allowed = strings.Split(def.vr, "|")
			if def.vr == "SQ" && s.kind == 'e' {
				allowed = []string{"UN"} // it holds no items
			}
		} else if s.tag>>16&1 == 1 && s.tag&0xffff >= 0x10 && s.tag&0xffff <= 0xff {
			allowed = []string{"LO"}
		}
	}
	if s.implicit && s.kind == 's' && allowed[0] != "UN" {
		allowed = []string{"SQ"}
	}
	if long := len(s.value) > 65534 && d.vr == "UN"; !long && !slices.Contains(allowed, d.vr) {
		return fmt.Errorf("element %v has the value representation %s", Tag(s.tag), d.vr)
	}
	vr := s.vr
	if s.implicit {
		vr = d.vr
	}
	if !bytes.Equal(v.turned(s, vr), d.value) {
		return fmt.Errorf("element %v has another value", Tag(s.tag))
	}
	return nil
}

// turned is the value of a token of the source in little endian.
func (v *verifier) turned(s *token, vr string) []byte {
	width := map[string]int{"US": 2, "SS": 2, "AT": 2, "OW": 2, "UL": 4, "SL": 4, "FL": 4, "OF": 4, "OL": 4, "FD": 8, "OD": 8, "OV": 8, "SV": 8, "UV": 8}[vr]
	if !v.src.big || width == 0 || s.implicit {
		return s.value
	}
	out := bytes.Clone(s.value)
	for at := width; at <= len(out); at += width {
		slices.Reverse(out[at-width : at])
	}
	return out
}

// pixels looks at the pixel data of the result.
func (v *verifier) pixels(s, d *token) error {
	x := v.expected
	if d.tag != 0x7fe00010 || d.depth != 0 {
		return fmt.Errorf("the result has element %v where its pixel data have to be", Tag(d.tag))
	}
	v.changed(d.tag)
	v.proof.image = v.src.pixelHead()
	if s.kind == 'e' {
		v.proof.source, v.proof.words = s.value, v.src.big && s.vr != "OB"
	}
	if x.Frames == 0 {
		if d.kind != 'e' || int64(len(d.value)) != x.Native+x.Native&1 {
			return fmt.Errorf("the native pixel data have %d bytes and not %d", len(d.value), x.Native)
		}
		v.proof.Native = d.value[:x.Native]
		return nil
	}
	if d.kind != 'p' || d.vr != "OB" || len(d.fragments) != 1+x.Frames {
		return fmt.Errorf("the pixel data are not %d fragments", x.Frames)
	}
	v.proof.Frames = d.fragments[1:]
	table, extended := d.fragments[0], v.dst.values[0x7fe00001]
	if len(table)+len(extended) > 0 && len(table) != 4*x.Frames && (len(table) > 0 || len(extended) != 8*x.Frames) {
		return fmt.Errorf("the offset tables have %d and %d bytes for %d frames", len(table), len(extended), x.Frames)
	}
	for i := range len(table) / 4 {
		if int(binary.LittleEndian.Uint32(table[4*i:])) != d.items[i] {
			return fmt.Errorf("the Basic Offset Table is wrong for frame %d", i+1)
		}
	}
	for i := range len(extended) / 8 {
		if binary.LittleEndian.Uint64(extended[8*i:]) != uint64(d.items[i]) {
			return fmt.Errorf("the Extended Offset Table is wrong for frame %d", i+1)
		}
	}
	for i, frame := range v.proof.Frames {
		if len(frame)&1 == 1 {
			return fmt.Errorf("frame %d has an odd length", i+1)
		}
	}
	return nil
}
