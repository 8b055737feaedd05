// Package rle decodes frames of the RLE transfer syntax of DICOM (PS3.5, annex G)
// to interleaved samples.
//
//	pix := make([]byte, shape.Size())
//	err := rle.Decode(fragment, shape, pix)
//
// A frame says nothing about its shape: that comes from the data set, and a frame
// that does not fit it is malformed. So limits are checked, and memory is taken, by
// the caller before the frame is looked at. Decode itself takes none.
//
// # Layout
//
// A frame holds one segment for each byte of a sample, the high byte first, and
// within that order one group of segments for each channel (G.2). Each segment is
// the whole plane of that byte, in the PackBits scheme:
//
//	header: 64 bytes  number of segments, offsets of 15 segments, little-endian uint32
//	segment 0         high bytes of channel 0
//	segment 1         low bytes of channel 0
//	segment 2         high bytes of channel 1 ...
//
// Samples come out as package raster wants them: channels interleaved, two bytes
// little-endian where a sample has two.
//
// # What is accepted
//
// Runs that cross the end of a row, which G.3.1 forbids and many writers make; bytes
// behind the last sample of a segment, whether padding or not; offsets of unused
// segments that are not zero. A segment that ends before its plane does is
// malformed: nothing is invented.
package rle

import (
	"encoding/binary"
	"fmt"
)

// FormatError says that a frame is malformed.
type FormatError string

func (e FormatError) Error() string { return "rle: " + string(e) }

func malformed(format string, args ...any) error {
	return FormatError(fmt.Sprintf(format, args...))
}

// Shape is what the data set says of a frame. All fields are positive.
type Shape struct {
	Width, Height  int
	Channels       int // samples per pixel
	BytesPerSample int // 1 or 2
}

// Size is the number of bytes of a decoded frame.
func (s Shape) Size() int { return s.Width * s.Height * s.Channels * s.BytesPerSample }

// Bounds of the header (G.5).
const (
	headerSize  = 64
	maxSegments = 15
)

// Decode decodes one frame, whole and without the header of its item, into pix,
// which has the size of the shape. They do not overlap.
func Decode(data []byte, s Shape, pix []byte) error {
	if len(pix) != s.Size() || s.BytesPerSample < 1 || s.BytesPerSample > 2 {
		return malformed("a buffer of %d bytes is not for %d x %d x %d samples of %d bytes", len(pix), s.Width, s.Height, s.Channels, s.BytesPerSample)
	}
	segments, err := split(data, s.Channels*s.BytesPerSample)
	if err != nil {
		return err
	}
	step := s.Channels * s.BytesPerSample
	for i := range step {
		channel, high := i/s.BytesPerSample, i%s.BytesPerSample
		// The high byte comes first in the frame and last in the sample.
		at := channel*s.BytesPerSample + s.BytesPerSample - 1 - high
		if !unpack(pix[at:], step, s.Width*s.Height, data[segments[i]:segments[i+1]]) {
			return malformed("segment %d of %d ends before its plane does", i+1, step)
		}
	}
	return nil
}

// split returns where each of n segments begins, and where the last one ends.
func split(data []byte, n int) (starts [maxSegments + 1]int, err error) {
	if len(data) < headerSize {
		return starts, malformed("a frame of %d bytes has no header", len(data))
	}
	if has := binary.LittleEndian.Uint32(data); n > maxSegments || has != uint32(n) {
		return starts, malformed("the frame has %d segments, and its samples need %d", has, n)
	}
	for i := range n {
		at := binary.LittleEndian.Uint32(data[4+4*i:])
		switch {
		case at < headerSize || uint64(at) > uint64(len(data)):
			return starts, malformed("segment %d of %d begins at byte %d of %d", i+1, n, at, len(data))
		case i > 0 && int(at) < starts[i-1]:
			return starts, malformed("its segments are out of order")
		}
		starts[i] = int(at)
	}
	starts[n] = len(data)
	return starts, nil
}

// unpack decodes a segment into n bytes of dst, each step bytes behind the other
// (G.3.2). It reports whether the segment had that many.
func unpack(dst []byte, step, n int, src []byte) bool {
	for n > 0 {
		if len(src) < 2 {
			return false
		}
		control := src[0]
		switch {
		case control < 128:
			count := min(int(control)+1, n)
			if len(src) < 1+count {
				return false
			}
			if step == 1 {
				copy(dst, src[1:1+count])
			} else {
				for i, v := range src[1 : 1+count] {
					dst[i*step] = v
				}
			}
			src = src[1+count:]
			n, dst = advance(dst, step, n, count)
		case control == 128:
			src = src[1:]
		default:
			count := min(257-int(control), n)
			v := src[1]
			src = src[2:]
			for i := 0; i < count*step; i += step {
				dst[i] = v
			}
			n, dst = advance(dst, step, n, count)
		}
	}
	return true
}

// advance passes over count of n bytes, each step bytes behind the other. Behind the
// last one there may be fewer than step.
func advance(dst []byte, step, n, count int) (int, []byte) {
	return n - count, dst[min(count*step, len(dst)):]
}
