package jpeg

import (
	"bytes"
	"encoding/binary"
	"iter"

	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/exif"
)

// What the segments of metadata begin with.
const (
	JFIF    = "JFIF\x00"                         // APP0 (JFIF 1.02)
	XMP     = "http://ns.adobe.com/xap/1.0/\x00" // APP1 (XMP specification, part 3, 1.1.3)
	Profile = "ICC_PROFILE\x00"                  // APP2 (ICC.1, B.4)
)

// Attributes yields the attributes in the segments before the first scan. The ICC
// profile is joined from its segments and comes last; one with a missing or doubled
// segment is passed over: it is not part of the image.
func Attributes(data []byte) iter.Seq[container.Attribute] {
	return func(yield func(container.Attribute) bool) {
		var icc profile
		for s, err := range Segments(data) {
			if err != nil {
				break
			}
			if s.Marker == APP2 && bytes.HasPrefix(s.Body, []byte(Profile)) {
				icc.add(s.Body[len(Profile):])
				continue
			}
			if a, ok := attribute(&s); ok && !yield(a) {
				return
			}
		}
		if block := icc.join(); block != nil {
			yield(container.Attribute{Kind: container.ICC, Data: block})
		}
	}
}

func attribute(s *Segment) (container.Attribute, bool) {
	switch s.Marker {
	case APP0:
		if bytes.HasPrefix(s.Body, []byte(JFIF)) && len(s.Body) >= 12 {
			return density(s.Body), true
		}
	case APP1:
		if block, ok := bytes.CutPrefix(s.Body, []byte(exif.Prefix)); ok {
			return container.Attribute{Kind: container.EXIF, Data: block}, true
		}
		if packet, ok := bytes.CutPrefix(s.Body, []byte(XMP)); ok {
			return container.Attribute{Kind: container.XMP, Data: packet}, true
		}
	case COM:
		// Some programs end a comment with a zero byte.
		if text := bytes.TrimRight(s.Body, "\x00"); len(text) > 0 {
			return container.Attribute{Kind: container.Text, Key: "Comment", Data: text}, true
		}
	}
	return container.Attribute{}, false
}

// density reads a JFIF segment: name, version of 2 bytes, unit, then samples per unit
// along x and y.
func density(body []byte) container.Attribute {
	be := binary.BigEndian
	return container.Attribute{Kind: container.Density, Resolution: container.Resolution{
		X:   container.Rational{Numerator: uint32(be.Uint16(body[8:])), Denominator: 1},
		Y:   container.Rational{Numerator: uint32(be.Uint16(body[10:])), Denominator: 1},
		Per: map[byte]container.Unit{1: container.Inch, 2: container.Centimetre}[body[7]],
	}}
}

// profile joins an ICC profile from its segments (ICC.1, B.4): number of the segment
// from 1, count of segments, data.
type profile struct {
	parts [256][]byte
	count byte
	bad   bool
}

func (p *profile) add(body []byte) {
	if len(body) < 3 {
		return
	}
	number, count, part := body[0], body[1], body[2:]
	if number == 0 || number > count || p.parts[number] != nil || p.count != 0 && p.count != count {
		p.bad = true
		return
	}
	p.count = count
	p.parts[number] = part
}

// join returns nil for a profile that is not whole.
func (p *profile) join() []byte {
	if p.bad || p.count == 0 {
		return nil
	}
	for i := 1; i <= int(p.count); i++ {
		if p.parts[i] == nil {
			return nil
		}
	}
	return bytes.Join(p.parts[1:int(p.count)+1], nil)
}
