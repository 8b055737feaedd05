// Package webp walks the chunks of WebP files (RFC 9649), which are RIFF files, and
// decodes their samples.
//
//	f, err := webp.Open(data, container.Lenient) // what the chunks say
//	s, err := f.Shape()                          // and the header of the bitstream
//	m, err := f.Decode()                         // the samples
//
// Images are lossy (VP8) or lossless (VP8L); OpenAnimation reads the frames of animations.
// golang.org/x/image decodes lossy bitstreams, and of the lossless ones those that package lossless, which is
// made for speed, does not take.
//
// [File.Attributes] yields the ICC profile (ICCP), the EXIF block (EXIF) and the
// XMP packet (XMP); the format has no place for texts and for a density.
package webp

import (
	"bytes"
	"encoding/binary"
	"image"
	"iter"

	"golang.org/x/image/vp8l"
	"golang.org/x/image/webp"

	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/internal/container/webp/lossless"
)

// Flags of VP8X (RFC 9649, 2.7).
const (
	FlagAnimation = 0x02
	FlagXMP       = 0x04
	FlagEXIF      = 0x08
	FlagAlpha     = 0x10
	FlagICC       = 0x20
)

// extendedLength is that of VP8X: flags, 3 bytes that are reserved, and width and
// height less one of 3 bytes each.
const extendedLength = 10

// File is what the chunks of a file say. All blocks share the file's bytes, and are
// nil where absent.
type File struct {
	Canvas    *Canvas // of VP8X
	Lossy     bool    // the bitstream is VP8
	Bitstream []byte
	Alpha     []byte // ALPH
	ICC       []byte
	EXIF      []byte // without a prefix
	XMP       []byte
}

// Canvas is the size that an extended file says besides its bitstream.
type Canvas struct{ Width, Height int }

// Shape is what the header of a bitstream says.
type Shape struct {
	Width, Height int
	Alpha         bool // some pixels may be transparent
}

// Open reads all chunks. A strict file has VP8X first and once, and nothing behind
// its last chunk.
func Open(data []byte, mode container.Mode) (*File, error) {
	f := &File{}
	for c, err := range Chunks(data) {
		// libwebp passes over stray bytes behind the bitstream.
		if err == errStray && mode == container.Lenient {
			if f.Bitstream == nil {
				return nil, container.ErrCutShort
			}
			break
		}
		if err == nil {
			err = f.chunk(&c, mode)
		}
		if err != nil {
			return nil, err
		}
	}
	if f.Bitstream == nil {
		return nil, container.Malformed("it holds no picture")
	}
	return f, nil
}

func (f *File) chunk(c *Chunk, mode container.Mode) error {
	first := func(to *[]byte, body []byte) {
		if *to == nil {
			*to = body
		}
	}
	switch c.Kind {
	case "VP8X":
		return f.extended(c.Body, mode)
	case "ALPH":
		// As in libwebp, the chunk counts and not the flag of VP8X.
		if f.Canvas != nil && f.Bitstream == nil {
			f.Alpha = c.Body
		}
	case "VP8 ", "VP8L":
		if f.Bitstream != nil {
			return container.Malformed("it holds two pictures")
		}
		f.Bitstream, f.Lossy = c.Body, c.Kind == "VP8 "
	case "ICCP":
		first(&f.ICC, c.Body)
	case "EXIF":
		first(&f.EXIF, exif.Trim(c.Body))
	case "XMP ":
		first(&f.XMP, c.Body)
	}
	return nil
}

func (f *File) extended(body []byte, mode container.Mode) error {
	switch {
	case mode == container.Strict && (f.Canvas != nil || f.Bitstream != nil || len(body) != extendedLength):
		return container.Malformed("its chunk VP8X has %d bytes; once, first, and %d bytes are right", len(body), extendedLength)
	case len(body) < extendedLength:
		return container.ErrCutShort
	case body[0]&FlagAnimation != 0:
		return container.Unsupported("animations are not read")
	}
	f.Canvas = &Canvas{Width: 1 + uint24(body[4:]), Height: 1 + uint24(body[7:])}
	return nil
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// Extended is the body of a VP8X chunk.
func Extended(flags byte, width, height int) []byte {
	w, h := width-1, height-1
	return []byte{flags, 0, 0, 0, byte(w), byte(w >> 8), byte(w >> 16), byte(h), byte(h >> 8), byte(h >> 16)}
}

// Attributes yields the attributes of the file.
func (f *File) Attributes() iter.Seq[container.Attribute] {
	return func(yield func(container.Attribute) bool) {
		for _, a := range []container.Attribute{
			{Kind: container.ICC, Data: f.ICC}, {Kind: container.EXIF, Data: f.EXIF}, {Kind: container.XMP, Data: f.XMP},
		} {
			if a.Data != nil && !yield(a) {
				return
			}
		}
	}
}

// Shape reads the header of the bitstream. It is an error where a canvas has another
// size: callers hold that against their limits first.
func (f *File) Shape() (Shape, error) {
	s, err := f.vp8l()
	if f.Lossy {
		s, err = f.vp8()
	}
	if err == nil && f.Canvas != nil && (f.Canvas.Width != s.Width || f.Canvas.Height != s.Height) {
		err = container.Malformed("a canvas of %d x %d holds a picture of %d x %d", f.Canvas.Width, f.Canvas.Height, s.Width, s.Height)
	}
	return s, err
}

// vp8 reads the header of a lossy bitstream (RFC 6386, 9.1). A size may be 0.
func (f *File) vp8() (Shape, error) {
	b := f.Bitstream
	if len(b) < 10 {
		return Shape{}, container.ErrCutShort
	}
	if b[0]&1 != 0 || b[3] != 0x9d || b[4] != 0x01 || b[5] != 0x2a {
		return Shape{}, container.Malformed("its picture is no key frame of VP8")
	}
	if first := uint24(b) >> 5; first > len(b)-10 {
		return Shape{}, container.ErrCutShort
	}
	w, h := int(binary.LittleEndian.Uint16(b[6:])), int(binary.LittleEndian.Uint16(b[8:]))
	return Shape{Width: w & 0x3fff, Height: h & 0x3fff, Alpha: f.Alpha != nil}, nil
}

// Signature is the first byte of a lossless bitstream (RFC 9649, 3.4).
const Signature = 0x2f

// vp8l reads the header of a lossless bitstream (RFC 9649, 3.4).
func (f *File) vp8l() (Shape, error) {
	b := f.Bitstream
	if len(b) < 5 {
		return Shape{}, container.ErrCutShort
	}
	v := binary.LittleEndian.Uint32(b[1:])
	if b[0] != Signature || v>>29 != 0 {
		return Shape{}, container.Malformed("its picture is not VP8L version 0")
	}
	return Shape{Width: 1 + int(v&0x3fff), Height: 1 + int(v>>14&0x3fff), Alpha: v>>28&1 != 0}, nil
}

// Decode decodes the samples: an [image.NRGBA] of a lossless file, and of a lossy one
// an [image.YCbCr] or [image.NYCbCrA], whose planes are of limited range. Callers
// have held the shape against their limits.
func (f *File) Decode() (image.Image, error) {
	if !f.Lossy {
		// The fast decoder leaves what is unusual to the other one, whose verdict and sentence count.
		if pix, w, h, ok := lossless.Decode(f.Bitstream); ok {
			return &image.NRGBA{Pix: pix, Stride: 4 * w, Rect: image.Rect(0, 0, w, h)}, nil
		}
		return f.DecodeForeign()
	}
	s, err := f.Shape()
	if err != nil {
		return nil, err
	}
	return webp.Decode(f.lossySource(&s))
}

// DecodeRGB decodes a lossless file without alpha: bytes R, G, B, which may lie in the first bytes of what alloc returns, memory of any
// content. It returns false for files that only Decode reads, if any does.
func (f *File) DecodeRGB(alloc func(n int) []byte) (pix []byte, ok bool) {
	pix, _, _, ok = lossless.DecodeRGB(f.Bitstream, alloc)
	return pix, ok
}

// DecodeForeign decodes a lossless file with golang.org/x/image, which shares nothing with this module.
func (f *File) DecodeForeign() (image.Image, error) { return vp8l.Decode(bytes.NewReader(f.Bitstream)) }
