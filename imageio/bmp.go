package imageio

import (
	"bytes"
	"encoding/binary"
	"image"

	"golang.org/x/image/bmp"

	"github.com/pelmill/pelmill/raster"
)

// openBMP reads the fields that tell the size. Kinds of headers and compressions
// are left to the decoder, which reads BITMAPINFOHEADER, V4 and V5.
func openBMP(data []byte, lim Limits) (*opened, error) {
	if len(data) < 18 {
		return nil, cutShort("bmp")
	}
	le := binary.LittleEndian
	length := le.Uint32(data[14:])
	if length != 40 && length != 108 && length != 124 {
		return nil, unsupported("bmp", "a header of %d bytes is not read", length)
	}
	if len(data) < 14+int(length) {
		return nil, cutShort("bmp")
	}
	w, h := int64(int32(le.Uint32(data[18:]))), int64(int32(le.Uint32(data[22:])))
	h = max(h, -h) // negative where rows go from top to bottom
	bits := int64(le.Uint16(data[28:]))
	p := &opened{Header: Header{Shape: raster.Shape{Width: int(w), Height: int(h), Depth: 1, Channels: 3, Bits: 8}}}
	perPixel := int64(4)
	switch bits {
	case 1, 2, 4, 8:
		// The decoder's indices and our colours.
		perPixel = 4
	case 24:
	case 32:
		// Alpha counts only in headers that describe it.
		if length > 40 {
			p.Channels = 4
		}
	default:
		return nil, unsupported("bmp", "%d bits per pixel are not read", bits)
	}
	if err := lim.check("bmp", &p.Header, len(data)); err != nil {
		return nil, err
	}
	if _, err := bmp.DecodeConfig(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	stride := (w*bits + 31) / 32 * 4
	if int64(len(data)) < int64(le.Uint32(data[10:]))+stride*h {
		return nil, cutShort("bmp")
	}
	p.DecodedBytes = int64(p.Pixels())*perPixel + stride + overhead
	p.decode = func() (*raster.Image, error) {
		src, err := bmp.Decode(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		switch s := src.(type) {
		case *image.Paletted:
			return expandPalette(s, 3), nil
		case *image.RGBA:
			return adopt(p.Width, p.Height, 3, 8, dropFourth(s.Pix)), nil
		case *image.NRGBA:
			if p.Channels == 3 {
				return adopt(p.Width, p.Height, 3, 8, dropFourth(s.Pix)), nil
			}
			return adopt(p.Width, p.Height, 4, 8, s.Pix), nil
		}
		return nil, unsupported("bmp", "samples of type %T are not read", src)
	}
	return p, nil
}
