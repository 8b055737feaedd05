// Package thumbnail makes small pictures of images and of results, for people to look at.
package thumbnail

import (
	"context"
	"fmt"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
)

// PNG gives a picture of at most side samples along a side, as a PNG file, of what data
// holds: of a volume or a sequence the middle slice, of samples of more than 8 bits the range
// in use. c is the codec of the file, nil for a file of an image format; assets finds what files share, and may be nil. It decodes as little
// as the file allows, and nothing of more than samples samples; 0: the limits of readers hold.
func PNG(ctx context.Context, c codec.Codec, data []byte, assets codec.Assets, side int, samples int64) ([]byte, error) {
	m, err := decode(ctx, c, data, assets, side, samples)
	if err != nil {
		return nil, err
	}
	return imageio.Encode(raster.Stretch(shrink(m, side)), "png")
}

func decode(ctx context.Context, c codec.Codec, data []byte, assets codec.Assets, side int, samples int64) (*raster.Image, error) {
	if c == nil {
		return imageio.Decode(data, &imageio.Limits{Samples: samples})
	}
	h, err := c.Header(data)
	if err != nil {
		return nil, err
	}
	if n := float64(h.Width) * float64(h.Height) * float64(max(h.Depth, 1)) * float64(max(h.Channels, 1)); samples > 0 && n > float64(samples) {
		return nil, fmt.Errorf("thumbnail: %s: more than %d samples", h.Shape, samples)
	}
	var view codec.View
	for view.Reduce < h.Resolutions-1 && max(h.Width, h.Height)>>view.Reduce > side {
		view.Reduce++
	}
	d := codec.DecodeView(ctx, c, codec.Run{}, [][]byte{data}, assets, view)[0]
	return d.Image, d.Err
}

// shrink returns the middle slice of m at most side samples wide and high.
func shrink(m *raster.Image, side int) *raster.Image {
	m = m.Slice(m.Depth / 2)
	k := 0
	for (max(m.Width, m.Height)+1<<k-1)>>k > side {
		k++
	}
	return raster.Reduce(m, k)
}
