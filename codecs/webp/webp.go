// Package webp compresses images without loss as WebP files (RFC 9649: VP8L in a RIFF
// container), which browsers, viewers and libraries open. The encoder is our own; it
// uses all that the format has. README.md is a page on the format and on our choices.
//
// # Images
//
// 8-bit grey, grey with alpha, RGB and RGBA, up to 16,383 along a side. VP8L has one
// layout, RGBA, with a bit that says whether alpha is used. What that does not tell is
// known from the rest: an image whose pixels are all grey comes back with one channel,
// or two with alpha, unless an empty chunk "RGB " behind the bitstream says otherwise;
// it is written for colour images that hold nothing but grey. ICC profile, EXIF
// block and XMP packet are kept, or left out with metadata=strip; other attributes are
// not.
//
// # Losses
//
// None, unless asked for: exact=false clears the colours under fully transparent
// pixels, and near-lossless=N below 100 rounds samples in busy places by at most half
// of 2^(5-N/20). Results of such jobs are held to --min-psnr like those of a lossy codec.
//
// # Guarantees
//
// All decisions are made in integers, sums are of integers, and ties go to the lowest
// index, so that the same image and options give the same bytes with any number of
// goroutines, in any batch, with a device or without, and on any machine.
//
// Decode reads any lossless WebP file, by golang.org/x/image. Lossy files (VP8) and
// animations are not of this codec; package imageio reads the former as sources.
package webp

import (
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// version rises whenever the bytes of any file change.
const version = 1

// maxSide is the limit of the container and of libwebp; VP8L has room for one more.
const maxSide = 16383

// Codec is the webp codec. It has no state.
type Codec struct{}

var (
	_ codec.Codec        = Codec{}
	_ codec.LossyOptions = (*Options)(nil)
	_ codec.FileOptions  = (*Options)(nil)
)

// Info describes the codec.
func (Codec) Info() codec.Info {
	return codec.Info{
		Name:      "webp",
		Title:     "WebP lossless (VP8L), opened everywhere",
		Extension: ".webp",
		MediaType: "image/webp",
		Version:   version,
		Floor:     20, // dB, where options change images
		Lossless:  true,
		Accepts: codec.Accepts{Channels: []int{1, 2, 3, 4}, MinBits: 8, MaxBits: 8, MaxSide: maxSide, Instead: codec.Instead{
			Bits:   "the format has 8 bits only, so convert the samples to 8 bits first where that loses nothing that matters",
			Signed: "shift them to 0 to 255 first",
			Slices: "store the slices as pictures of their own first, or use --codec vq where loss is allowed",
			Side:   "cut the picture into parts first, or use --codec vq where loss is allowed",
		}},
		Compares: true,
		Keeps:    []string{raster.AttributeICC, raster.AttributeEXIF, raster.AttributeXMP},
		Options:  optionInfo,
	}
}
