package imageio

import (
	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/exif"
	segments "github.com/pelmill/pelmill/internal/container/jpeg"
	jpeg "github.com/pelmill/pelmill/internal/container/jpeg/decode"
	"github.com/pelmill/pelmill/raster"
)

// jpegScans bounds the scans of a file. Each may cost a pass over the whole
// image for a few bytes; a progressive file of an encoder has some ten, and
// the standard allows no more than 896 that refine something (64 coefficients,
// 14 bits).
const jpegScans = 1000

// matchJPEG takes what begins with SOI and a marker, or with stray bytes and a whole
// segment between the two, which libjpeg passes over too.
func matchJPEG(data []byte) bool {
	if !segments.Match(data) || len(data) < 3 {
		return false
	}
	if data[2] == 0xff {
		return true
	}
	s, _, err := segments.Next(data, 2)
	return err == nil && s.Marker >= segments.SOF0 && s.Marker <= segments.COM
}

func openJPEG(data []byte, lim Limits) (*opened, error) {
	p := &opened{}
	head, err := jpeg.ReadHeader(data)
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
	var meta raster.Meta
	for a := range segments.Attributes(data) {
		switch {
		case a.Kind == container.ICC:
			meta.ICC = a.Data
		case a.Kind == container.EXIF && meta.EXIF == nil:
			meta.EXIF = a.Data
		}
	}
	attributes := p.withoutInks(&meta, segments.Attributes(data))
	p.turn(&meta)
	p.attributes(attributes)
	p.decode = func() (*raster.Image, error) {
		m := raster.Unfilled(raster.Shape{Width: head.Width, Height: head.Height, Depth: 1, Channels: min(head.Components, 3), Bits: 8})
		if err := jpeg.Decode(data, head, m.Pix); err != nil {
			return nil, err
		}
		return exif.Attach(m, meta), nil
	}
	return p, nil
}
