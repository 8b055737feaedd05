package jpeg2000

import (
	"context"
	"errors"
	"fmt"
	"image"
	"strconv"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/volume"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// containerVolume is the container of volumes: a raw codestream of Part 10.
const containerVolume = "jp3d"

// part10 says whether files are of Part 10.
func (o *Options) part10() bool { return o.container == containerVolume }

// checkVolume refuses options that say something of files of Part 1.
func (o *Options) checkVolume() error {
	want := defaults
	want.container, want.effort = o.container, o.effort
	if o.wavelet == "5/3" {
		want.wavelet = o.wavelet // the only one there is
	}
	if o.String() != want.String() {
		return errors.New("jpeg2000: option container=jp3d: of the other options only effort goes with it")
	}
	return nil
}

// volumeFiles changes info to what it is for files of Part 10. Of attributes they have room
// for those of space.
func volumeFiles(info *codec.Info) {
	info.MediaType, info.Keeps = "image/jp3d", []string{raster.AttributeSpacing, raster.AttributeGeometry}
	info.Accepts.Slices, info.Accepts.MaxSide = true, volume.MaxSide
}

var volumeEfforts = map[string]volume.Effort{effortFast: volume.Fast, effortDefault: volume.Default, effortBest: volume.Best}

func encodeVolume(ctx context.Context, workers *pool.Pool, m *raster.Image, o *Options) ([]byte, error) {
	data, _, err := volume.Encode(ctx, workers, m, volumeEfforts[o.effort])
	return data, err
}

// decodeVolume decodes the whole resolution that a view is of.
func decodeVolume(ctx context.Context, workers *pool.Pool, data []byte, view codec.View) (*raster.Image, error) {
	h, err := volume.Read(data)
	if err != nil {
		return nil, err
	}
	area, err := view.In(h.Shape, h.Resolutions)
	if err != nil {
		return nil, err
	}
	m, err := volume.Decode(ctx, workers, data, view.Reduce)
	if err != nil || area == image.Rect(0, 0, m.Width, m.Height) {
		return m, err
	}
	return raster.Crop(m, area), nil
}

// volumeHeader is HeaderView for a file of Part 10.
func volumeHeader(data []byte, view codec.View) (codec.Header, error) {
	v, err := volume.Read(data)
	if err != nil {
		return codec.Header{}, err
	}
	area, err := view.In(v.Shape, v.Resolutions)
	if err != nil {
		return codec.Header{}, err
	}
	h := codec.Header{Shape: v.Shape, Memory: v.Memory(view.Reduce), Resolutions: v.Resolutions, Fields: []codec.Field{
		{Name: "format", Value: "JPEG 2000 Part 10 (JP3D), raw codestream"},
		{Name: "width", Value: strconv.Itoa(v.Width)},
		{Name: "height", Value: strconv.Itoa(v.Height)},
		{Name: "slices", Value: strconv.Itoa(v.Depth)},
		{Name: "components", Value: fmt.Sprintf("%d of %d bit", v.Channels, v.Bits)},
		{Name: "wavelet", Value: fmt.Sprintf("5/3 reversible, decomposition levels along x, y, z: %d, %d, %d", v.Levels[0], v.Levels[1], v.Levels[2])},
		{Name: "code-blocks", Value: fmt.Sprintf("%dx%dx%d", 1<<v.BlockExp[0], 1<<v.BlockExp[1], 1<<v.BlockExp[2])},
		{Name: "bits per voxel", Value: fmt.Sprintf("%.3f", 8*float64(len(data))/float64(v.Pixels()))},
	}}
	if s := v.Spacing; s != [3]float64{} {
		h.Fields = append(h.Fields, codec.Field{Name: "spacing", Value: fmt.Sprintf("%g x %g x %g mm", s[0], s[1], s[2])})
	}
	h.Width, h.Height = area.Dx(), area.Dy()
	if view != (codec.View{}) {
		h.Memory += int64(h.Size()) // the part that is cropped
	}
	return h, nil
}

// volumeMemory is Memory for files of Part 10.
func volumeMemory(s raster.Shape) codec.Memory {
	encode, decode, file := volume.Memory(s)
	return codec.Memory{Encode: encode, Decode: decode, File: file}
}
