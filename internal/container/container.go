// Package container is what the walkers of image files share. Each format has
// one walker, in a package below this one, that imageio and the codecs use: a
// reader of sources and the decoder that proves a result see the same parts.
//
//	png    chunks
//	gif    blocks
//	webp   chunks of RIFF
//	jp2    boxes of JPEG 2000
//	tiff   directories; exif: the directory inside of an EXIF block
//	jpeg   segments
//	dicom  elements
//
// # What a walker promises
//
// It reads bytes that are in memory and yields parts that share them. It never
// panics, and takes memory for what it has seen and never for a length that a
// file claims. Callers ask for the shape first and hold it against their limits,
// then ask for more. Errors are a [*FormatError] or an [*UnsupportedError].
//
// # Attributes
//
// Besides the samples, files hold what should be carried over: ICC profile, EXIF
// block, XMP packet, density of the samples, text. Every walker yields them in one
// shape, an [Attribute], each as the bytes that the format has for it without the
// format's wrapping, so that another format can wrap them anew.
//
// # Strictness
//
// Files of other people are read as everybody's software shows them, and the file
// that proves a result must hold every part of its format: a decoder that serves
// both takes a [Mode].
package container

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
)

// FormatError says that a file is malformed, cut short or over a limit.
type FormatError struct {
	Reason string // one sentence that calls the file "it" and does not name the format
	Limit  bool   // the file is over a limit and may be sound
}

func (e *FormatError) Error() string { return e.Reason }

// UnsupportedError says that a file uses what is not read. Nothing is said about
// its health.
type UnsupportedError struct {
	Reason string // as in [FormatError]
}

func (e *UnsupportedError) Error() string { return e.Reason }

// ErrCutShort is the [*FormatError] for a file that ends before its last part.
var ErrCutShort error = &FormatError{Reason: "the file ends in the middle of its data"}

// Malformed returns a [*FormatError].
func Malformed(reason string, args ...any) error {
	return &FormatError{Reason: fmt.Sprintf(reason, args...)}
}

// OverLimit returns a [*FormatError] for a file that is over a limit.
func OverLimit(reason string, args ...any) error {
	return &FormatError{Reason: fmt.Sprintf(reason, args...), Limit: true}
}

// Unsupported returns an [*UnsupportedError].
func Unsupported(reason string, args ...any) error {
	return &UnsupportedError{fmt.Sprintf(reason, args...)}
}

// Mode says how a decoder takes what its format does not allow.
type Mode int

const (
	// Lenient takes what the format's own library shows without a warning.
	Lenient Mode = iota
	// Strict refuses it.
	Strict
)

// Kind says what an [Attribute] is.
type Kind int

// The kinds of attributes.
const (
	ICC     Kind = iota // an ICC profile
	EXIF                // a TIFF structure, without the "Exif" prefix of APP1
	XMP                 // an XMP packet, in UTF-8
	Density             // how dense samples lie; Resolution has it and Data are empty
	Text                // a sentence with a keyword, in the encoding of the format
)

// Attribute is a part of a file that is no sample of its image and that should
// outlive a change of the format.
type Attribute struct {
	Kind       Kind
	Key        string     // keyword of a Text, "Author" say; empty where the format has none
	Data       []byte     // shares the file's bytes
	Zipped     bool       // Data are a zlib stream, which Bytes inflates
	Parted     bool       // Data are sub-blocks of GIF, which Bytes joins
	Resolution Resolution // of a Density
}

// Resolution is how dense samples lie along x and y, as the file says it.
type Resolution struct {
	X, Y Rational // samples per unit
	Per  Unit
}

// Rational is a fraction as a file has it; the denominator may be 0.
type Rational struct{ Numerator, Denominator uint32 }

// Unit is a unit of length.
type Unit int

// The units of density.
const (
	Nothing Unit = iota // only the ratio of x to y counts
	Inch
	Centimetre
	Metre
)

// Bytes returns the attribute's data, inflated where they are zipped and joined where
// they are parted. ok is false where they do not inflate, or are more than limit
// bytes. The memory taken is at most twice the limit.
func (a *Attribute) Bytes(limit int) (data []byte, ok bool) {
	switch {
	case a.Zipped:
		return Inflate(a.Data, limit)
	case a.Parted:
		return join(a.Data, limit)
	}
	return a.Data, len(a.Data) <= limit
}

// join returns what sub-blocks (GIF89a specification, 15) hold, each of which begins
// with its length. The last one is empty or missing.
func join(blocks []byte, limit int) (data []byte, ok bool) {
	total, count := 0, 0
	for rest := blocks; len(rest) > 0 && rest[0] > 0; count++ {
		n := int(rest[0])
		if n >= len(rest) {
			return nil, false
		}
		total += n
		rest = rest[1+n:]
	}
	switch {
	case total > limit:
		return nil, false
	case count < 2:
		return blocks[min(1, len(blocks)):][:total:total], true
	}
	data = make([]byte, 0, total)
	for rest := blocks; len(data) < total; rest = rest[1+int(rest[0]):] {
		data = append(data, rest[1:1+int(rest[0])]...)
	}
	return data, true
}

// Inflate returns what a zlib stream holds. ok is false where the stream is damaged
// or holds more than limit bytes. The memory taken is at most twice the limit.
func Inflate(stream []byte, limit int) (data []byte, ok bool) {
	z, err := zlib.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, false
	}
	defer z.Close()
	// room is the length of the next buffer: the sum of all is at most twice the
	// limit. One byte more than the limit shows that the stream goes on.
	room := func(n int) int {
		if n > limit/2 {
			return limit + 1
		}
		return n
	}
	data = make([]byte, room(512+4*len(stream)))
	for n := 0; ; {
		read, err := z.Read(data[n:])
		n += read
		switch {
		case n > limit || err != nil && err != io.EOF:
			return nil, false
		case err == io.EOF:
			return data[:n:n], true
		case n == len(data):
			grown := make([]byte, room(2*n))
			copy(grown, data)
			data = grown
		}
	}
}
