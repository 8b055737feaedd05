package imageio

import (
	"bytes"
	"encoding/binary"
	"image"
	"io"

	"golang.org/x/image/webp"

	"github.com/pelmill/pelmill/raster"
)

func matchWebP(data []byte) bool {
	return len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}

// openWebP reads the chunks (WebP container specification) and the headers of
// the bitstreams (RFC 6386, 9.1; RFC 9649, 3.4). It also checks what the decoder
// takes on trust: that every chunk lies within the file, and that the canvas has
// the size of the image on it.
func openWebP(data []byte, lim Limits) (*opened, error) {
	p := &opened{}
	var meta raster.Meta
	var canvas *Header
	var alpha, bitstream []byte
	opened, lossy := false, false
	err := webpChunks(data, &opened, func(kind string, body []byte) error {
		switch kind {
		case "VP8X":
			if len(body) < 10 {
				return cutShort("webp")
			}
			const animation = 0x02
			if body[0]&animation != 0 {
				return unsupported("webp", "animations are not read")
			}
			canvas = &Header{Shape: raster.Shape{Width: 1 + uint24(body[4:]), Height: 1 + uint24(body[7:]), Depth: 1, Channels: 3, Bits: 8}}
			return lim.check("webp", canvas, len(data))
		case "ALPH":
			// As in libwebp, the chunk counts and not the flag of VP8X.
			if canvas != nil && !opened {
				alpha = body
			}
		case "VP8 ", "VP8L":
			if opened {
				return rejected("webp", "it holds two pictures")
			}
			opened, lossy, bitstream = true, kind == "VP8 ", body
			var err error
			if lossy {
				p.Header, err = vp8Header(body)
			} else {
				p.Header, err = vp8lHeader(body)
			}
			if err != nil {
				return err
			}
			if canvas != nil && (canvas.Width != p.Width || canvas.Height != p.Height) {
				return rejected("webp", "a canvas of %d x %d holds a picture of %d x %d", canvas.Width, canvas.Height, p.Width, p.Height)
			}
			if alpha != nil && lossy {
				p.Channels = 4
			}
			return lim.check("webp", &p.Header, len(data))
		case "ICCP":
			meta.ICC = body
		case "EXIF":
			meta.EXIF = bytes.TrimPrefix(body, []byte("Exif\x00\x00"))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !opened {
		return nil, rejected("webp", "it holds no picture")
	}
	p.DecodedBytes = webpMemory(&p.Header, lossy, len(data))
	h := p.Header // before it is turned
	p.turn(&meta)
	p.decode = func() (*raster.Image, error) {
		src, err := webp.Decode(webpSource(&h, lossy, alpha, bitstream))
		if err != nil {
			return nil, err
		}
		m, err := fromWebP(src, p.Channels)
		if err != nil {
			return nil, err
		}
		return raster.Upright(m, meta), nil
	}
	return p, nil
}

// webpSource presents the image as the decoder takes it, without what stands
// beside it in the file: the decoder refuses an alpha channel that VP8X does not
// announce or that is announced and missing, which libwebp takes.
func webpSource(h *Header, lossy bool, alpha, bitstream []byte) io.Reader {
	le := binary.LittleEndian
	var parts []io.Reader
	length := len("WEBP")
	chunk := func(kind string, body []byte) {
		parts = append(parts, bytes.NewReader(le.AppendUint32([]byte(kind), uint32(len(body)))), bytes.NewReader(body))
		if len(body)&1 != 0 {
			parts = append(parts, bytes.NewReader([]byte{0}))
		}
		length += 8 + len(body) + len(body)&1
	}
	if lossy && alpha != nil {
		const hasAlpha = 0x10
		w, ht := uint32(h.Width-1), uint32(h.Height-1)
		chunk("VP8X", []byte{hasAlpha, 0, 0, 0, byte(w), byte(w >> 8), byte(w >> 16), byte(ht), byte(ht >> 8), byte(ht >> 16)})
		chunk("ALPH", alpha)
	}
	kind := "VP8L"
	if lossy {
		kind = "VP8 "
	}
	chunk(kind, bitstream)
	head := append(le.AppendUint32([]byte("RIFF"), uint32(length)), "WEBP"...)
	return io.MultiReader(append([]io.Reader{bytes.NewReader(head)}, parts...)...)
}

// webpChunks calls visit for every chunk of the container. Bytes behind the
// image that are too few for a chunk are passed over.
func webpChunks(data []byte, opened *bool, visit func(kind string, body []byte) error) error {
	le := binary.LittleEndian
	end := 8 + int64(le.Uint32(data[4:]))
	if end > int64(len(data)) {
		return cutShort("webp")
	}
	rest := data[12:max(end, 12)]
	for len(rest) > 0 {
		if len(rest) < 8 && *opened {
			return nil
		}
		if len(rest) < 8 {
			return cutShort("webp")
		}
		n := int64(le.Uint32(rest[4:]))
		if 8+n > int64(len(rest)) {
			return cutShort("webp")
		}
		if err := visit(string(rest[:4]), rest[8:8+n]); err != nil {
			return err
		}
		rest = rest[min(8+n+n&1, int64(len(rest))):]
	}
	return nil
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

func vp8Header(b []byte) (Header, error) {
	if len(b) < 10 {
		return Header{}, cutShort("webp")
	}
	if b[0]&1 != 0 || b[3] != 0x9d || b[4] != 0x01 || b[5] != 0x2a {
		return Header{}, rejected("webp", "its picture is no key frame of VP8")
	}
	w, h := int(binary.LittleEndian.Uint16(b[6:])), int(binary.LittleEndian.Uint16(b[8:]))
	if first := uint24(b) >> 5; first > len(b)-10 {
		return Header{}, cutShort("webp")
	}
	return Header{Shape: raster.Shape{Width: w & 0x3fff, Height: h & 0x3fff, Depth: 1, Channels: 3, Bits: 8}}, nil
}

func vp8lHeader(b []byte) (Header, error) {
	if len(b) < 5 {
		return Header{}, cutShort("webp")
	}
	v := binary.LittleEndian.Uint32(b[1:])
	if b[0] != 0x2f || v>>29 != 0 {
		return Header{}, rejected("webp", "its picture is not VP8L version 0")
	}
	h := Header{Shape: raster.Shape{Width: 1 + int(v&0x3fff), Height: 1 + int(v>>14&0x3fff), Depth: 1, Channels: 3, Bits: 8}}
	if v>>28&1 != 0 {
		h.Channels = 4
	}
	return h, nil
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
