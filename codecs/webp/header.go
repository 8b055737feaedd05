package webp

import (
	"fmt"
	"strconv"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/raster"
)

// Header reads the container and the header of the bitstream.
func (Codec) Header(data []byte) (codec.Header, error) {
	f, err := open(data)
	if err != nil {
		return codec.Header{}, err
	}
	h := codec.Header{
		Shape:       raster.Shape{Width: f.width, Height: f.height, Depth: 1, Channels: 3, Bits: 8},
		Resolutions: 1,
		Fields:      f.fields(),
	}
	if f.alpha {
		h.Channels = 4
	}
	n := int64(h.Pixels())
	h.Memory = n*decodeBytes + decodeTables + int64(len(f.icc)+len(f.exif)+len(f.xmp))
	if turn := exif.Orientation(f.exif); turn > 1 {
		h.Memory += int64(h.Size()) // turned into an image of its own
	}
	return h, nil
}

// fields describe the file for people.
func (f *file) fields() []codec.Field {
	alpha := "no"
	if f.alpha {
		alpha = "yes"
	}
	fields := []codec.Field{
		{Name: "format", Value: "WebP lossless (VP8L)"},
		{Name: "width", Value: strconv.Itoa(f.width)},
		{Name: "height", Value: strconv.Itoa(f.height)},
		{Name: "alpha", Value: alpha},
		{Name: "bits per pixel", Value: fmt.Sprintf("%.3f", 8*float64(len(f.bitstream))/float64(f.width*f.height))},
	}
	for _, block := range []struct {
		name string
		body []byte
	}{{"ICC profile", f.icc}, {"EXIF block", f.exif}, {"XMP packet", f.xmp}} {
		if block.body != nil {
			fields = append(fields, codec.Field{Name: block.name, Value: strconv.Itoa(len(block.body)) + " bytes"})
		}
	}
	return fields
}
