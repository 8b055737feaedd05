package neuquant

import (
	"fmt"
	"strconv"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/raster"
)

// Header reads the blocks of a file without its pixels.
func (Codec) Header(data []byte) (codec.Header, error) {
	f, err := open(data)
	if err != nil {
		return codec.Header{}, err
	}
	h := codec.Header{
		Shape:       raster.Shape{Width: f.width, Height: f.height, Depth: f.frames, Channels: 3, Bits: 8, Frames: f.frames > 1},
		Resolutions: 1,
		Fields:      f.fields(),
	}
	if f.clear > 0 {
		h.Channels = 4
	}
	if f.mark > 0 {
		h.Channels = f.mark
	}
	n := int64(h.Pixels())
	h.Memory = decodeMemory(n, h.Channels, f.gif != nil) + int64(len(f.profile.Data)+len(f.exif))
	if turn := exif.Orientation(f.exif); turn > 1 {
		h.Memory += int64(h.Size())
	}
	return h, nil
}

// fields describe the file for people.
func (f *file) fields() []codec.Field {
	format, alpha := "PNG, indexed", "no"
	if f.gif != nil {
		format = "GIF"
	}
	if f.clear > 0 {
		alpha = "yes"
	}
	fields := []codec.Field{
		{Name: "format", Value: format},
		{Name: "width", Value: strconv.Itoa(f.width)},
		{Name: "height", Value: strconv.Itoa(f.height)},
	}
	if f.frames > 1 {
		fields = append(fields, codec.Field{Name: "frames", Value: strconv.Itoa(f.frames)})
	}
	fields = append(fields, []codec.Field{
		{Name: "palette", Value: fmt.Sprintf("%d entries, %d bits an index", f.entries, f.bits)},
		{Name: "alpha", Value: alpha},
		{Name: "bits per pixel", Value: fmt.Sprintf("%.3f", 8*float64(f.bytes)/float64(f.width*f.height*f.frames))},
	}...)
	for _, block := range []struct {
		name string
		body []byte
	}{{"ICC profile", f.profile.Data}, {"EXIF block", f.exif}} {
		if block.body != nil {
			fields = append(fields, codec.Field{Name: block.name, Value: strconv.Itoa(len(block.body)) + " bytes"})
		}
	}
	return fields
}
