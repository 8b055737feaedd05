package imageio

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"

	"github.com/pelmill/pelmill/raster"
)

// Colour types of IHDR (PNG specification, 11.2.1).
const (
	pngGrey      = 0
	pngRGB       = 2
	pngPalette   = 3
	pngGreyAlpha = 4
	pngRGBA      = 6
)

// profileLimit bounds an inflated ICC profile; real ones stay below 4 MiB.
const profileLimit = 16 << 20

func openPNG(data []byte, lim Limits) (*opened, error) {
	p := &opened{}
	f, err := scanPNG(data, p, lim)
	if err != nil {
		return nil, err
	}
	if f.transparent && (f.colour == pngGrey || f.colour == pngRGB || f.colour == pngPalette) {
		p.Channels++
		if err := lim.check("png", &p.Header, len(data)); err != nil {
			return nil, err
		}
	}
	if f.frames > 1 {
		p.Note = fmt.Sprintf("it is an animation of %d pictures, of which the one was read that viewers without animation show", f.frames)
	}
	meta := raster.Meta{EXIF: f.exif.block()}
	p.DecodedBytes = pngMemory(&p.Header, f.depth, f.colour, f.interlace) + 2*profileBound(f.profile) + int64(len(meta.EXIF))
	p.turn(&meta)
	p.decode = func() (*raster.Image, error) {
		src, err := png.Decode(f.reader(data))
		if err != nil {
			return nil, err
		}
		m, err := fromPNG(src, p.Channels)
		if err != nil {
			return nil, err
		}
		meta.ICC = pngProfile(f.profile)
		return raster.Upright(m, meta), nil
	}
	return p, nil
}

func pngChannels(colour int) int {
	switch colour {
	case pngGrey:
		return 1
	case pngGreyAlpha:
		return 2
	case pngRGB, pngPalette:
		return 3
	case pngRGBA:
		return 4
	}
	return 0
}

// pngMemory counts the image of the standard decoder, which has four channels
// unless it is opaque grey or a palette, its seven passes where interlaced
// (together as large as the image), and our copy where one is made.
func pngMemory(h *Header, depth, colour, interlace int) int64 {
	perPixel := int64(4)
	if h.Channels == 1 || colour == pngPalette {
		perPixel = 1
	}
	if depth == 16 {
		perPixel *= 2
	}
	n := h.pixels() * perPixel
	if interlace != 0 {
		n *= 2
	}
	if colour == pngPalette {
		n += h.size()
	}
	return n + 2*int64(h.Width)*8 + overhead
}

func fromPNG(src image.Image, channels int) (*raster.Image, error) {
	w, h := src.Bounds().Dx(), src.Bounds().Dy()
	switch s := src.(type) {
	case *image.Gray:
		return adopt(w, h, 1, 8, s.Pix), nil
	case *image.RGBA:
		return adopt(w, h, 3, 8, dropFourth(s.Pix)), nil
	case *image.NRGBA:
		if channels == 2 {
			return adopt(w, h, 2, 8, greyAlpha(s.Pix)), nil
		}
		return adopt(w, h, 4, 8, s.Pix), nil
	case *image.Gray16:
		return adopt(w, h, 1, 16, swap16(s.Pix)), nil
	case *image.RGBA64:
		return adopt(w, h, 3, 16, dropFourth16(s.Pix)), nil
	case *image.NRGBA64:
		if channels == 2 {
			return adopt(w, h, 2, 16, greyAlpha16(s.Pix)), nil
		}
		return adopt(w, h, 4, 16, swap16(s.Pix)), nil
	case *image.Paletted:
		return expandPalette(s, channels), nil
	}
	return nil, unsupported("png", "samples of type %T are not read", src)
}

// straight is a palette entry without premultiplication.
func straight(c color.Color) [4]byte {
	switch c := c.(type) {
	case color.RGBA:
		if c.A == 255 {
			return [4]byte{c.R, c.G, c.B, c.A}
		}
	case color.NRGBA:
		return [4]byte{c.R, c.G, c.B, c.A}
	}
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	return [4]byte{n.R, n.G, n.B, n.A}
}

// profileBound is the most that an iCCP chunk may inflate to. Profiles are tables
// that deflate to a half or a tenth; a bomb is dropped at this size.
func profileBound(body []byte) int64 {
	if body == nil {
		return 0
	}
	return min(16<<20, 64<<10+32*int64(len(body)))
}

// pngProfile inflates an iCCP chunk: a name, a zero, the method, zlib data. A
// profile that does not inflate is dropped, as other readers do: it is not part
// of the image.
func pngProfile(body []byte) []byte {
	i := bytes.IndexByte(body, 0)
	if i < 0 || i+2 > len(body) || body[i+1] != 0 {
		return nil
	}
	z, err := zlib.NewReader(bytes.NewReader(body[i+2:]))
	if err != nil {
		return nil
	}
	defer z.Close()
	icc := make([]byte, profileBound(body))
	n, err := io.ReadFull(z, icc)
	if err != io.ErrUnexpectedEOF {
		return nil
	}
	return bytes.Clone(icc[:n])
}
