package imageio

import (
	"image"

	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/internal/container/webp"
	"github.com/pelmill/pelmill/raster"
)

// openWebP reads the chunks and the header of the bitstream. It also checks what the
// decoders take on trust: that every chunk lies within the file, and that the canvas
// has the size of the image on it.
func openWebP(data []byte, lim Limits) (*opened, error) {
	if webp.Animated(data) {
		return openAnimatedWebP(data, lim)
	}
	p := &opened{}
	f, err := webp.Open(data, container.Lenient)
	if err != nil {
		return nil, err
	}
	if f.Canvas != nil {
		p.Header = Header{Shape: raster.Shape{Width: f.Canvas.Width, Height: f.Canvas.Height, Depth: 1, Channels: 3, Bits: 8}}
		if err := lim.check("webp", &p.Header, len(data)); err != nil {
			return nil, err
		}
	}
	shape, err := f.Shape()
	if err != nil {
		return nil, err
	}
	p.Header = Header{Shape: raster.Shape{Width: shape.Width, Height: shape.Height, Depth: 1, Channels: 3, Bits: 8}}
	if shape.Alpha {
		p.Channels = 4
	}
	if err := lim.check("webp", &p.Header, len(data)); err != nil {
		return nil, err
	}
	p.DecodedBytes = webpMemory(&p.Header, f.Lossy, len(data))
	meta := raster.Meta{ICC: f.ICC, EXIF: f.EXIF}
	p.turn(&meta)
	p.attributes(f.Attributes())
	p.decode = func() (*raster.Image, error) {
		src, err := f.Decode()
		if err != nil {
			return nil, err
		}
		m, err := fromWebP(src, p.Channels)
		if err != nil {
			return nil, err
		}
		return exif.Attach(m, meta), nil
	}
	return p, nil
}

// webpMemory counts, for VP8, planes padded to macroblocks with their filter
// parameters, our copy, and alpha, which is a VP8L image of its own; for VP8L
// the image, its copy while a palette is undone, the images of transforms and
// the prefix codes. The decoder holds these to 2,600 groups of 5 codes; the
// nodes of a code take 256 bytes for each byte that describes it.
func webpMemory(h *Header, lossy bool, encoded int) int64 {
	const groups, group, nodes = 2600, 2720, 50 << 10
	n := int64(h.Pixels())
	tiles := int64((h.Width+3)/4) * int64((h.Height+3)/4)
	codes := min(groups, tiles+3)
	vp8l := 8*n + 3*4*tiles + codes*group + min(codes*nodes, 256*int64(encoded)) + overhead
	if !lossy {
		return vp8l
	}
	macroblocks := int64((h.Width+15)/16) * int64((h.Height+15)/16)
	m := macroblocks*(384+8) + int64(h.Size()) + int64(encoded) + overhead
	if h.Channels == 4 {
		m += n + vp8l
	}
	return m
}

func fromWebP(src image.Image, channels int) (*raster.Image, error) {
	w, h := src.Bounds().Dx(), src.Bounds().Dy()
	switch s := src.(type) {
	case *image.NRGBA:
		if channels == 3 {
			return adopt(w, h, 3, 8, dropFourth(s.Pix)), nil
		}
		return adopt(w, h, 4, 8, s.Pix), nil
	case *image.YCbCr:
		m := raster.New(w, h, 1, channels, 8)
		fromVP8(m, s)
		if channels == 4 {
			for i := 3; i < len(m.Pix); i += 4 {
				m.Pix[i] = 255
			}
		}
		return m, nil
	case *image.NYCbCrA:
		m := raster.New(w, h, 1, 4, 8)
		fromVP8(m, &s.YCbCr)
		for y := range h {
			row := m.Pix[4*w*y : 4*w*(y+1)]
			for x, a := range s.A[y*s.AStride : y*s.AStride+w] {
				row[4*x+3] = a
			}
		}
		return m, nil
	}
	return nil, unsupported("webp", "samples of type %T are not read", src)
}

// fromVP8 converts planes of VP8, which are of limited range (RFC 6386, 9.2)
// though [image.YCbCr] says otherwise. Chroma is interpolated and colours are
// computed exactly as in libwebp (src/dsp/upsampling.c, src/dsp/yuv.h), so that
// the samples are those that everybody else sees.
func fromVP8(m *raster.Image, s *image.YCbCr) {
	w, h := m.Width, m.Height
	cw, chroma := (w+1)/2, (h+1)/2
	us, vs := make([]byte, w), make([]byte, w)
	j := 0
	for y := range h {
		near := y / 2
		far := near - 1 + y&1*2
		far = min(max(far, 0), chroma-1)
		upsample(us, s.Cb[near*s.CStride:][:cw], s.Cb[far*s.CStride:][:cw])
		upsample(vs, s.Cr[near*s.CStride:][:cw], s.Cr[far*s.CStride:][:cw])
		for x, luma := range s.Y[y*s.YStride : y*s.YStride+w] {
			u, v := int32(us[x]), int32(vs[x])
			yy := int32(luma) * 19077 >> 8
			d := m.Pix[j : j+3 : j+3]
			d[0] = clamp6(yy + v*26149>>8 - 14234)
			d[1] = clamp6(yy - u*6419>>8 - v*13320>>8 + 8708)
			d[2] = clamp6(yy + u*33050>>8 - 17685)
			j += m.Channels
		}
	}
}

// clamp6 is the integer part of a number with 6 fractional bits, held to 0..255.
func clamp6(v int32) byte { return byte(min(max(v>>6, 0), 255)) }

// upsample doubles a row of chroma with weights of 9, 3, 3 and 1 sixteenths for
// the four chroma samples around each pixel, in libwebp's order of rounding.
func upsample(dst []byte, near, far []byte) {
	n := len(dst)
	dst[0] = byte((3*int(near[0]) + int(far[0]) + 2) >> 2)
	for i := 1; 2*i-1 < n; i++ {
		if i == len(near) {
			dst[n-1] = byte((3*int(near[i-1]) + int(far[i-1]) + 2) >> 2)
			break
		}
		nl, nr, fl, fr := int(near[i-1]), int(near[i]), int(far[i-1]), int(far[i])
		sum := nl + nr + fl + fr + 8
		dst[2*i-1] = byte(((sum+2*(nr+fl))>>3 + nl) >> 1)
		if 2*i < n {
			dst[2*i] = byte(((sum+2*(nl+fr))>>3 + nr) >> 1)
		}
	}
}
