// Package jpeg walks the segments of JPEG files (ITU-T T.81, annex B). It does not
// decode samples: package decode below it does, with the walk of this package.
//
//	for s, next, err := jpeg.Next(data, 0); err == nil; s, next, err = jpeg.Next(data, next) {
//
// [Attributes] yields the ICC profile (APP2), the EXIF block and the XMP packet (APP1),
// the density of JFIF (APP0) and comments (COM). An XMP packet that goes on in segments
// of extended XMP is yielded without those.
package jpeg

import (
	"bytes"
	"encoding/binary"
	"iter"

	"github.com/pelmill/pelmill/internal/container"
)

// Markers (T.81, table B.1).
const (
	TEM   = 0x01
	SOF0  = 0xc0
	SOF1  = 0xc1
	SOF2  = 0xc2
	DHT   = 0xc4
	JPG   = 0xc8
	SOF9  = 0xc9
	SOF10 = 0xca
	DAC   = 0xcc
	SOF15 = 0xcf
	RST0  = 0xd0
	RST7  = 0xd7
	SOI   = 0xd8
	EOI   = 0xd9
	SOS   = 0xda
	DQT   = 0xdb
	DNL   = 0xdc
	DRI   = 0xdd
	APP0  = 0xe0
	APP1  = 0xe1
	APP2  = 0xe2
	APP14 = 0xee
	APP15 = 0xef
	COM   = 0xfe
)

// Segment is a marker and, unless that stands alone, its parameters.
type Segment struct {
	Marker byte
	At     int    // place of the marker's second byte
	Body   []byte // parameters without their length; shares the file's bytes
}

// NextMarker finds the marker at or behind a place and the place behind it. It passes
// over stray and stuffed bytes. The marker is 0 where data end before one.
func NextMarker(data []byte, at int) (marker byte, next int) {
	for at < len(data) {
		n := bytes.IndexByte(data[at:], 0xff)
		if n < 0 {
			break
		}
		for at += n; at < len(data) && data[at] == 0xff; {
			at++
		}
		if at < len(data) && data[at] != 0 {
			return data[at], at + 1
		}
	}
	return 0, len(data)
}

// Next reads the segment at or behind a place and returns the place behind it. Stray
// bytes, the coded samples of a scan, and the markers between them (RST and TEM) are
// passed over. SOI and EOI have no body. With an error, the segment has the marker, 0
// where data end before one.
func Next(data []byte, at int) (s Segment, next int, err error) {
	for {
		s.Marker, next = NextMarker(data, at)
		s.At = next - 1
		switch {
		case s.Marker == 0:
			return s, next, container.ErrCutShort
		case s.Marker == SOI || s.Marker == EOI:
			return s, next, nil
		case s.Marker == TEM || s.Marker >= RST0 && s.Marker <= RST7:
			at = next
			continue
		}
		if next+2 > len(data) {
			return s, next, container.ErrCutShort
		}
		n := int(binary.BigEndian.Uint16(data[next:]))
		if n < 2 {
			return s, next, container.Malformed("a segment has a length of %d", n)
		}
		if next+n > len(data) {
			return s, next, container.ErrCutShort
		}
		s.Body = data[next+2 : next+n : next+n]
		return s, next + n, nil
	}
}

// Segments yields the segments of a file from SOI up to and including the first SOS or
// EOI. Where the file is damaged, the last pair has an error and no segment.
func Segments(data []byte) iter.Seq2[Segment, error] {
	return func(yield func(Segment, error) bool) {
		if !Match(data) {
			yield(Segment{}, container.Malformed("it does not begin with SOI"))
			return
		}
		for at := 0; ; {
			s, next, err := Next(data, at)
			if err != nil {
				yield(Segment{}, err)
				return
			}
			if !yield(s, nil) || s.Marker == SOS || s.Marker == EOI {
				return
			}
			at = next
		}
	}
}

// Match reports whether a file begins with SOI.
func Match(data []byte) bool { return len(data) >= 2 && data[0] == 0xff && data[1] == SOI }
