package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/thumbnail"
)

// thumbnailSide is the most samples along a side of a thumbnail.
const thumbnailSide = 256

// writeThumbnail writes a small picture of what data holds to a new PNG file, see
// [thumbnail.PNG].
func writeThumbnail(ctx context.Context, c codec.Codec, data []byte, file string) error {
	png, err := thumbnail.PNG(ctx, c, data, nil, thumbnailSide, 0)
	if err != nil {
		return err
	}
	return writeNew(file, png)
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
