package imageio

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/pelmill/pelmill/imageio/internal/jpeg"
	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/raster"
)

// Markers of the segments that hold metadata (T.81, table B.1).
const (
	jpegAPP0 = 0xe0
	jpegAPP1 = 0xe1
	jpegAPP2 = 0xe2
)

// jpegScans bounds the scans of a file. Each may cost a pass over the whole
// image for a few bytes; a progressive file of an encoder has some ten, and
// the standard allows no more than 896 that refine something (64 coefficients,
// 14 bits).
const jpegScans = 1000

func openJPEG(data []byte, lim Limits) (*opened, error) {
	p := &opened{}
	var meta raster.Meta
	var profile jpegProfile
	var found []container.Attribute
	head, err := jpeg.ReadHeader(data, func(marker byte, body []byte) {
		switch {
		case marker == jpegAPP1 && bytes.HasPrefix(body, []byte("Exif\x00\x00")) && meta.EXIF == nil:
			meta.EXIF = body[6:]
		case marker == jpegAPP1 && bytes.HasPrefix(body, []byte(jpegXMP)):
			found = append(found, container.Attribute{Kind: container.XMP, Data: body[len(jpegXMP):]})
		case marker == jpegAPP0 && bytes.HasPrefix(body, []byte("JFIF\x00")) && len(body) >= 12:
			found = append(found, jfifDensity(body))
		case marker == jpegAPP2 && bytes.HasPrefix(body, []byte("ICC_PROFILE\x00")) && len(body) > 14:
			profile.add(body[12], body[13], body[14:])
		}
	})
	if err != nil {
		return nil, err
	}
	p.Header = Header{Shape: raster.Shape{Width: head.Width, Height: head.Height, Depth: 1, Channels: min(head.Components, 3), Bits: 8}}
	if err := lim.check("jpeg", &p.Header, len(data)); err != nil {
		return nil, err
	}
	if jpeg.CountScans(data, jpegScans+1) > jpegScans {
		return nil, overLimit("jpeg", "it has more scans than the limit of %d", jpegScans)
	}
	p.DecodedBytes = int64(p.Size()) + head.Memory + overhead
	if meta.ICC = profile.join(); meta.ICC != nil {
		p.has(container.ICC)
	}
	if meta.EXIF != nil {
		p.has(container.EXIF)
	}
	p.turn(&meta)
	p.attributes(slices.Values(found))
	p.decode = func() (*raster.Image, error) {
		m := raster.New(head.Width, head.Height, 1, min(head.Components, 3), 8)
		if err := jpeg.Decode(data, head, m.Pix); err != nil {
			return nil, err
		}
		return exif.Attach(m, meta), nil
	}
	return p, nil
}

// jpegXMP begins the APP1 segment of an XMP packet (XMP specification, part 3, 1.1.3).
const jpegXMP = "http://ns.adobe.com/xap/1.0/\x00"

// jfifDensity reads the density of a JFIF segment (JFIF 1.02, APP0): its unit, then
// samples per unit along x and y.
func jfifDensity(body []byte) container.Attribute {
	be := binary.BigEndian
	return container.Attribute{Kind: container.Density, Resolution: container.Resolution{
		X:   container.Rational{Numerator: uint32(be.Uint16(body[8:])), Denominator: 1},
		Y:   container.Rational{Numerator: uint32(be.Uint16(body[10:])), Denominator: 1},
		Per: map[byte]container.Unit{1: container.Inch, 2: container.Centimetre}[body[7]],
	}}
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
// part of the image.
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
