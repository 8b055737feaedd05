package jpegxl

import (
	"bytes"
	"encoding/binary"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/jpegdata"
	"github.com/pelmill/pelmill/internal/container"
)

// signature begins a file in boxes (ISO/IEC 18181-2, 9.1), and ftyp says what it is.
const (
	signature = "\x00\x00\x00\x0cJXL \x0d\x0a\x87\x0a"
	fileType  = "\x00\x00\x00\x14ftypjxl \x00\x00\x00\x00jxl "
)

// file is the content of the boxes of a file.
type file struct {
	jbrd, codestream []byte
	exif             []byte // box Exif: an offset of 4 bytes, then the block
	xmp              []byte
}

// appendBox appends a box.
func appendBox(out []byte, kind string, parts ...[]byte) []byte {
	n := 8
	for _, p := range parts {
		n += len(p)
	}
	out = binary.BigEndian.AppendUint32(out, uint32(n))
	out = append(out, kind...)
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// appendPacked appends a box, or one that holds it compressed (9.8) where that is smaller.
func appendPacked(out []byte, kind string, data []byte) []byte {
	if packed := jpegdata.Compress(data); len(packed)+4 < len(data) {
		return appendBox(out, "brob", []byte(kind), packed)
	}
	return appendBox(out, kind, data)
}

// write returns the file: what the reconstruction needs stands before the codestream.
func (f *file) write() []byte {
	out := []byte(signature + fileType)
	out = appendBox(out, "jbrd", f.jbrd)
	if f.exif != nil {
		out = appendPacked(out, "Exif", f.exif)
	}
	if f.xmp != nil {
		out = appendPacked(out, "xml ", f.xmp)
	}
	return appendBox(out, "jxlc", f.codestream)
}

// isBoxes says whether data begin as a file in boxes does, and isCodestream whether as a
// lone codestream.
func isBoxes(data []byte) bool      { return bytes.HasPrefix(data, []byte(signature)) }
func isCodestream(data []byte) bool { return bytes.HasPrefix(data, []byte{0xff, 0x0a}) }

// readBoxes takes a file apart. Boxes that are not needed are passed over. What Brotli
// unpacks is bounded by limit.
func readBoxes(data []byte, limit int64) (*file, error) {
	if !isBoxes(data) {
		if isCodestream(data) {
			return &file{codestream: data}, nil
		}
		return nil, container.Malformed("it does not begin as a JPEG XL file does")
	}
	f := &file{}
	var parts [][]byte // of the codestream
	for at := 0; at < len(data); {
		kind, body, next, err := box(data, at)
		if err != nil {
			return nil, err
		}
		at = next
		if kind == "brob" {
			if len(body) < 4 {
				return nil, container.ErrCutShort
			}
			kind = string(body[:4])
			if kind != "Exif" && kind != "xml " && kind != "jbrd" {
				continue
			}
			if body, err = jpegdata.Decompress(body[4:], limit); err != nil {
				return nil, err
			}
		}
		switch {
		case kind == "jbrd" && f.jbrd == nil:
			f.jbrd = body
		case kind == "Exif" && f.exif == nil:
			f.exif = body
		case kind == "xml " && f.xmp == nil:
			f.xmp = body
		case kind == "jxlc":
			parts = append(parts, body)
		case kind == "jxlp":
			if len(body) < 4 || int(binary.BigEndian.Uint32(body)&0x7fffffff) != len(parts) {
				return nil, container.Malformed("a part of its codestream is missing")
			}
			parts = append(parts, body[4:])
		}
	}
	if len(parts) == 0 {
		return nil, container.ErrCutShort
	}
	f.codestream = parts[0]
	if len(parts) > 1 {
		f.codestream = bytes.Join(parts, nil)
	}
	return f, nil
}

// box reads the box at a place.
func box(data []byte, at int) (kind string, body []byte, next int, err error) {
	if at+8 > len(data) {
		return "", nil, 0, container.ErrCutShort
	}
	size, head := uint64(binary.BigEndian.Uint32(data[at:])), uint64(8)
	kind = string(data[at+4 : at+8])
	rest := uint64(len(data) - at)
	switch size {
	case 0:
		size = rest
	case 1:
		if rest < 16 {
			return "", nil, 0, container.ErrCutShort
		}
		size, head = binary.BigEndian.Uint64(data[at+8:]), 16
	}
	if size < head {
		return "", nil, 0, container.Malformed("a box has a size of %d", size)
	}
	if size > rest {
		return "", nil, 0, container.ErrCutShort
	}
	end := at + int(size)
	return kind, data[at+int(head) : end : end], end, nil
}
