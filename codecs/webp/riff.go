package webp

import (
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/container"
	webpfile "github.com/pelmill/pelmill/internal/container/webp"
)

// The chunks of a file (RFC 9649, 2.5 to 2.7):
//
//	RIFF size WEBP  VP8L                           simple
//	RIFF size WEBP  VP8X [ICCP] VP8L [EXIF] [XMP ] extended
//	                             ... [RGB ]        either, see the package comment
const colourChunk = "RGB "

// file is what a container holds besides the pixels.
type file struct {
	width, height  int
	alpha          bool
	colour         bool           // the mark for colour images that hold nothing but grey
	bitstream      []byte         // VP8L
	icc, exif, xmp []byte         // nil where absent
	source         *webpfile.File // of a file that was opened
}

// write returns the file.
func (f *file) write() ([]byte, error) {
	return f.writeInto(make([]byte, 0, 12+8+len(f.bitstream)+f.behind()), func(out []byte) []byte { return append(out, f.bitstream...) })
}

// behind is how many bytes follow the bitstream at most.
func (f *file) behind() int {
	const heads = 3*8 + 3 // of chunks, and padding, also that of the bitstream
	return heads + len(f.exif) + len(f.xmp)
}

// writeInto returns the file with the bitstream that body appends to what it is given. It lies in memory, as far as that
// has room. Blocks of metadata make it an extended one.
func (f *file) writeInto(memory []byte, body func(out []byte) []byte) ([]byte, error) {
	out := webpfile.Begin(memory)
	if f.icc != nil || f.exif != nil || f.xmp != nil {
		var flags byte
		for _, flag := range []struct {
			is  bool
			bit byte
		}{{f.icc != nil, webpfile.FlagICC}, {f.alpha, webpfile.FlagAlpha}, {f.exif != nil, webpfile.FlagEXIF}, {f.xmp != nil, webpfile.FlagXMP}} {
			if flag.is {
				flags |= flag.bit
			}
		}
		out = webpfile.Append(out, "VP8X", webpfile.Extended(flags, f.width, f.height))
	}
	if f.icc != nil {
		out = webpfile.Append(out, "ICCP", f.icc)
	}
	out = webpfile.AppendBy(out, "VP8L", body)
	if f.exif != nil {
		out = webpfile.Append(out, "EXIF", f.exif)
	}
	if f.xmp != nil {
		out = webpfile.Append(out, "XMP ", f.xmp)
	}
	if f.colour {
		out = webpfile.Append(out, colourChunk, nil)
	}
	if int64(len(out)) > webpfile.MaxFile {
		return nil, codec.Unsupportedf("webp: a file of %d bytes; the container takes at most 4 GiB", len(out))
	}
	return webpfile.Finish(out), nil
}

// open reads the container and the header of the bitstream. The file shares data.
func open(data []byte) (*file, error) {
	c, err := webpfile.Open(data, container.Strict)
	if err != nil {
		return nil, codec.FromContainer("webp", err)
	}
	if c.Lossy {
		return nil, codec.Unsupportedf("webp: the picture is lossy (VP8), so the file is not one of this codec; compress takes it as a source")
	}
	shape, err := c.Shape()
	if err != nil {
		return nil, codec.FromContainer("webp", err)
	}
	if max(shape.Width, shape.Height) > maxSide {
		return nil, codec.Malformedf("webp: %d x %d pixels, want at most %d along a side", shape.Width, shape.Height, maxSide)
	}
	f := &file{width: shape.Width, height: shape.Height, alpha: shape.Alpha, bitstream: c.Bitstream, icc: c.ICC, exif: c.EXIF, xmp: c.XMP, source: c}
	_, f.colour = webpfile.Find(data, colourChunk)
	return f, nil
}
