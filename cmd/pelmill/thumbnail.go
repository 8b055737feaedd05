package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
)

// thumbnailSide is the most samples along a side of a thumbnail.
const thumbnailSide = 256

// writeThumbnail writes a small picture of what data holds to a new PNG file: of a volume
// or a sequence its middle slice, of samples of more than 8 bits the range in use. c is
// the codec of the file, nil for a file of an image format.
func writeThumbnail(ctx context.Context, c codec.Codec, data []byte, file string) error {
	m, err := smallImage(ctx, c, data)
	if err != nil {
		return err
	}
	png, err := imageio.Encode(raster.Stretch(m), "png")
	if err != nil {
		return err
	}
	return writeNew(file, png)
}

// smallImage decodes as little as the file allows.
func smallImage(ctx context.Context, c codec.Codec, data []byte) (*raster.Image, error) {
	if c == nil {
		m, err := imageio.Decode(data, nil)
		if err != nil {
			return nil, err
		}
		return shrink(m), nil
	}
	h, err := c.Header(data)
	if err != nil {
		return nil, err
	}
	var view codec.View
	for view.Reduce < h.Resolutions-1 && max(h.Width, h.Height)>>view.Reduce > thumbnailSide {
		view.Reduce++
	}
	d := codec.DecodeView(ctx, c, codec.Run{}, [][]byte{data}, nil, view)[0]
	if d.Err != nil {
		return nil, d.Err
	}
	return shrink(d.Image), nil
}

// shrink returns the middle slice of m at most thumbnailSide samples wide and high.
func shrink(m *raster.Image) *raster.Image {
	m = m.Slice(m.Depth / 2)
	k := 0
	for (max(m.Width, m.Height)+1<<k-1)>>k > thumbnailSide {
		k++
	}
	return raster.Reduce(m, k)
}

// writeNew writes a file that does not exist yet, whole or not at all.
func writeNew(name string, data []byte) error {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s exists already: remove it or name another file", name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".pelmill-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
