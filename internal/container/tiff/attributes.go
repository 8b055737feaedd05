package tiff

import (
	"bytes"
	"iter"

	"github.com/pelmill/pelmill/internal/container"
)

// Tags of attributes (TIFF 6.0, section 8; XMP specification, part 3, 3.3.3; ICC.1,
// B.4).
const (
	tagXResolution    = 282
	tagYResolution    = 283
	tagResolutionUnit = 296
	tagXMP            = 700
	TagICC            = 34675
)

// texts are the fields that are meant for people, under their names.
var texts = map[uint16]string{
	269: "DocumentName", 270: "ImageDescription", 271: "Make", 272: "Model", 285: "PageName",
	305: "Software", 306: "DateTime", 315: "Artist", 316: "HostComputer", 33432: "Copyright",
}

// Attributes yields the attributes of the directory at a place. A field whose values
// lie outside of the structure is passed over: it is no part of the image.
func (s *Structure) Attributes(at uint32) iter.Seq[container.Attribute] {
	return func(yield func(container.Attribute) bool) {
		density := container.Attribute{Kind: container.Density, Resolution: container.Resolution{Per: container.Inch}}
		for f, err := range s.Fields(at) {
			if err != nil {
				break
			}
			v, err := s.Values(f)
			if err != nil {
				continue
			}
			r := &density.Resolution
			switch f.Tag {
			case tagXResolution:
				r.X = s.rational(&v)
			case tagYResolution:
				r.Y = s.rational(&v)
			case tagResolutionUnit:
				r.Per = map[int64]container.Unit{2: container.Inch, 3: container.Centimetre}[v.Int(s.Order, 0)]
			default:
				if a, ok := block(f.Tag, v.Raw); ok && !yield(a) {
					return
				}
			}
		}
		if density.Resolution.X.Denominator != 0 && density.Resolution.Y.Denominator != 0 {
			yield(density)
		}
	}
}

// block is the attribute of a field that is a block of bytes.
func block(tag uint16, raw []byte) (container.Attribute, bool) {
	if len(raw) == 0 {
		return container.Attribute{}, false
	}
	switch tag {
	case TagICC:
		return container.Attribute{Kind: container.ICC, Data: raw}, true
	case tagXMP:
		return container.Attribute{Kind: container.XMP, Data: raw}, true
	}
	// Texts end with a zero byte, and padding with more of them is common.
	text := bytes.TrimRight(raw, "\x00")
	return container.Attribute{Kind: container.Text, Key: texts[tag], Data: text}, texts[tag] != "" && len(text) > 0
}

func (s *Structure) rational(v *Values) container.Rational {
	if v.Type != Rational || v.Count != 1 {
		return container.Rational{}
	}
	return container.Rational{Numerator: s.Order.Uint32(v.Raw), Denominator: s.Order.Uint32(v.Raw[4:])}
}
