package webp

import (
	"bytes"
	"encoding/binary"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// The container (RFC 9649, 2). Chunks have a name, their size without the 8 bytes of
// both, and are padded to an even size:
//
//	RIFF size WEBP  VP8L                           simple
//	RIFF size WEBP  VP8X [ICCP] VP8L [EXIF] [XMP ] extended
//	                             ... [RGB ]        either, see the package comment
const (
	riffHeader  = 12
	chunkHeader = 8
	vp8lHeader  = 5
)

// Flags of VP8X (RFC 9649, 2.7.1).
const (
	hasAnimation = 0x02
	hasXMP       = 0x04
	hasEXIF      = 0x08
	hasAlpha     = 0x10
	hasICC       = 0x20
)

// file is what a container holds besides the pixels.
type file struct {
	width, height  int
	alpha          bool
	colour         bool   // the mark for colour images that hold nothing but grey
	bitstream      []byte // VP8L
	icc, exif, xmp []byte // nil where absent
}

// write returns the file. Blocks of metadata make it an extended one.
func (f *file) write() ([]byte, error) {
	size := riffHeader + 3*chunkHeader + 10 + len(f.bitstream) + len(f.icc) + len(f.exif) + len(f.xmp) + 3*chunkHeader + 4
	if int64(size) > 1<<32-16 {
		return nil, codec.Unsupportedf("webp: a file of %d bytes; the container takes at most 4 GiB", size)
	}
	out := make([]byte, riffHeader, size)
	copy(out, "RIFF")
	copy(out[8:], "WEBP")
	if f.icc != nil || f.exif != nil || f.xmp != nil {
		var x [10]byte
		for _, flag := range []struct {
			is  bool
			bit byte
		}{{f.icc != nil, hasICC}, {f.alpha, hasAlpha}, {f.exif != nil, hasEXIF}, {f.xmp != nil, hasXMP}} {
			if flag.is {
				x[0] |= flag.bit
			}
		}
		w, h := f.width-1, f.height-1
		x[4], x[5], x[6] = byte(w), byte(w>>8), byte(w>>16)
		x[7], x[8], x[9] = byte(h), byte(h>>8), byte(h>>16)
		out = chunk(out, "VP8X", x[:])
	}
	if f.icc != nil {
		out = chunk(out, "ICCP", f.icc)
	}
	out = chunk(out, "VP8L", f.bitstream)
	if f.exif != nil {
		out = chunk(out, "EXIF", f.exif)
	}
	if f.xmp != nil {
		out = chunk(out, "XMP ", f.xmp)
	}
	if f.colour {
		out = chunk(out, "RGB ", nil)
	}
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out, nil
}

func chunk(out []byte, name string, body []byte) []byte {
	out = append(out, name...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(body)))
	out = append(out, body...)
	if len(body)&1 != 0 {
		out = append(out, 0)
	}
	return out
}

// open reads the container and the header of the bitstream. The file shares data.
func open(data []byte) (*file, error) {
	if len(data) < riffHeader || string(data[:4]) != "RIFF" || string(data[8:12]) != "WEBP" {
		return nil, codec.Malformedf("webp: not a WebP file")
	}
	end := int64(binary.LittleEndian.Uint32(data[4:])) + 8
	if end > int64(len(data)) || end < riffHeader {
		return nil, codec.Malformedf("webp: the container says %d bytes, the file has %d", end, len(data))
	}
	f := &file{}
	var canvas []byte
	for rest := data[riffHeader:end]; len(rest) > 0; {
		if len(rest) < chunkHeader {
			return nil, codec.Malformedf("webp: %d bytes behind the last chunk", len(rest))
		}
		name, n := string(rest[:4]), int64(binary.LittleEndian.Uint32(rest[4:]))
		if n > int64(len(rest)-chunkHeader) {
			return nil, codec.Malformedf("webp: chunk %q of %d bytes, %d are left", name, n, len(rest)-chunkHeader)
		}
		body := rest[chunkHeader : chunkHeader+n : chunkHeader+n]
		rest = rest[min(chunkHeader+n+n&1, int64(len(rest))):]
		switch name {
		case "VP8X":
			if canvas != nil || f.bitstream != nil || n != 10 {
				return nil, codec.Malformedf("webp: chunk VP8X of %d bytes, once and first are 10", n)
			}
			if body[0]&hasAnimation != 0 {
				return nil, codec.Unsupportedf("webp: an animation; only single pictures are read")
			}
			canvas = body
		case "VP8 ", "ANMF", "ALPH":
			return nil, codec.Unsupportedf("webp: the picture is lossy (VP8), so the file is not one of this codec; compress takes it as a source")
		case "VP8L":
			if f.bitstream != nil {
				return nil, codec.Malformedf("webp: it holds two pictures")
			}
			f.bitstream = body
		case "ICCP":
			f.icc = body
		case "EXIF":
			f.exif = bytes.TrimPrefix(body, []byte("Exif\x00\x00"))
		case "XMP ":
			f.xmp = body
		case "RGB ":
			f.colour = true
		}
	}
	if len(f.bitstream) < vp8lHeader {
		return nil, codec.Malformedf("webp: it holds no picture")
	}
	v := binary.LittleEndian.Uint32(f.bitstream[1:])
	if f.bitstream[0] != format.Signature || v>>29 != 0 {
		return nil, codec.Malformedf("webp: the picture is not VP8L version 0")
	}
	f.width, f.height, f.alpha = 1+int(v&0x3fff), 1+int(v>>14&0x3fff), v>>28&1 != 0
	if canvas != nil {
		w := 1 + (int(canvas[4]) | int(canvas[5])<<8 | int(canvas[6])<<16)
		h := 1 + (int(canvas[7]) | int(canvas[8])<<8 | int(canvas[9])<<16)
		if w != f.width || h != f.height {
			return nil, codec.Malformedf("webp: a canvas of %d x %d for a picture of %d x %d", w, h, f.width, f.height)
		}
	}
	if max(f.width, f.height) > maxSide {
		return nil, codec.Malformedf("webp: %d x %d pixels, want at most %d along a side", f.width, f.height, maxSide)
	}
	return f, nil
}
