package webp

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"image"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/raster"
)

// Decode restores the images of lossless WebP files, of any encoder.
func (Codec) Decode(ctx context.Context, run codec.Run, files [][]byte, _ codec.Assets) []codec.Decoded {
	out := make([]codec.Decoded, len(files))
	if run.Device != nil {
		d := &deviceDecoder{ctx: ctx, run: run, cores: run.Cores(), files: files, out: out}
		d.decode()
		return out
	}
	run.Cores().Each(len(files), func(i int) {
		out[i] = decode(ctx, files[i], run.Bytes)
	})
	return out
}

// decode decodes a file. alloc gives memory for the samples of an image without alpha.
func decode(ctx context.Context, data []byte, alloc func(n int) []byte) codec.Decoded {
	if err := ctx.Err(); err != nil {
		return codec.Decoded{Err: err}
	}
	f, err := open(data)
	if err != nil {
		return codec.Decoded{Err: err}
	}
	m, second, err := f.decode(alloc)
	if err != nil {
		return codec.Decoded{Err: err}
	}
	return codec.Decoded{Image: f.attach(m), Second: second}
}

// attach gives an image the file's attributes. Files of others may hold it lying: then it is turned.
func (f *file) attach(m *raster.Image) *raster.Image {
	return exif.Attach(m, raster.Meta{ICC: f.icc, EXIF: f.exif, XMP: f.xmp, Orientation: exif.Orientation(f.exif)})
}

// decode returns the image without the file's attributes, and whether both decoders made it.
func (f *file) decode(alloc func(n int) []byte) (decoded *raster.Image, second codec.Second, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = codec.Malformedf("webp: the decoder gave up: %v", p)
		}
	}()
	var want [sha256.Size]byte
	checked := foreign(f.bitstream)
	if !checked && !f.alpha {
		if rgb, ok := f.source.DecodeRGB(alloc); ok && len(rgb) == 3*f.width*f.height {
			return storeOpaque(f.width, f.height, rgb, f.colour), codec.SecondLeftOut, nil
		}
	}
	if checked {
		m, err := f.source.DecodeForeign()
		if err != nil {
			return nil, second, codec.Malformedf("webp: %v", err)
		}
		if want, err = f.hash(m); err != nil {
			return nil, second, err
		}
	}
	m, err := f.source.Decode()
	if err != nil {
		return nil, second, codec.Malformedf("webp: %v", err)
	}
	second = codec.SecondLeftOut
	if checked {
		if got, err := f.hash(m); err != nil || got != want {
			return nil, codec.SecondNone, codec.Malformedf("webp: two decoders make different pictures of it (%v)", err)
		}
		second = codec.SecondAgreed
	}
	rgba, err := f.pixels(m)
	if err != nil {
		return nil, second, err
	}
	return store(f.width, f.height, rgba, f.alpha, f.colour), second, nil
}

// pixels are those of a decoded image.
func (f *file) pixels(m image.Image) ([]byte, error) {
	p, ok := m.(*image.NRGBA)
	if !ok || p.Rect.Dx() != f.width || p.Rect.Dy() != f.height || len(p.Pix) != 4*f.width*f.height {
		return nil, fmt.Errorf("webp: the decoder gives a %T of %v for %d x %d pixels", m, m.Bounds(), f.width, f.height)
	}
	return p.Pix, nil
}

func (f *file) hash(m image.Image) ([sha256.Size]byte, error) {
	pix, err := f.pixels(m)
	return sha256.Sum256(pix), err
}

// foreignShare says that one file of so many is decoded by golang.org/x/image as well, and both results are
// compared: the decoder in internal/container/webp/lossless shares no code with the encoder, but its authors. The
// results are compared by their hashes, so that one of them is in memory at a time.
const foreignShare = 64

// foreign chooses these files by their bytes, so that a file is treated alike whenever it is decoded.
func foreign(bitstream []byte) bool { return crc32.ChecksumIEEE(bitstream)%foreignShare == 0 }
