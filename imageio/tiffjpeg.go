package imageio

import (
	"encoding/binary"

	jpeg "github.com/pelmill/pelmill/internal/container/jpeg/decode"
)

// JPEG compression of TIFF (TIFF technical note 2): each strip or tile is a JPEG stream, and tables that all
// have in common may stand in a field of the directory. The colour space is the one that the directory
// says, whatever the stream's own segments say.

// checkJPEG refuses what is not read of JPEG compression.
func (t *tiffPage) checkJPEG(dir *tiffDirectory) error {
	grey := t.photometric == tiffWhiteIsZero || t.photometric == tiffBlackIsZero
	if t.bits != 8 || t.signed || t.planar || dir.value(tagFillOrder, 1) == 2 || !(grey && t.samples == 1) &&
		!((t.photometric == tiffRGB || t.photometric == tiffYCbCr) && t.samples == 3) {
		return unsupported("tiff", "JPEG compression of %d samples of %d bits in colour space %d, or of planes, is not read", t.samples, t.bits, t.photometric)
	}
	const tablesMost = 64 << 10
	if t.tables = dir.fields[tagJPEGTables].Raw; len(t.tables) > tablesMost {
		return overLimit("tiff", "JPEG tables of %d bytes are over the limit of %d", len(t.tables), tablesMost)
	}
	return nil
}

// checkFrames holds the frame of each strip or tile against its place and the limits of JPEG.
func (t *tiffPage) checkFrames() error {
	for i := range t.blocks() {
		offset, count := t.extent(i)
		raw := t.data[offset : offset+count]
		head, err := jpeg.ReadHeader(raw)
		if err != nil {
			return err
		}
		if head.Width != t.blockW || head.Height < t.rows(i) || head.Height > t.blockH || head.Components != t.samples {
			return rejected("tiff", "a JPEG stream of %d x %d with %d components is not the strip or tile", head.Width, head.Height, head.Components)
		}
		if jpeg.CountScans(raw, jpegScans+1) > jpegScans {
			return overLimit("tiff", "it has more scans than the limit of %d", jpegScans)
		}
		t.frameMemory = max(t.frameMemory, head.Memory+count+int64(len(t.tables))+64)
	}
	return nil
}

// decodeJPEG decodes a strip or tile to n bytes.
func (t *tiffPage) decodeJPEG(raw []byte, n int, work *tiffWork) ([]byte, error) {
	stream := append(work.reversed[:0], 0xff, 0xd8)
	if t.samples == 3 {
		// Adobe's segment (T.872, 6.5.3) has the transform in its last byte: 1 for YCbCr.
		stream = append(stream, "\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00"...)
		if t.photometric == tiffYCbCr {
			stream[len(stream)-1] = 1
		}
	}
	stream, err := appendSegments(stream, t.tables)
	if err == nil {
		stream, err = appendSegments(stream, raw)
	}
	work.reversed = stream
	if err != nil {
		return nil, err
	}
	head, err := jpeg.ReadHeader(stream)
	if err != nil {
		return nil, err
	}
	if size := head.Width * head.Height * t.samples; cap(work.block) < size {
		work.block = make([]byte, size)
	}
	block := work.block[:head.Width*head.Height*t.samples]
	if len(block) < n {
		return nil, cutShort("tiff")
	}
	return block[:n], jpeg.Decode(stream, head, block)
}

// appendSegments appends the segments of a JPEG stream to another one, and what follows the first start of a
// scan, but for those of applications and comments, which could say something else of the colours.
func appendSegments(dst, src []byte) ([]byte, error) {
	const soi, eoi, sos, app0, app15, com = 0xd8, 0xd9, 0xda, 0xe0, 0xef, 0xfe
	for at := 0; at+1 < len(src); {
		if src[at] != 0xff {
			return dst, rejected("tiff", "a JPEG stream has no marker where one belongs")
		}
		marker := src[at+1]
		switch {
		case marker == 0xff: // fill
			at++
			continue
		case marker == soi:
			at += 2
			continue
		case marker == eoi:
			return dst, nil
		case marker == sos:
			return append(dst, src[at:]...), nil
		case at+4 > len(src):
			return dst, cutShort("tiff")
		}
		end := at + 2 + int(binary.BigEndian.Uint16(src[at+2:]))
		if end > len(src) || end < at+4 {
			return dst, cutShort("tiff")
		}
		if (marker < app0 || marker > app15) && marker != com {
			dst = append(dst, src[at:end]...)
		}
		at = end
	}
	return dst, nil
}
