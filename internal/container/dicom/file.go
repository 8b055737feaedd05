package dicom

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/raster"
)

// File is a DICOM file whose elements were found. It shares the bytes that it was opened from.
type File struct {
	Data     []byte
	Meta     *Meta
	Syntax   Syntax
	Set      []byte    // the data set; inflated where the transfer syntax is deflated
	Elements []Element // of the top of the data set, with offsets in Set
	Image    Image
	UIDs     UIDs

	pixels     int            // index of PixelData in Elements; -1: there are none
	nested     bool           // an item has encapsulated data
	signatures bool           // a data set has digital signatures
	count      map[Tag]int    // of the elements that the rewriter reads or changes
	values     map[Tag][]byte // of those
}

// Image is what a data set says of its pixel data (PS3.3 C.7.6.3).
type Image struct {
	Rows, Columns, Samples     int
	Allocated, Stored, HighBit int
	Signed                     bool
	Planar                     int // 0: interleaved, 1: a plane for each sample; 0 where it is absent
	Photometric                string
	Frames                     int
}

// Shape is the shape of all frames.
func (m *Image) Shape() raster.Shape {
	return raster.Shape{Width: m.Columns, Height: m.Rows, Depth: m.Frames, Channels: m.Samples, Bits: m.Stored, Signed: m.Signed, Frames: m.Frames > 1}
}

// FrameBytes is the size of a native frame in bytes.
func (m *Image) FrameBytes() int { return m.Rows * m.Columns * m.Samples * (m.Allocated / 8) }

// watched are the elements of the top of a data set that the rewriter reads or changes.
var watched = []Tag{directoryRecords, sopClass, sopInstance, samplesPerPixel, photometric, planarConfiguration, numberOfFrames, rows, columns,
	bitsAllocated, bitsStored, highBit, pixelRepresentation, providerURL, spectroscopyData, extendedOffsets, extendedLengths, floatPixelData, doublePixelData, PixelData}

// providerURL says where pixel data are that are not in the file (PS3.3 C.7.6.3.3).
const providerURL Tag = 0x00287fe0

// spectroscopyData are what instances of MR spectroscopy have in place of pixel data, with Rows and Columns (PS3.3 C.8.14.2).
const spectroscopyData Tag = 0x56000020

// Open finds the elements of a file. inflated bounds the bytes of a data set that is
// deflated. The error is a [*container.FormatError] where the file is damaged, and a
// [*container.UnsupportedError] where its transfer syntax cannot be told, or its data set cannot be read as
// that of an unknown one.
func Open(data []byte, inflated int64) (*File, error) {
	f := &File{Data: data, pixels: -1, count: map[Tag]int{}, values: map[Tag][]byte{}}
	var err error
	if f.Meta, err = ReadMeta(data); err != nil {
		return nil, err
	}
	if rest := len(data) - f.Meta.End; rest == 0 || rest < 8 && f.Meta.Syntax == "" {
		return nil, container.Malformed("it ends with its file meta information")
	}
	if f.Meta.Syntax == "" {
		return nil, leave(ReasonSyntax, "it does not say its transfer syntax")
	}
	known := true
	if f.Syntax, known = SyntaxOf(f.Meta.Syntax); !known {
		f.Syntax = Syntax{Name: "unknown", Encoding: explicitLittle, Coding: Lossy}
	}
	f.Set = data[f.Meta.End:]
	if f.Syntax.Deflated {
		if f.Set, err = inflate(f.Set, inflated); err != nil {
			return nil, err
		}
	}
	if err := f.walk(); err != nil {
		if !known {
			return nil, leave(ReasonSyntax, "its transfer syntax is not known")
		}
		return nil, err
	}
	_ = f.describe() // as far as it goes; Check says what is missing
	if f.Syntax.Encoding.Implicit && f.Image.Signed {
		for i := range f.Elements {
			if e := &f.Elements[i]; e.VR == "US" {
				e.VR = implicitVR(e.Tag, true)
			}
		}
	}
	f.UIDs = UIDs{Class: text(f.values[sopClass]), Instance: text(f.values[sopInstance]), Syntax: f.Meta.Syntax}
	return f, nil
}

// inflate returns the data set of a deflated one (PS3.5 A.5), which has no header of zlib.
func inflate(deflated []byte, limit int64) ([]byte, error) {
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(flate.NewReader(bytes.NewReader(deflated)), limit+1))
	switch {
	case n > limit:
		return nil, container.OverLimit("its data set inflates to more than %d bytes", limit)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, container.ErrCutShort
	case err != nil:
		return nil, container.Malformed("its data set does not inflate")
	}
	return b.Bytes(), nil
}

// walk finds the elements. Value representations that depend on the sign of pixels are those of unsigned ones.
func (f *File) walk() error {
	w := walker{data: f.Set, enc: f.Syntax.Encoding, visitor: (*collector)(f)}
	end, err := w.elements(0, len(f.Set), 0, false)
	if err != nil {
		return err
	}
	if n := len(f.Elements); n > 0 && f.Elements[n-1].Undefined {
		f.Elements[n-1].End = end
	}
	f.pixels = slices.IndexFunc(f.Elements, func(e Element) bool { return e.Tag == PixelData })
	for i := range f.Elements {
		if e := &f.Elements[i]; slices.Contains(watched, e.Tag) && !e.Undefined && e.Tag != PixelData {
			f.values[e.Tag] = f.Set[e.Value:e.End]
		}
	}
	return nil
}

// collector fills a File.
type collector File

func (c *collector) element(e *Element, depth int, _ Encoding) error {
	switch {
	case depth > 0 && e.Undefined && e.VR != "SQ" && e.VR != "UN":
		c.nested = true
	case e.Tag == digitalSignatures:
		c.signatures = true
	}
	if depth > 0 {
		return nil
	}
	if n := len(c.Elements); n == maxElements {
		return container.OverLimit("it has more than %d elements", maxElements)
	} else if n > 0 && c.Elements[n-1].Undefined {
		c.Elements[n-1].End = e.Header
	}
	c.Elements = append(c.Elements, *e)
	if slices.Contains(watched, e.Tag) {
		c.count[e.Tag]++
	}
	return nil
}

func (*collector) item(int, int, Encoding) error { return nil }
func (*collector) itemEnded(bool) error          { return nil }
func (*collector) sequenceEnded(bool) error      { return nil }

// PixelElement is the element with the pixel data, nil if there are none.
func (f *File) PixelElement() *Element {
	if f.pixels < 0 {
		return nil
	}
	return &f.Elements[f.pixels]
}

// number is the value of an element of value representation US; ok is false where there is none.
func (f *File) number(t Tag) (v int, ok bool) {
	value := f.values[t]
	if len(value) != 2 {
		return 0, false
	}
	return int(f.Syntax.Encoding.Order.Uint16(value)), true
}

// describe reads what the data set says of its pixel data. The error names the element
// that is absent or cannot be read.
func (f *File) describe() error {
	m := &f.Image
	for _, n := range []struct {
		tag   Tag
		value *int
	}{{samplesPerPixel, &m.Samples}, {rows, &m.Rows}, {columns, &m.Columns}, {bitsAllocated, &m.Allocated}, {bitsStored, &m.Stored}, {highBit, &m.HighBit}} {
		var ok bool
		if *n.value, ok = f.number(n.tag); !ok {
			return leave(ReasonShape, "it does not say %v", n.tag)
		}
	}
	sign, ok := f.number(pixelRepresentation)
	if !ok || sign > 1 {
		return leave(ReasonShape, "it does not say %v", pixelRepresentation)
	}
	m.Signed = sign == 1
	m.Planar, _ = f.number(planarConfiguration)
	m.Photometric = text(f.values[photometric])
	m.Frames = 1
	if s := strings.TrimSpace(text(f.values[numberOfFrames])); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return leave(ReasonFrames, "its number of frames cannot be read")
		}
		m.Frames = n
	}
	return nil
}
