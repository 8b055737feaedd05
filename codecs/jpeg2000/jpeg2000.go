// Package jpeg2000 encodes and decodes images of JPEG 2000: Part 1 (ISO/IEC 15444-1) with the
// arithmetic coder, and Part 15 (ISO/IEC 15444-15) with the High Throughput block coder, as raw
// codestreams and in the boxes of JP2 and JPH. README.md says which clauses of the
// standards are implemented.
//
// # Images
//
// Grey, grey with opacity, RGB and RGBA of 1 to 16 bits, signed or not, up to 65,535 along a
// side. Sub-sampled components are repeated, palettes looked up and sYCC converted. What a
// file has beyond that is an error that names it.
//
// # Volumes
//
// The slices of a volume, and the frames of a sequence, are components of one codestream of
// Part 1 or 15, which others open; the box cdef says so. With container=jp3d volumes, and
// images of one slice, are coded as codestreams of Part 10 (ISO/IEC 15444-10), by package volume.
//
// # Losses
//
// None, unless asked for: bpp, psnr, quality or wavelet=9/7. Part 1 meets a goal by leaving
// coding passes out, High Throughput by its quantization step. With a raw codestream
// (container=j2k or j2c) attributes are lost.
//
// # Guarantees
//
// The same image and options give the same bytes with any number of goroutines, in any
// batch and on any machine: integers where there is no loss, and otherwise float32 and
// float64 in a fixed order, no operation fused.
//
// # Views
//
// A file holds its image at several resolutions, see [codec.Header]. [Codec.DecodeView]
// decodes the code-blocks that a region at a resolution depends on and no others.
package jpeg2000

import (
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// version rises whenever the bytes of any file change.
const version = 2

// Codec is the jpeg2000 codec. It has no state.
type Codec struct{}

var (
	_ codec.Codec        = Codec{}
	_ codec.Viewer       = Codec{}
	_ codec.LossyOptions = (*Options)(nil)
	_ codec.FileOptions  = (*Options)(nil)
)

// Info describes the codec.
func (Codec) Info() codec.Info {
	return codec.Info{
		Name:      "jpeg2000",
		Title:     "JPEG 2000 (Part 1 and High Throughput), of archives, medicine and cinema",
		Extension: ".jp2",
		MediaType: "image/jp2",
		Also:      []string{".j2k", ".j2c", ".jpc", ".jph", ".jhc", ".jp3d"},
		Version:   version,
		Floor:     20, // dB, where options change images
		Lossless:  true,
		Accepts: codec.Accepts{Channels: []int{1, 2, 3, 4}, MinBits: 1, MaxBits: 16, Signed: true, Slices: true, MaxSide: maxSide, Instead: codec.Instead{
			Side: "cut the picture into parts first",
		}},
		Keeps:   []string{raster.AttributeICC, raster.AttributeEXIF, raster.AttributeXMP, raster.AttributeDensity},
		Options: optionInfo,
	}
}
