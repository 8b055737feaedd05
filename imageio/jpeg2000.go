package imageio

import (
	"context"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/internal/container/jp2"
	"github.com/pelmill/pelmill/raster"
)

// openJPEG2000 opens files of Part 1 and Part 15, boxed or raw, with the decoder of codec
// jpeg2000: the standard has one way to read a file, and a second decoder would have to
// agree with it in every bit. The EXIF orientation is not applied, as JPEG 2000 is shown as it
// is stored.
func openJPEG2000(data []byte, lim Limits) (*opened, error) {
	h, err := jpeg2000.Codec{}.Header(data)
	if err != nil {
		return nil, err
	}
	p := &opened{Header: Header{Shape: h.Shape, DecodedBytes: h.Memory}}
	if err := lim.check("jpeg2000", &p.Header, len(data)); err != nil {
		return nil, err
	}
	boxes, err := jp2.Parse(data)
	if err != nil {
		return nil, err
	}
	p.attributes(boxes.Attributes())
	p.meta = func() raster.Meta { return raster.Meta{ICC: boxes.Colour.ICC, EXIF: boxes.EXIF} }
	p.decode = func() (*raster.Image, error) {
		d := jpeg2000.Codec{}.Decode(context.Background(), codec.Run{Pool: pool.Of(1)}, [][]byte{data}, nil)
		if d[0].Err != nil {
			return nil, d[0].Err
		}
		return exif.Attach(d[0].Image, p.meta()), nil
	}
	return p, nil
}
