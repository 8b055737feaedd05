// Package pcwt compresses images as .pcwt files, a format of our own with two profiles.
// Profile 0 is the parallel coding of wavelet trees of J. Ao (Fast and efficient lossless
// image compression based on CUDA parallel wavelet tree encoding, Texas Tech University,
// 2014). Profile 1, the default, keeps wavelets and codes their coefficients with signed
// prediction, a context of their scale and interleaved rANS in tiles, so that encoding is parallel
// in all coefficients, and decoding in the tiles of a level. README.md is the page of the format.
//
// # Images
//
// 1 to 16 bits, signed or not, 1 to 4 channels, volumes and frames, up to 2^20 along a
// side. All attributes of [raster.Meta] are kept.
//
// # Losses
//
// None, unless asked for: near-lossless=D changes no sample by more than D, and qmin=Q drops the Q
// lowest bits of coefficients, which bounds nothing: with both, samples may change by more than D.
//
// # Guarantees
//
// All arithmetic of the format is on integers. The encoder fits weights of a file's own in
// float64, in a fixed order and without fused operations. So the same image and options give
// the same bytes with any number of goroutines, in any batch, and on any machine.
//
// A file holds a checksum of what stands before the coefficients and one of the samples, and
// every tile ends in a known state.
//
// # Views
//
// A file begins with its lowest resolution, so that its first bytes are a small image. A view of a lower
// resolution is decoded from these alone, also if the rest is missing, and a region from the tiles that it takes.
//
// # Devices
//
// With a device, encoding and decoding run on it in batches, with all options: both profiles, qmin, near-lossless, levels
// along z, and views. The CPU keeps what a device would not do faster: which constants and wavelets the effort tries, as
// their weights are fitted in floating point (the files that are tried are made on the device); samples that are stored as
// they are; views of profile 0, and regions of less than a quarter of the image, of which it decodes only the tiles; what
// does not fit into the device's memory; and damaged files, so that the error is the same.
package pcwt

import (
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// version rises whenever the bytes of any file change.
const version = 2

// maxSide is the limit of the format.
const maxSide = 1 << 20

// Codec is the pcwt codec. It has no state.
type Codec struct{}

var (
	_ codec.Codec        = Codec{}
	_ codec.Viewer       = Codec{}
	_ codec.LossyOptions = (*Options)(nil)
)

// Info describes the codec.
func (Codec) Info() codec.Info {
	return codec.Info{
		Name:      "pcwt",
		Title:     "wavelets with scale contexts (PCWT), smaller than JPEG 2000",
		Extension: ".pcwt",
		MediaType: "image/x-pcwt",
		Version:   version,
		Floor:     20, // dB, where options change images
		Lossless:  true,
		Accepts: codec.Accepts{Channels: []int{1, 2, 3, 4}, MinBits: 1, MaxBits: 16, Signed: true, Slices: true, Frames: true, MaxSide: maxSide,
			Instead: codec.Instead{Side: "cut the picture into parts first"}},
		Keeps: []string{raster.AttributeICC, raster.AttributeEXIF, raster.AttributeXMP, raster.AttributeDensity,
			raster.AttributeText, raster.AttributeSpacing, raster.AttributeGeometry},
		Options: optionInfo,
	}
}
