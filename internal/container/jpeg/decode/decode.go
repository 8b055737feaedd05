// Package decode decodes JPEG files (ITU-T T.81, with JFIF and Adobe's segment)
// to the samples that libjpeg-turbo gives with its default settings, bit for
// bit: the "islow" inverse DCT, triangular ("fancy") upsampling of chroma, its
// conversion of colours, and its smoothing of blocks where a progressive file
// does not hold all bits of its low frequencies.
//
//	h, err := decode.ReadHeader(data)  // shape and memory, no samples
//	err = decode.Decode(data, h, pix)  // grey or RGB
//
// # What is read
//
// Baseline, extended sequential and progressive frames of 8 bits, with Huffman
// or arithmetic coding; one, three or four components; all sampling factors
// whose ratios are whole numbers; any number of scans, interleaved or not;
// restart intervals; files without Huffman tables, for which those of T.81, K.3,
// are meant. CMYK and YCCK become RGB as djpeg does it.
//
// # What is refused
//
// What libjpeg-turbo refuses: lossless and hierarchical frames, samples of more
// than 8 bits, a height told by a DNL segment, two components or more than four,
// fractional ratios of sampling factors. And damage over which libjpeg-turbo
// warns and then invents samples: data that end early, codes that no table has,
// restart markers out of order. Bytes that nobody needs, between two segments,
// behind a scan or behind the end, are passed over.
package decode

import (
	"fmt"

	segments "github.com/pelmill/pelmill/internal/container/jpeg"
)

// FormatError says that a file is malformed.
type FormatError string

func (e FormatError) Error() string { return "jpeg: " + string(e) }

// UnsupportedError says that a file uses a feature that is not read here.
type UnsupportedError string

func (e UnsupportedError) Error() string { return "jpeg: " + string(e) }

// errCutShort is the error for all data that end early.
const errCutShort = FormatError("the file ends in the middle of its data")

func malformed(format string, args ...any) error {
	return FormatError(fmt.Sprintf(format, args...))
}

func unsupported(format string, args ...any) error {
	return UnsupportedError(fmt.Sprintf(format, args...))
}

// Header is what a file says before its first scan.
type Header struct {
	Width, Height int
	Components    int // 1, 3 or 4

	// Memory bounds the bytes that Decode holds besides its result.
	Memory int64
}

// ReadHeader reads the segments of a file up to its first scan, or to its end: a file without
// a scan has a header, though nothing can be decoded.
func ReadHeader(data []byte) (*Header, error) {
	d := &decoder{data: data}
	first, err := d.segments()
	if err != nil {
		return nil, err
	}
	if first != segments.SOS && len(d.components) == 0 {
		return nil, malformed("it holds no frame")
	}
	return &Header{Width: d.width, Height: d.height, Components: len(d.components), Memory: d.memory()}, nil
}

// CountScans counts the scans of a file up to its end, and stops at limit.
// Each may cost a pass over the whole image for a few bytes.
func CountScans(data []byte, limit int) int {
	n := 0
	for at := 2; n < limit; {
		s, next, err := segments.Next(data, at)
		if err != nil || s.Marker == segments.EOI {
			break
		}
		if s.Marker == segments.SOS {
			n++
		}
		at = next
	}
	return n
}

// Decode reads a file whose header is h into pix: Height rows of Width samples,
// grey for one component and RGB for others. Data and pix do not overlap.
func Decode(data []byte, h *Header, pix []byte) error {
	d := &decoder{data: data, pix: pix}
	if len(pix) != h.Width*h.Height*min(h.Components, 3) {
		return malformed("a buffer of %d bytes is not for %d x %d samples", len(pix), h.Width, h.Height)
	}
	several := false // scans, by the first one
	for started := false; ; started = true {
		marker, err := d.segments()
		if err != nil {
			return err
		}
		switch {
		case marker == segments.EOI && !started:
			return malformed("it holds no scan")
		case marker == segments.EOI:
			return d.finish()
		case started && !several:
			return malformed("a scan follows the only scan that its frame has")
		case !started:
			if d.width != h.Width || d.height != h.Height || len(d.components) != h.Components {
				return malformed("its frame is not that of its header")
			}
			d.start()
			several = d.multiple
		}
		if err := d.scan(); err != nil {
			return err
		}
	}
}
