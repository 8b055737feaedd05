// Package neuquant stores images with a palette, as indexed PNG or GIF files, which any
// program opens. The palette is found by a Kohonen network (Dekker, "Kohonen neural
// networks for optimal colour quantization", Network 5, 1994), which the paper
// "CuNeuQuant: A CUDA Implementation of the NeuQuant Image Quantization Algorithm" brings
// to graphics cards. README.md is a page on the files and on our choices.
//
// # What is taken
//
// Dekker's training in his integers and with his constants, on every colour component
// and alpha. The paper's threads race for the network, so that its results change from run
// to run; ours does not. After the training come passes of k-means, which the paper does
// not have, and every pixel gets the nearest entry, found exactly. Palettes of drawings, which
// have few colours, are then refined by how often each colour occurs.
//
// # Images
//
// 8-bit grey, grey with alpha, RGB and RGBA, up to 65,535 along a side; frames with
// format=gif. Opaque pixels stay opaque, transparent ones transparent; GIF has nothing
// between, so that what is partly transparent needs alpha=threshold there. Distances between
// colours that are partly transparent are those of premultiplied components. ICC profile
// and EXIF block are kept in PNG files, unless metadata=strip; spacing is not.
//
// # Losses
//
// An image of more colours than the palette has comes back with the nearest ones. One
// of no more colours comes back whole, and its record says that it is exact.
//
// # Guarantees
//
// All decisions are made in integers, sums are of integers, and ties go to the lowest
// index, so that the same image and options give the same bytes with any number of
// goroutines, in any batch, with a device or without, and on any machine.
//
// Decode reads indexed PNG files and GIF files of any program, by decoders that share no code with
// the encoder; one PNG file of 64 is read by the standard library as well, and both must agree.
package neuquant

import (
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// version rises whenever the bytes of any file change.
const version = 3

// maxSide is that of GIF, and of what a program can be expected to open.
const maxSide = 65535

// floor is a PSNR in decibels that real images pass with any palette worth to have: of 55
// photographs and drawings the worst has 35 dB with 256 colours and 25 dB with 16, and with
// 2 all but few are below 24.
const floor = 24

// Codec is the neuquant codec. It has no state.
type Codec struct{}

var (
	_ codec.Codec       = Codec{}
	_ codec.FileOptions = (*Options)(nil)
)

// Info describes the codec.
func (Codec) Info() codec.Info {
	return codec.Info{
		Name:      "neuquant",
		Title:     "palette by a Kohonen network, indexed PNG or GIF, opened everywhere",
		Extension: ".png",
		MediaType: "image/png",
		Also:      []string{".gif"},
		Version:   version,
		Floor:     floor,
		Accepts: codec.Accepts{Channels: []int{1, 2, 3, 4}, MinBits: 8, MaxBits: 8, MaxSide: maxSide, Instead: codec.Instead{
			Bits:   "a palette has 8 bits a component, so convert the samples to 8 bits first, or use --codec vq",
			Signed: "shift them to 0 to 255 first",
			Slices: "-o format=gif takes animations; store other slices as pictures of their own first",
			Side:   "cut the picture into parts first",
		}},
		Keeps:   []string{raster.AttributeICC, raster.AttributeEXIF},
		Options: optionInfo,
	}
}
