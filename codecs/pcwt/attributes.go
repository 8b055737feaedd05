package pcwt

import (
	"encoding/binary"
	"math"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// Kinds of attributes, in the order in which they are written.
const (
	kindICC = 1 + iota
	kindEXIF
	kindXMP
	kindDensity
	kindText
	kindSpacing
	kindGeometry
)

var little = binary.LittleEndian

// appendAttributes writes the section of attributes.
func appendAttributes(data []byte, m *raster.Meta) []byte {
	start := len(data)
	data = little.AppendUint32(data, 0)
	add := func(kind byte, b []byte) {
		if len(b) > 0 {
			data = append(little.AppendUint32(append(data, kind), uint32(len(b))), b...)
		}
	}
	numbers := func(list ...float64) (b []byte) {
		for _, v := range list {
			b = little.AppendUint64(b, math.Float64bits(v))
		}
		return b
	}
	add(kindICC, m.ICC)
	add(kindEXIF, m.EXIF)
	add(kindXMP, m.XMP)
	if m.Density != (raster.Density{}) {
		add(kindDensity, append(numbers(m.Density.X, m.Density.Y), byte(m.Density.Unit)))
	}
	var text []byte
	for _, t := range m.Text {
		for _, s := range []string{t.Key, t.Value} {
			text = append(little.AppendUint32(text, uint32(len(s))), s...)
		}
	}
	add(kindText, text)
	if m.Spacing != [3]float64{} {
		add(kindSpacing, numbers(m.Spacing[:]...))
	}
	add(kindGeometry, m.Geometry)
	little.PutUint32(data[start:], uint32(len(data)-start-4))
	return data
}

// readAttributes reads what stands behind the length of the section.
func readAttributes(data []byte) (m raster.Meta, err error) {
	last := byte(0)
	for len(data) > 0 {
		if len(data) < 5 || uint64(little.Uint32(data[1:])) > uint64(len(data)-5) {
			return m, codec.Malformedf("pcwt: attributes are cut short")
		}
		kind, n := data[0], int(little.Uint32(data[1:]))
		b := data[5 : 5+n : 5+n]
		data = data[5+n:]
		if kind <= last || n == 0 {
			return m, codec.Malformedf("pcwt: attribute %d is empty or out of order", kind)
		}
		last = kind
		if err := readAttribute(&m, kind, append([]byte(nil), b...)); err != nil {
			return m, err
		}
	}
	return m, nil
}

func readAttribute(m *raster.Meta, kind byte, b []byte) error {
	number := func(i int) float64 { return math.Float64frombits(little.Uint64(b[8*i:])) }
	wrong := codec.Malformedf("pcwt: attribute %d has %d bytes", kind, len(b))
	switch kind {
	case kindICC:
		m.ICC = b
	case kindEXIF:
		m.EXIF = b
	case kindXMP:
		m.XMP = b
	case kindDensity:
		if len(b) != 17 || b[16] > byte(raster.Metre) {
			return wrong
		}
		m.Density = raster.Density{X: number(0), Y: number(1), Unit: raster.Unit(b[16])}
	case kindText:
		var parts []string
		for len(b) > 0 {
			if len(b) < 4 || uint64(little.Uint32(b)) > uint64(len(b)-4) {
				return wrong
			}
			n := int(little.Uint32(b))
			parts, b = append(parts, string(b[4:4+n])), b[4+n:]
		}
		if len(parts)%2 != 0 {
			return wrong
		}
		for i := 0; i < len(parts); i += 2 {
			m.Text = append(m.Text, raster.Text{Key: parts[i], Value: parts[i+1]})
		}
	case kindSpacing:
		if len(b) != 24 {
			return wrong
		}
		m.Spacing = [3]float64{number(0), number(1), number(2)}
	case kindGeometry:
		if len(b) != raster.NIfTIGeometry {
			return wrong
		}
		m.Geometry = b
	default:
		return codec.Unsupportedf("pcwt: attribute of kind %d", kind)
	}
	return nil
}
