// Package exif reads the orientation of EXIF blocks (CIPA DC-008, Exif 2.3) and makes
// blocks upright. A block is a TIFF structure, which package tiff walks.
//
// Formats keep the block in an APP1 segment (JPEG), an eXIf chunk (PNG) or an EXIF
// chunk (WebP), some with the prefix that the segment has. Here a block never has it.
package exif

import (
	"bytes"

	"github.com/pelmill/pelmill/internal/container/tiff"
	"github.com/pelmill/pelmill/raster"
)

// Prefix begins the APP1 segment of a block, and by mistake some chunks.
const Prefix = "Exif\x00\x00"

// Trim returns a block without the prefix.
func Trim(block []byte) []byte { return bytes.TrimPrefix(block, []byte(Prefix)) }

// tagOrientation is the tag of TIFF 6.0 and EXIF 2.3 that says how the stored rows and
// columns lie in the upright image, see [raster.Orient].
const tagOrientation = 274

// Orientation returns the orientation that the first directory of a block says, 1 to 8.
// It is 0 where there is none or where it is not valid: a damaged block does not damage
// the image.
func Orientation(block []byte) int {
	o, _ := find(block)
	return o
}

// find also returns the place of the value.
func find(block []byte) (orientation, at int) {
	s, ok := tiff.Open(block)
	if !ok {
		return 0, 0
	}
	for f, err := range s.Fields(s.First()) {
		if err != nil {
			break
		}
		if f.Tag != tagOrientation {
			continue
		}
		v := int(s.Order.Uint16(block[f.At:]))
		if f.Type != tiff.Short || v < 1 || v > 8 {
			break
		}
		return v, f.At
	}
	return 0, 0
}

// Upright returns a copy of a block with the orientation, where it has one, set to 1.
func Upright(block []byte) []byte {
	block = bytes.Clone(block)
	if o, at := find(block); o > 1 {
		s, _ := tiff.Open(block)
		s.Order.PutUint16(block[at:], 1)
	}
	return block
}

// Attach applies the orientation of meta to the samples of m and gives it meta, with
// blocks of its own, whose EXIF block is upright.
func Attach(m *raster.Image, meta raster.Meta) *raster.Image {
	if meta.Orientation > 1 {
		m = raster.Orient(m, meta.Orientation)
	}
	meta.ICC, meta.XMP, meta.Geometry = bytes.Clone(meta.ICC), bytes.Clone(meta.XMP), bytes.Clone(meta.Geometry)
	meta.EXIF = Upright(meta.EXIF)
	if meta.Orientation > 4 { // width and height change places
		meta.Density.X, meta.Density.Y = meta.Density.Y, meta.Density.X
	}
	m.Meta = meta
	return m
}
