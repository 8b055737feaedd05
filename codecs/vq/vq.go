// Package vq compresses images by vector quantization: the image is cut into
// blocks of p x q samples, every block is replaced by the index of the nearest of
// N codewords, and the file holds the codewords and the table of indices. It is the
// encoder and decoder of Manohar, Hosein, Kieu and Sankar, "On GPU Acceleration of
// the Vector Quantization Image Compression Algorithm" (Algorithms 1 and 2), with
// what a usable codec needs around it: training of the codebook, colour, a lossless
// code for the index table, and a file format. README.md is that format.
//
// VQ is lossy. Its quality for a given size is far below that of JPEG 2000; its
// strengths are a decoder that only looks up blocks, and indices that can be used
// without decoding.
//
// # Images
//
// 8-bit grey and RGB, also volumes and frames, whose slices share one codebook.
// RGB goes through the YCoCg-R transform; Co and Cg have a codebook of their own
// and, unless chroma=444, half the width and height. Of the attributes of
// [raster.Meta] the spacing is kept, and whether slices are frames. Sizes are
// limited to 65,535 along a side and 2^30 samples.
//
// # Codebooks
//
// With codebook=image, the default, each file holds a codebook trained on its own
// blocks and stands alone. A shared codebook (codebook=job, or a file made by
// [Codec.Train]) costs no room in the files, which name it by its SHA-256 and
// cannot be read without it.
//
// # Devices
//
// On a device the steps over blocks and pixels and the training run in kernels; README.md
// says which. Images go through all of them in batches, whatever their sizes: every
// kernel is launched once for a batch, since a lone small image leaves most of a device
// idle. A batch that does not fit into the memory of a lane is halved, and an image that
// does not fit alone is left to the CPU.
//
// # Guarantees
//
// The nearest codeword is exact: the least squared distance, and of equals the
// least index. All decisions are made in integers, sums are of integers, chance
// comes from a fixed generator, and ties go to the lowest index, so that the same
// image and options give the same bytes with any number of goroutines, in any
// batch, with a device or without, and on any machine. Decode checks every size before
// it takes memory and every section against its checksum, and never panics on
// damaged input.
package vq

import (
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// formatVersion is the version of the files and of the codec.
const formatVersion = 1

// floor is a PSNR in decibels that real images pass with the default options: of 58
// photographs, drawings and medical images the worst has 22.8 dB.
const floor = 18

// Codec is the vq codec. It has no state.
type Codec struct{}

var (
	_ codec.Codec         = Codec{}
	_ codec.Trainer       = Codec{}
	_ codec.AssetReader   = Codec{}
	_ codec.SharedOptions = (*Options)(nil)
)

// Info describes the codec.
func (Codec) Info() codec.Info {
	return codec.Info{
		Name:      "vq",
		Title:     "vector quantization with a codebook per picture or shared",
		Extension: ".vq",
		MediaType: "image/x-pelmill-vq",
		Version:   formatVersion,
		Floor:     floor,
		Accepts:   codec.Accepts{Channels: []int{1, 3}, MinBits: 8, MaxBits: 8, Slices: true, MaxSide: maxSide},
		Compares:  true,
		Keeps:     []string{raster.AttributeSpacing},
		Options:   optionInfo,
	}
}
