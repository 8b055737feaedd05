package jpegxl

import (
	"fmt"
	"strconv"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/jpegdata"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/vardct"
	"github.com/pelmill/pelmill/raster"
)

// Header reads the boxes and the headers of the codestream.
func (Codec) Header(data []byte) (codec.Header, error) {
	f, info, err := open(data)
	if err != nil {
		return codec.Header{}, fileError(err)
	}
	h := codec.Header{
		Shape:       raster.Shape{Width: info.Width, Height: info.Height, Depth: 1, Channels: 3, Bits: 8},
		Resolutions: 1,
	}
	if info.Grey {
		h.Channels = 1
	}
	if info.Orientation > 4 {
		h.Width, h.Height = h.Height, h.Width
	}
	h.Memory = decodeMemory(h.Shape) + int64(2*len(data))
	h.Fields = []codec.Field{
		{Name: "format", Value: "JPEG XL, made from a JPEG file"},
		{Name: "width", Value: strconv.Itoa(h.Width)},
		{Name: "height", Value: strconv.Itoa(h.Height)},
		{Name: "channels", Value: strconv.Itoa(h.Channels)},
		{Name: "bits per pixel", Value: fmt.Sprintf("%.3f", 8*float64(len(data))/float64(h.Width*h.Height))},
		{Name: "codestream", Value: fmt.Sprintf("%d bytes", len(f.codestream))},
		{Name: "reconstruction", Value: fmt.Sprintf("%d bytes (jbrd)", len(f.jbrd))},
	}
	for _, part := range []struct {
		name string
		data []byte
	}{{"ICC profile", info.ICC}, {"EXIF block", f.exif}, {"XMP packet", f.xmp}} {
		if part.data != nil {
			h.Fields = append(h.Fields, codec.Field{Name: part.name, Value: fmt.Sprintf("%d bytes", len(part.data))})
		}
	}
	return h, nil
}

// open reads the boxes and headers of a file that holds a JPEG file.
func open(data []byte) (*file, *vardct.Info, error) {
	f, err := readBoxes(data, maxMetadata)
	if err != nil {
		return nil, nil, err
	}
	if f.jbrd == nil {
		return nil, nil, errNoJPEG
	}
	if _, err := jpegdata.ReadBox(f.jbrd); err != nil {
		return nil, nil, err
	}
	info, err := vardct.ReadInfo(f.codestream, maxMetadata)
	return f, info, err
}
