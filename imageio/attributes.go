package imageio

import (
	"fmt"
	"iter"
	"slices"

	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/raster"
)

// What is read of attributes at most, in bytes. A file that has more is read without
// them, and its header says so.
const (
	xmpLimit  = 16 << 20
	textLimit = 1 << 20 // of all texts, and
	textCost  = 512     // of each of them for its place in lists
)

// attributes notes what a file has besides its samples, for attach. ICC profiles and
// EXIF blocks are left to readers that treat them themselves. No memory is taken yet
// but for a list, which the limit of texts bounds.
func (p *opened) attributes(list iter.Seq[container.Attribute]) {
	text, seen := 0, map[container.Kind]bool{}
	for a := range list {
		if a.Kind == container.ICC || a.Kind == container.EXIF {
			p.has(a.Kind)
			continue
		}
		limit := 0
		switch {
		case a.Kind == container.Density && !seen[a.Kind] && density(a.Resolution) != (raster.Density{}):
		case a.Kind == container.XMP && !seen[a.Kind]:
			limit = xmpLimit
		case a.Kind == container.Text:
			limit = textLimit - text - textCost
		default:
			continue
		}
		n := len(a.Data)
		if a.Zipped {
			n = min(limit, 1032*n) // the most that Deflate reaches
		}
		if n > limit {
			p.leftOut(a.Kind)
			continue
		}
		if a.Kind == container.Text {
			text += n + textCost
			p.metadataBytes += textCost
		}
		seen[a.Kind] = true
		p.has(a.Kind)
		p.metadata = append(p.metadata, a)
		p.metadataBytes += 2 * int64(n)
	}
}

// withoutInks drops a profile of CMYK, whose samples were converted to RGB: it would say of these that they are inks. list are
// the attributes of the file, which come back without it.
func (p *opened) withoutInks(meta *raster.Meta, list iter.Seq[container.Attribute]) iter.Seq[container.Attribute] {
	const space = 16 // where a profile names the colour space of its samples (ICC.1:2022, 7.2.8)
	if len(meta.ICC) < space+4 || string(meta.ICC[space:space+4]) != "CMYK" {
		return list
	}
	meta.ICC = nil
	if p.Note == "" {
		p.Note = "it was read without its ICC profile, which is of CMYK, while its samples became RGB"
	}
	return func(yield func(container.Attribute) bool) {
		for a := range list {
			if a.Kind != container.ICC && !yield(a) {
				return
			}
		}
	}
}

// has adds an attribute to the names in the header.
func (p *opened) has(kind container.Kind) {
	name := map[container.Kind]string{
		container.ICC: raster.AttributeICC, container.EXIF: raster.AttributeEXIF, container.XMP: raster.AttributeXMP,
		container.Density: raster.AttributeDensity, container.Text: raster.AttributeText,
	}[kind]
	if !slices.Contains(p.Attributes, name) {
		p.Attributes = append(p.Attributes, name)
	}
}

func (p *opened) leftOut(kind container.Kind) {
	what, limit := "its texts", textLimit
	if kind == container.XMP {
		what, limit = "its XMP packet", xmpLimit
	}
	note := fmt.Sprintf("it was read without %s of more than %d bytes", what, limit)
	if p.Note == "" {
		p.Note = note
	}
}

// attach gives the attributes to the image that was decoded.
func (p *opened) attach(m *raster.Meta) {
	for _, a := range p.metadata {
		switch a.Kind {
		case container.XMP:
			// A packet that does not inflate is dropped, as other readers do.
			if data, ok := a.Bytes(xmpLimit); ok && m.XMP == nil {
				m.XMP = append([]byte(nil), data...)
			}
		case container.Text:
			if data, ok := a.Bytes(textLimit); ok {
				m.Text = append(m.Text, raster.Text{Key: a.Key, Value: string(data)})
			}
		case container.Density:
			if d := density(a.Resolution); m.Density == (raster.Density{}) {
				m.Density = d
			}
		}
	}
	if m.Orientation > 4 { // of the upright image width and height have changed places
		m.Density.X, m.Density.Y = m.Density.Y, m.Density.X
	}
}

// density is zero where r says nothing: a number that is not above 0, or equal numbers
// without a unit.
func density(r container.Resolution) raster.Density {
	if r.X.Numerator == 0 || r.Y.Numerator == 0 || r.X.Denominator == 0 || r.Y.Denominator == 0 {
		return raster.Density{}
	}
	d := raster.Density{
		X: float64(r.X.Numerator) / float64(r.X.Denominator),
		Y: float64(r.Y.Numerator) / float64(r.Y.Denominator),
	}
	switch r.Per {
	case container.Inch:
		d.Unit = raster.Inch
	case container.Centimetre:
		d.Unit = raster.Centimetre
	case container.Metre:
		d.Unit = raster.Metre
	default:
		if d.X == d.Y {
			return raster.Density{}
		}
	}
	return d
}
