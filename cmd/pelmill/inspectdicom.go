package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/container/dicom"
)

// shownValue bounds a value that is shown, in bytes.
const shownValue = 64

// describeDICOM describes a DICOM file, also one that is never rewritten: transfer syntax, shape, what
// would become of it, and its elements by tag. Values are shown only where they are asked for, as
// they name patients.
func describeDICOM(data []byte, values bool) ([]codec.Field, error) {
	f, err := dicom.Open(data, 1<<30)
	if err != nil {
		return nil, err
	}
	fields := []codec.Field{
		{Name: "format", Value: "DICOM"},
		{Name: "transfer syntax", Value: f.Syntax.Name + " (" + f.Meta.Syntax + ")"},
		{Name: "data set", Value: fmt.Sprintf("%d bytes, %d elements", len(f.Set), len(f.Elements))},
	}
	_, _, err = imageio.OpenDICOM(data, nil)
	if m := &f.Image; m.Rows > 0 && m.Columns > 0 {
		bits := fmt.Sprintf("%d of %d", m.Stored, m.Allocated)
		if m.Signed {
			bits += " signed"
		}
		fields = append(fields, codec.Field{Name: "width", Value: strconv.Itoa(m.Columns)}, codec.Field{Name: "height", Value: strconv.Itoa(m.Rows)},
			codec.Field{Name: "frames", Value: strconv.Itoa(m.Frames)}, codec.Field{Name: "channels", Value: strconv.Itoa(m.Samples)}, codec.Field{Name: "bits", Value: bits})
	}
	if e := f.PixelElement(); e != nil {
		fields = append(fields, codec.Field{Name: "pixel data", Value: fmt.Sprintf("%d bytes", e.End-e.Value)})
	}
	fields = append(fields, codec.Field{Name: "compress", Value: fate(err)})
	for i := range f.Meta.Elements {
		e := &f.Meta.Elements[i]
		fields = append(fields, elementField(e, f.MetaText(e, shownValue), values))
	}
	for i := range f.Elements {
		e := &f.Elements[i]
		fields = append(fields, elementField(e, f.Text(e, shownValue), values))
	}
	return fields, nil
}

// elementField is a line for an element.
func elementField(e *dicom.Element, value string, values bool) codec.Field {
	s := fmt.Sprintf("%s %d bytes", e.VR, e.End-e.Value)
	if k := dicom.Keyword(e.Tag); k != "" {
		s += ", " + k
	}
	if values && value != "" {
		s += ": " + strconv.Quote(value)
	}
	return codec.Field{Name: e.Tag.String(), Value: s}
}

// fate is what compress --codec jpeg2000 does with a DICOM file of which the headers gave err.
func fate(err error) string {
	var unsupported *imageio.UnsupportedError
	switch {
	case err == nil:
		return "codes the pixel data again, unless a frame or the bits above those stored say otherwise"
	case errors.As(err, &unsupported):
		return "leaves it alone: " + sentence(err)
	}
	return "rejects it: " + sentence(err)
}
