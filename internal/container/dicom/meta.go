package dicom

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/internal/container"
)

// headerBytes are the preamble and the prefix "DICM" (PS3.10 7.1).
const headerBytes = 128 + 4

// Is reports whether data are a DICOM file: they have the prefix behind the preamble.
func Is(data []byte) bool {
	return len(data) >= headerBytes && string(data[128:headerBytes]) == "DICM"
}

// Bare reports whether data look like a data set, or file meta information, without a
// preamble: an element of group 0002 or 0008 with the value representation that the standard
// has for it.
func Bare(data []byte) bool {
	if len(data) < 2 || data[0]|data[1] != 2 && data[0]|data[1] != 8 { // the group, in one order of bytes or the other
		return false
	}
	for _, enc := range []Encoding{explicitLittle, implicitLittle, explicitBig} {
		w := walker{data: data, enc: enc}
		e, err := w.header(0, len(data))
		if err != nil || e.Undefined || e.End > len(data) || e.Tag.Group() != 2 && e.Tag.Group() != 8 || e.End-e.Value > 64 {
			continue
		}
		if d, ok := define(e.Tag); ok && VR(d.vr) == e.VR || e.Tag.groupLength() && e.VR == "UL" && e.End-e.Value == 4 {
			return true
		}
	}
	return false
}

// Meta is the file meta information (PS3.10 7.1), with the UIDs as they stand in the file,
// without padding; empty where they are absent.
type Meta struct {
	Elements []Element // of group 0002, in the order of the file
	End      int       // offset of the data set
	Syntax   string    // Transfer Syntax UID (0002,0010)
	Class    string    // Media Storage SOP Class UID (0002,0002)
	Instance string    // Media Storage SOP Instance UID (0002,0003)
}

// ReadMeta reads the file meta information, which is in Explicit VR Little Endian and goes
// as far as there are elements of group 0002: their length (0002,0000) is wrong in many files.
// data may end behind it.
func ReadMeta(data []byte) (*Meta, error) {
	if !Is(data) {
		return nil, container.Malformed("it has no DICM behind a preamble of 128 bytes")
	}
	m := &Meta{End: headerBytes}
	w := walker{data: data, enc: explicitLittle}
	for len(data)-m.End >= 8 && binary.LittleEndian.Uint16(data[m.End:]) == 2 {
		e, err := w.header(m.End, len(data))
		switch {
		case err != nil:
			return nil, err
		case e.Undefined:
			return nil, container.Malformed("element %v of the file meta information has no length", e.Tag)
		case e.End > len(data):
			return nil, overEnd(&e, len(data))
		case len(m.Elements) == maxMeta:
			return nil, container.OverLimit("it has more than %d elements of file meta information", maxMeta)
		}
		value := data[e.Value:e.End]
		switch e.Tag {
		case metaSyntax:
			m.Syntax = text(value)
		case metaClass:
			m.Class = text(value)
		case metaInstance:
			m.Instance = text(value)
		}
		m.Elements = append(m.Elements, e)
		m.End = e.End
	}
	return m, nil
}

// maxMeta bounds the elements of the file meta information, of which the standard has 18.
const maxMeta = 1000

// UIDs are what names an instance and its form.
type UIDs struct {
	Class, Instance string // SOP Class UID (0008,0016) and SOP Instance UID (0008,0018) of the data set
	Syntax          string // Transfer Syntax UID
}
