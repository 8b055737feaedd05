// Package jpeglossless decodes the lossless process of JPEG with Huffman codes
// (ITU-T T.81, annex H; SOF3), which DICOM knows as the transfer syntaxes .57 (any
// predictor) and .70 (predictor 1).
//
//	h, err := jpeglossless.ReadHeader(data)  // shape, no samples
//	pix := make([]byte, h.Size())            // after limits were checked
//	err = jpeglossless.Decode(data, h, pix)
//
// Samples come out as package raster wants them: channels interleaved, one byte for
// precisions of up to 8 bits, two bytes little-endian for more. They are the numbers
// of the file: no colour is converted, whatever its APP segments say, and what the
// point transform dropped is zero. Decode takes memory for two rows of samples
// besides.
//
// # What is read
//
// Precisions of 2 to 16 bits; one to four components, interleaved or in scans of
// their own; predictors 1 to 7; point transforms; restart intervals of whole rows.
//
// What writers of DICOM files do against the standard and what has but one meaning:
// sampling factors other than 1 where all components have the same and each is in a
// scan of its own; no EOI, or bytes behind it; bytes between segments; a table for AC
// coefficients that nothing uses; code 16 for differences of 32,768 at any precision.
//
// # What is refused
//
// Frames of other processes, which are lossy, arithmetic or hierarchical; components
// of different sizes; a height told by a DNL segment; restart intervals that end in
// the middle of a row (H.1.1 forbids them). And damage: data that end early, codes
// that no table has, a sample that does not fit its precision, a component that no
// scan or two scans hold. Two known bugs of writers cannot be told from damage and
// are not undone: the overflow of 16-bit sums in predictor 6, and tables of the
// Cornell library with symbols above 16.
package jpeglossless

import (
	"fmt"

	segments "github.com/pelmill/pelmill/internal/container/jpeg"
)

// FormatError says that a file is malformed.
type FormatError string

func (e FormatError) Error() string { return "jpeglossless: " + string(e) }

// UnsupportedError says that a file uses a feature that is not read here.
type UnsupportedError string

func (e UnsupportedError) Error() string { return "jpeglossless: " + string(e) }

// errCutShort is the error for all data that end early.
const errCutShort = FormatError("the frame ends in the middle of its data")

func malformed(format string, args ...any) error {
	return FormatError(fmt.Sprintf(format, args...))
}

func unsupported(format string, args ...any) error {
	return UnsupportedError(fmt.Sprintf(format, args...))
}

// Header is what a file says before its first scan's data.
type Header struct {
	Width, Height  int
	Components     int // 1 to 4
	Bits           int // precision of a sample, 2 to 16
	Predictor      int // of the first scan, 1 to 7
	PointTransform int // of the first scan: low bits of a sample that the file does not hold
}

// BytesPerSample is the size of a decoded sample.
func (h *Header) BytesPerSample() int { return (h.Bits + 7) / 8 }

// Size is the number of bytes of the decoded samples.
func (h *Header) Size() int { return h.Width * h.Height * h.Components * h.BytesPerSample() }

// ReadHeader reads the segments of a file up to its first scan.
func ReadHeader(data []byte) (*Header, error) {
	d := &decoder{data: data}
	first, err := d.segments()
	if err != nil {
		return nil, err
	}
	if first != segments.SOS {
		return nil, malformed("it holds no scan")
	}
	h := d.header()
	return &h, nil
}

func (d *decoder) header() Header {
	return Header{Width: d.width, Height: d.height, Components: len(d.components), Bits: d.bits, Predictor: d.predictor, PointTransform: d.shift}
}

// Decode reads a file whose header is h into pix, which has h.Size() bytes. Data and
// pix do not overlap.
func Decode(data []byte, h *Header, pix []byte) error {
	if len(pix) != h.Size() {
		return malformed("a buffer of %d bytes is not for %d x %d x %d samples of %d bits", len(pix), h.Width, h.Height, h.Components, h.Bits)
	}
	d := &decoder{data: data, pix: pix}
	for first := true; ; first = false {
		marker, err := d.segments()
		switch {
		case err != nil:
			return err
		case marker != segments.SOS:
			return malformed("it ends before all components had a scan")
		case first && d.header() != *h:
			return malformed("its frame is not that of its header")
		}
		if err := d.scan(); err != nil {
			return err
		}
		if d.complete() {
			return nil
		}
	}
}
