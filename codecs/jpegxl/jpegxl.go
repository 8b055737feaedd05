// Package jpegxl keeps JPEG files as JPEG XL files (ISO/IEC 18181), about a fifth
// smaller, that browsers and viewers open and from which the same JPEG file comes back
// byte for byte. README.md is a page on the format and on our choices.
//
// # Sources
//
// The codec takes the bytes of JPEG files, not images: baseline, extended and progressive
// files of 8 bits with Huffman codes, grey, YCbCr or RGB, with any scans, restart markers
// and segments, and whatever stands between segments and behind the end. Files that the
// format cannot hold (arithmetic coding, 12 bits, lossless coding, CMYK and YCCK) are
// unsupported, each with its reason; files that are damaged in their coded samples are
// malformed.
//
// # Files
//
// A file holds the coefficients of the JPEG file, entropy coded anew, in a codestream
// that any decoder of JPEG XL shows, and in the box jbrd what else the JPEG file is made
// of. Orientation, ICC profile, EXIF block and XMP packet are where the standard has
// them.
//
// # Guarantees
//
// Whether a source comes back to the last byte, Restore says, as for every
// [codec.SourceCodec]; sound files do, and most damaged ones. The same source gives the
// same file with any number of goroutines, in any batch and on any machine: all decisions
// are made in integers.
//
// Restore reads the files of other encoders as well, those of cjxl for example. Decode
// gives the samples that a decoder of the JPEG file gives.
package jpegxl

import (
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// version rises whenever the bytes of any file change.
const version = 2

// Limits of what is read.
const (
	maxSide   = 65535   // of a JPEG file
	maxSource = 1 << 30 // bytes of a JPEG file
)

// Codec is the jpegxl codec. It has no state.
type Codec struct{}

var (
	_ codec.Codec       = Codec{}
	_ codec.SourceCodec = Codec{}
)

// Info describes the codec.
func (Codec) Info() codec.Info {
	return codec.Info{
		Name:      "jpegxl",
		Title:     "JPEG XL made from JPEG files, which come back byte for byte",
		Extension: ".jxl",
		MediaType: "image/jxl",
		Version:   version,
		Lossless:  true,
		Accepts: codec.Accepts{Channels: []int{1, 3}, MinBits: 8, MaxBits: 8, MaxSide: maxSide, Instead: codec.Instead{
			Bits: "use --codec webp, jpeg2000 or pcwt", Signed: "use --codec jpeg2000 or pcwt", Slices: "use --codec jpeg2000 or pcwt", Side: "use --codec jpeg2000",
		}},
		Keeps:   []string{raster.AttributeICC, raster.AttributeEXIF, raster.AttributeXMP, raster.AttributeDensity, raster.AttributeText},
		Options: optionInfo,
	}
}

// SourceFormat is the format of the files that the codec takes and gives back.
func (Codec) SourceFormat() string { return "jpeg" }
