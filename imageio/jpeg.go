package imageio

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"

	"github.com/pelmill/pelmill/raster"
)

// Markers of ITU-T T.81, table B.1.
const (
	jpegSOF0 = 0xc0
	jpegSOF2 = 0xc2
	jpegSOF3 = 0xc3
	jpegDHT  = 0xc4
	jpegJPG  = 0xc8
	jpegDAC  = 0xcc
	jpegEOI  = 0xd9
	jpegSOS  = 0xda
	jpegAPP1 = 0xe1
	jpegAPP2 = 0xe2
)

// jpegScans bounds the scans of a file. Each may cost a pass over the whole
// picture for a few bytes; a progressive file of an encoder has some ten, and
// the standard allows no more than 896 that refine something (64 coefficients,
// 14 bits).
const jpegScans = 1000

func openJPEG(data []byte, lim Limits) (*picture, error) {
	p := &picture{}
	var meta raster.Meta
	var profile jpegProfile
	framed := false
	err := jpegSegments(data, func(marker byte, body []byte) (bool, error) {
		switch {
		case marker == jpegAPP1 && bytes.HasPrefix(body, []byte("Exif\x00\x00")) && meta.EXIF == nil:
			meta.EXIF = body[6:]
		case marker == jpegAPP2 && bytes.HasPrefix(body, []byte("ICC_PROFILE\x00")) && len(body) > 14:
			profile.add(body[12], body[13], body[14:])
		case marker >= jpegSOF0 && marker <= 0xcf && marker != jpegDHT && marker != jpegJPG && marker != jpegDAC:
			if framed {
				return false, rejected("jpeg", "it holds two frames")
			}
			framed = true
			return false, p.jpegFrame(marker, body, len(data), lim)
		case marker == jpegEOI:
			return false, rejected("jpeg", "it holds no scan")
		}
		return marker == jpegSOS, nil
	})
	if err != nil {
		return nil, err
	}
	if !framed {
		return nil, rejected("jpeg", "its scan comes before its frame header")
	}
	if n := bytes.Count(data, []byte{0xff, jpegSOS}); n > jpegScans {
		return nil, overLimit("jpeg", "it has %d scans and the limit is %d", n, jpegScans)
	}
	meta.ICC = profile.join()
	p.turn(&meta)
	p.decode = func() (*raster.Image, error) {
		src, err := jpeg.Decode(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		m, err := fromJPEG(src)
		if err != nil {
			return nil, err
		}
		return raster.Upright(m, meta), nil
	}
	return p, nil
}

// jpegFrame reads a frame header (T.81, B.2.2) and counts the memory of the
// decoder: planes padded to whole MCUs, coefficients of four bytes where
// progressive, and the interleaved result.
func (p *picture) jpegFrame(marker byte, body []byte, encoded int, lim Limits) error {
	switch {
	case marker == jpegSOF3 || marker == 0xc7 || marker == 0xcb || marker == 0xcf:
		return unsupported("jpeg", "lossless JPEG is not read")
	case marker >= 0xc9:
		return unsupported("jpeg", "arithmetic coding is not read")
	case marker > jpegSOF2:
		return unsupported("jpeg", "hierarchical JPEG is not read")
	case len(body) < 6 || len(body) != 6+3*int(body[5]):
		return rejected("jpeg", "its frame header is malformed")
	case body[0] != 8:
		return unsupported("jpeg", "samples of %d bits are not read", body[0])
	}
	n := int(body[5])
	if n != 1 && n != 3 && n != 4 {
		return unsupported("jpeg", "%d components are not read", n)
	}
	h := int(binary.BigEndian.Uint16(body[1:]))
	if h == 0 {
		return unsupported("jpeg", "a height that is told after the first scan is not read")
	}
	p.Header = Header{Width: int(binary.BigEndian.Uint16(body[3:])), Height: h, Depth: 1, Channels: min(n, 3), Bits: 8}
	if err := lim.check("jpeg", &p.Header, encoded); err != nil {
		return err
	}
	hMax, vMax, perMCU := 1, 1, int64(0)
	for i := range n {
		hi, vi := int(body[7+3*i]>>4), int(body[7+3*i]&15)
		if n == 1 {
			hi, vi = 1, 1
		}
		if hi < 1 || hi > 4 || vi < 1 || vi > 4 {
			return rejected("jpeg", "a sampling factor of %d x %d is not defined", hi, vi)
		}
		hMax, vMax = max(hMax, hi), max(vMax, vi)
		perMCU += int64(hi * vi * 64)
	}
	mcus := int64((p.Width+8*hMax-1)/(8*hMax)) * int64((p.Height+8*vMax-1)/(8*vMax))
	p.DecodedBytes = mcus*perMCU + p.size() + overhead
	if marker == jpegSOF2 {
		p.DecodedBytes += 4 * mcus * perMCU
	}
	if n != 1 {
		// The interleaved RGB or CMYK form that the decoder makes of some files.
		p.DecodedBytes += 4 * p.pixels()
	}
	return nil
}

func fromJPEG(src image.Image) (*raster.Image, error) {
	w, h := src.Bounds().Dx(), src.Bounds().Dy()
	switch s := src.(type) {
	case *image.Gray:
		m := raster.New(w, h, 1, 1, 8)
		for y := range h {
			copy(m.Pix[y*w:(y+1)*w], s.Pix[y*s.Stride:])
		}
		return m, nil
	case *image.YCbCr:
		return fromYCbCr(s)
	case *image.RGBA:
		if s.Stride != 4*w {
			break
		}
		return adopt(w, h, 3, 8, dropFourth(s.Pix[:4*w*h])), nil
	case *image.CMYK:
		m := raster.New(w, h, 1, 3, 8)
		j := 0
		for y := range h {
			row := s.Pix[y*s.Stride : y*s.Stride+4*w]
			for i := 0; i+3 < len(row); i += 4 {
				k := 255 - uint32(row[i+3])
				for c := range 3 {
					m.Pix[j+c] = byte(((255-uint32(row[i+c]))*k + 127) / 255)
				}
				j += 3
			}
		}
		return m, nil
	}
	return nil, unsupported("jpeg", "samples of type %T are not read", src)
}

// fromYCbCr converts by JFIF's equations in 16.16 fixed point, with the rounding
// of [color.YCbCrToRGB]. Subsampled chroma is repeated.
func fromYCbCr(s *image.YCbCr) (*raster.Image, error) {
	w, h := s.Rect.Dx(), s.Rect.Dy()
	shift := 0
	switch s.SubsampleRatio {
	case image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio440:
	case image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420:
		shift = 1
	case image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410:
		shift = 2
	default:
		return nil, unsupported("jpeg", "chroma subsampling %v is not read", s.SubsampleRatio)
	}
	m := raster.New(w, h, 1, 3, 8)
	j := 0
	for y := range h {
		c := s.COffset(s.Rect.Min.X, s.Rect.Min.Y+y)
		luma := s.Y[y*s.YStride : y*s.YStride+w]
		cbs, crs := s.Cb[c:], s.Cr[c:]
		row := m.Pix[j : j+3*w : j+3*w]
		for x, v := range luma {
			yy := int32(v) * 0x10101
			cb := int32(cbs[x>>shift]) - 128
			cr := int32(crs[x>>shift]) - 128
			r := yy + 91881*cr
			g := yy - 22554*cb - 46802*cr
			b := yy + 116130*cb
			d := row[3*x : 3*x+3 : 3*x+3]
			d[0], d[1], d[2] = clamp16(r), clamp16(g), clamp16(b)
		}
		j += 3 * w
	}
	return m, nil
}

// clamp16 is the integer part of a 16.16 number, held to 0..255.
func clamp16(v int32) byte {
	if uint32(v)&0xff000000 == 0 {
		return byte(v >> 16)
	}
	return byte(^(v >> 31))
}

// jpegSegments calls visit for every marker segment up to and including the
// first scan, until visit returns true (T.81, B.1.1).
func jpegSegments(data []byte, visit func(marker byte, body []byte) (bool, error)) error {
	for i := 2; ; {
		// Encoders leave stray bytes between segments; decoders skip them.
		for i+1 < len(data) && (data[i] != 0xff || data[i+1] == 0) {
			i++
		}
		for i+1 < len(data) && data[i+1] == 0xff {
			i++
		}
		if i+1 >= len(data) {
			return cutShort("jpeg")
		}
		marker := data[i+1]
		i += 2
		if marker == 0x01 || marker >= 0xd0 && marker <= 0xd7 {
			continue
		}
		if marker == jpegEOI {
			_, err := visit(marker, nil)
			return err
		}
		if i+2 > len(data) {
			return cutShort("jpeg")
		}
		n := int(binary.BigEndian.Uint16(data[i:]))
		if n < 2 {
			return rejected("jpeg", "a segment has a length of %d", n)
		}
		if i+n > len(data) {
			return cutShort("jpeg")
		}
		done, err := visit(marker, data[i+2:i+n])
		if err != nil || done {
			return err
		}
		i += n
	}
}

// jpegProfile joins an ICC profile from its segments (ICC.1, B.4): number of the
// segment from 1, count of segments, data.
type jpegProfile struct {
	parts [256][]byte
	count byte
	bad   bool
}

func (j *jpegProfile) add(number, count byte, part []byte) {
	if number == 0 || number > count || j.parts[number] != nil || j.count != 0 && j.count != count {
		j.bad = true
		return
	}
	j.count = count
	j.parts[number] = part
}

// join returns nil for a profile with a missing or doubled segment: it is not
// part of the picture.
func (j *jpegProfile) join() []byte {
	if j.bad || j.count == 0 {
		return nil
	}
	for i := 1; i <= int(j.count); i++ {
		if j.parts[i] == nil {
			return nil
		}
	}
	return bytes.Join(j.parts[1:int(j.count)+1], nil)
}
