package imageio

import (
	"fmt"
	"image"
	"image/color"

	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/raster"
)

func openPNG(data []byte, lim Limits) (*opened, error) {
	p := &opened{}
	head, err := png.ReadHeader(data)
	if err != nil {
		return nil, err
	}
	p.Header = Header{Shape: raster.Shape{Width: int(head.Width), Height: int(head.Height), Depth: 1, Channels: head.Channels(), Bits: max(head.Depth, 8)}}
	if err := lim.check("png", &p.Header, len(data)); err != nil {
		return nil, err
	}
	f, err := png.Open(data, container.Lenient)
	if err != nil {
		return nil, err
	}
	if f.Transparency.Kind != "" && (f.Colour == png.Grey || f.Colour == png.RGB || f.Colour == png.Palette) {
		p.Channels++
		if err := lim.check("png", &p.Header, len(data)); err != nil {
			return nil, err
		}
	}
	p.DecodedBytes = pngMemory(&p.Header, &head)
	channels := p.Channels
	samples := func() (*raster.Image, error) { return decodePNG(f, channels) }
	p.stream = f.Stream
	var meta raster.Meta
	if a, ok := animation(f, lim); ok {
		p.stream = nil
		if samples, meta.Animation, err = p.openAPNG(f, &a, lim, len(data)); err != nil {
			return nil, err
		}
	} else if f.Frames > 1 {
		p.Note = fmt.Sprintf("it is an animation of %d pictures that breaks a rule or a limit, of which the one was read that viewers without animation show", f.Frames)
	} else if f.Frames == 1 && onlyFrameApart(data) {
		p.Note = "it is an animation of one picture beside the one that viewers without animation show, which was read"
	}
	meta.EXIF = f.EXIF
	limit := profileLimit(f.ICC.Data)
	p.DecodedBytes += 2*int64(limit) + int64(len(meta.EXIF))
	p.turn(&meta)
	p.meta = func() raster.Meta {
		m := meta
		// A profile that does not inflate is dropped, as other readers do: it is not
		// part of the image.
		m.ICC, _ = f.ICC.Bytes(limit)
		return m
	}
	p.attributes(f.Attributes())
	p.decode = func() (*raster.Image, error) {
		m, err := samples()
		if err != nil {
			return nil, err
		}
		return p.decodeWith(m)
	}
	p.decodeWith = func(m *raster.Image) (*raster.Image, error) { return exif.Attach(m, p.meta()), nil }
	return p, nil
}

// decodePNG reads the samples of a file with so many channels. What the fast decoder does not take is left to the
// standard one, which knows what is wrong with it.
func decodePNG(f *png.File, channels int) (*raster.Image, error) {
	if m, ok := f.Samples(); ok {
		return m, nil
	}
	src, err := f.Decode()
	if err != nil {
		return nil, err
	}
	return fromPNG(src, channels)
}

// animation reads the frames of a file. Where they break a rule, or are over the limit, the file is read as
// viewers without animation show it.
func animation(f *png.File, lim Limits) (png.Animation, bool) {
	if int64(f.Frames) > int64(lim.Frames) {
		return png.Animation{}, false
	}
	return f.Animation()
}

// onlyFrameApart reports whether the only frame of an animation is another picture than the image of the file.
func onlyFrameApart(data []byte) bool {
	for c, err := range png.Chunks(data) {
		if err != nil {
			return false
		}
		if c.Kind == "fdAT" {
			return true
		}
	}
	return false
}

// profileLimit is the most that an iCCP chunk may inflate to. Profiles are tables
// that deflate to a half or a tenth, and real ones stay below 4 MiB; a bomb is
// dropped at this size.
func profileLimit(zipped []byte) int {
	if zipped == nil {
		return 0
	}
	return min(profileMost, 64<<10+32*len(zipped))
}

// profileMost is the most that is kept of an ICC profile, in bytes.
const profileMost = 16 << 20

// pngMemory counts the image of the standard decoder, which has four channels
// unless it is opaque grey or a palette, its seven passes where interlaced
// (together as large as the image), and our copy where one is made. The fast decoder
// takes the image, a window and three rows, and has given them back before the other begins.
func pngMemory(h *Header, head *png.Header) int64 {
	perPixel := int64(4)
	if h.Channels == 1 || head.Colour == png.Palette {
		perPixel = 1
	}
	if head.Depth == 16 {
		perPixel *= 2
	}
	n := int64(h.Pixels()) * perPixel
	if head.Interlaced {
		n *= 2
	}
	if head.Colour == png.Palette {
		n += int64(h.Size())
	}
	return n + 3*int64(h.Width)*8 + overhead
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
