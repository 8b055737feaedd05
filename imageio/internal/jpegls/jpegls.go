// Package jpegls decodes lossless files of JPEG-LS (ITU-T T.87), which DICOM knows as
// the transfer syntax .80.
//
//	h, err := jpegls.ReadHeader(data)  // shape, no samples
//	pix := make([]byte, h.Size())      // after limits were checked
//	err = jpegls.Decode(data, h, pix)
//
// Samples come out as package raster wants them: channels interleaved, one byte for
// precisions of up to 8 bits, two bytes little-endian for more. They are the numbers
// of the file; no colour is converted. Decode takes memory for two rows of samples, and
// up to 128 KiB for a table (2 x T3 + 1 bytes), besides.
//
// # What is read
//
// Precisions of 2 to 16 bits; one to four components, not interleaved (each in a scan
// of its own), interleaved by line or by sample; preset coding parameters (LSE, type
// 1) with any thresholds, RESET and MAXVAL; restart intervals, in lines (C.2.5).
//
// # What is refused
//
// Near-lossless files (NEAR above 0): they are lossy, and what their pixels were is
// not known. Mapping tables, point transforms, sides above 65,535 (LSE, type 4),
// components of different sizes, scans of some components interleaved, and the colour
// transforms of HP's APP8 segment, which are not part of the standard. And damage: data
// that end early, a run over the end of its line, codes that T.87 does not have.
package jpegls

import (
	"fmt"

	segments "github.com/pelmill/pelmill/internal/container/jpeg"
)

// FormatError says that a file is malformed.
type FormatError string

func (e FormatError) Error() string { return "jpegls: " + string(e) }

// UnsupportedError says that a file uses a feature that is not read here.
type UnsupportedError string

func (e UnsupportedError) Error() string { return "jpegls: " + string(e) }

// ErrLossy is the error for near-lossless files, an [UnsupportedError].
const ErrLossy = UnsupportedError("it is near-lossless, and so lossy")

// errCutShort is the error for all data that end early.
const errCutShort = FormatError("the frame ends in the middle of its data")

func malformed(format string, args ...any) error {
	return FormatError(fmt.Sprintf(format, args...))
}

func unsupported(format string, args ...any) error {
	return UnsupportedError(fmt.Sprintf(format, args...))
}

// Interleave says how a scan holds its components (T.87, C.2.3).
type Interleave int

const (
	Planes  Interleave = 0 // a scan for each component
	Lines   Interleave = 1 // a line of each component in turn
	Samples Interleave = 2 // a sample of each component in turn
)

// Header is what a file says before its first scan's data.
type Header struct {
	Width, Height int
	Components    int        // 1 to 4
	Bits          int        // precision of a sample, 2 to 16
	Interleave    Interleave // of the first scan
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
	return Header{Width: d.width, Height: d.height, Components: len(d.components), Bits: d.bits, Interleave: d.interleave}
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
