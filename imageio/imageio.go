// Package imageio reads image files into [raster.Image] and writes them back.
// It is the only place of pelmill that checks how large an image may be: every
// limit holds before memory for a single pixel is taken.
//
//	head, err := imageio.ReadHeader(data, nil) // shape and memory, no pixels
//	m, err := imageio.Decode(data, nil)        // the samples
//
// The format is taken from the first bytes of a file, never from its name.
//
// # Formats
//
//	png   1 to 16 bits, palette, alpha, tRNS; a palette becomes RGB or RGBA; the frames of an animation
//	jpeg  sequential and progressive, Huffman and arithmetic; grey, YCbCr, RGB, CMYK and YCCK, the latter two
//	      converted to RGB; samples are those of libjpeg-turbo's djpeg, bit for bit
//	tiff  1 to 16 bits, signed too, strips and tiles, planes, LZW of old and new, Deflate, PackBits, CCITT, JPEG with 8 bits;
//	      BigTIFF too; pages become frames
//	pnm   P1 to P7; several images in one file become frames
//	bmp   1, 2, 4, 8, 24 and 32 bits without compression; a palette becomes RGB
//	gif   every frame, drawn on the full canvas and as far as it lies on it; RGB where nothing stays transparent
//	webp  lossy and lossless, with alpha; the frames of an animation
//	jpeg2000  Part 1 and High Throughput (Part 15), codestreams and the boxes of JP2 and JPH: grey and RGB, with opacity, 1
//	      to 16 bits, signed too; sub-sampled components are repeated, a palette and sYCC become RGB
//	dicom  the frames of native data and of codings without loss, of 1 to 16 bits stored in 8 or 16, in all native transfer syntaxes;
//	       what cannot be coded again without doubt is refused with a reason, see package dicom
//	nii   NIfTI-1 single files, also with gzip; integers of 8 and 16 bits, both byte orders, RGB24 and RGBA32
//
// # What is kept and what is not
//
// Samples keep their own depth and sign, with these exceptions. Grey samples of
// 1, 2 and 4 bits in PNG and TIFF and the bits of PBM become 8-bit samples with
// white at 255. The grey values of PGM, PPM and PAM are never scaled: the image
// has the bits that maxval needs, so a maxval of 1023 gives 10 bits, and a
// maxval that is not 2^n-1, say 100, gives 7 bits and loses its white level.
// Alpha that is premultiplied in the file (TIFF) is divided out. Samples of TIFF
// beyond colour that are not said to be alpha, near infrared say, are left out.
// [Header] names what was left out of a file, and so does the record of a job.
//
// The EXIF orientation (JPEG, PNG, WebP) and that of TIFF are applied to the
// samples and noted in [raster.Meta]; the orientation inside the kept EXIF block
// is set to 1, so that nobody turns the image twice. In a PNG file the block
// may be an eXIf chunk or a raw profile, before or behind the samples. ICC
// profiles are kept and not applied. XMP packets, the density of the samples (PNG,
// JPEG, TIFF) and texts (PNG, JPEG, TIFF, GIF) are kept up to a limit in bytes. NIfTI keeps the spacing
// of the samples and how the volume lies in space; its intensity scale is not applied.
//
// # Errors
//
// A file that is damaged or over a limit gives a [*RejectedError]; a file that
// may be good but is not for us gives an [*UnsupportedError]. There is no third
// kind from [ReadHeader] and [Decode]; a panic inside a decoder is a rejection.
// A file that libjpeg-turbo, libpng, libtiff, giflib or libwebp shows without a
// warning is not rejected. The tests have the list of what differs, with reasons.
//
// All functions are safe for concurrent use and keep no state.
package imageio

import (
	"fmt"

	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/internal/container/gif"
	"github.com/pelmill/pelmill/internal/container/jp2"
	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/internal/container/webp"
	"github.com/pelmill/pelmill/raster"
)

// Version rises whenever files are read that were refused before, or the other way
// round: what was found out about a file with another version may no longer hold.
const Version = 5

// Header is what a file says about its image, after orientation.
type Header struct {
	Format string // "png", "jpeg", "tiff", "pnm", "bmp", "gif", "webp", "jpeg2000", "dicom" or "nii"

	// Shape is that of the image which Decode returns; for a GIF with transparency and for
	// animations it has the most channels that Decode may return.
	raster.Shape

	// Note says what of the file is not in the image, in a sentence that starts
	// with "it", and is empty where nothing is left out that [raster.Image] has a
	// place for.
	Note string

	// Attributes are the names of what the file has of [raster.Meta], as far as that
	// can be told without inflating it.
	Attributes []string

	// DecodedBytes bounds the memory that Decode holds at its peak, the returned
	// image included and the encoded bytes not.
	DecodedBytes int64
}

// opened is an opened file: its header, and how to get the samples. decode
// runs only after every limit has been checked.
type opened struct {
	Header
	decode func() (*raster.Image, error)
	fewer  bool // samples may turn out to need fewer channels than the header says

	// stream gives the samples as they are in the file, and decodeWith is decode with samples that it was given; both nil
	// where the format or the file is not for this.
	stream     func() (*png.Stream, bool)
	decodeWith func(samples *raster.Image) (*raster.Image, error)

	meta          func() raster.Meta    // what decode attaches; nil: nothing
	metadata      []container.Attribute // to be attached to the image
	metadataBytes int64                 // what that takes
}

// overhead covers the tables and row buffers that any decoder needs besides the
// samples: a deflate window, Huffman tables, a palette.
const overhead = 256 << 10

// ReadHeader reads the headers of a file and checks every limit, without taking
// memory for samples. Nil limits are the defaults. Errors are [*RejectedError]
// or [*UnsupportedError].
func ReadHeader(data []byte, limits *Limits) (h Header, err error) {
	defer recovered("header", &err)
	p, err := open(data, limits)
	if err != nil {
		return Header{}, err
	}
	return p.Header, nil
}

// ReadMeta reads what a file has besides its samples, which are not decoded. The result may
// share memory with data. It does what [ReadHeader] does first, and its errors are the same.
func ReadMeta(data []byte, limits *Limits) (h Header, m raster.Meta, err error) {
	defer recovered("header", &err)
	p, err := open(data, limits)
	if err != nil {
		return Header{}, m, err
	}
	if p.meta != nil {
		m = p.meta()
	}
	p.attach(&m)
	return p.Header, m, nil
}

// Decode reads a file into samples. It does what [ReadHeader] does first, so
// that callers need ReadHeader only to plan their memory. The result may share the
// memory of data, which does not change as long as the result is in use. Errors are
// [*RejectedError] or [*UnsupportedError].
func Decode(data []byte, limits *Limits) (m *raster.Image, err error) {
	defer recovered("decoder", &err)
	p, err := open(data, limits)
	if err != nil {
		return nil, err
	}
	return p.image()
}

// image decodes a file and holds the image against its header.
func (p *opened) image() (*raster.Image, error) {
	m, err := p.decode()
	if err != nil {
		return nil, classify(p.Format, err)
	}
	if m.Channels != p.Channels && (!p.fewer || m.Channels > p.Channels) {
		return nil, rejected(p.Format, "the header promises %d channels and the data hold %d", p.Channels, m.Channels)
	}
	shape := p.Shape
	shape.Channels = m.Channels
	if !m.Same(shape) {
		return nil, rejected(p.Format, "the header promises %d x %d x %d and the data hold %s", p.Width, p.Height, p.Depth, m.Shape)
	}
	m.Frames = p.Frames
	p.attach(&m.Meta)
	return m, nil
}

// recovered turns a panic of a decoder into a rejection: a hostile file must not
// end a worker.
func recovered(what string, err *error) {
	if r := recover(); r != nil {
		*err = rejected("file", "it is damaged in a way that the %s does not expect: %v", what, r)
	}
}

// formats are tried in this order; but for that of DICOM, the signatures exclude one another.
var formats = []struct {
	name  string
	match func(data []byte) bool
	open  func(data []byte, lim Limits) (*opened, error)
}{
	{DICOM, dicom.Is, openDICOM}, // its preamble may make it a TIFF file too
	{"png", prefix("\x89PNG\r\n\x1a\n"), openPNG},
	{"jpeg", matchJPEG, openJPEG},
	{"pnm", matchPNM, openPNM},
	{"tiff", matchTIFF, openTIFF},
	{"bmp", prefix("BM"), openBMP},
	{"gif", gif.Match, openGIF},
	{"webp", webp.Match, openWebP},
	{"jpeg2000", jp2.Is, openJPEG2000},
	{"nii", matchNIfTI, openNIfTI},
	{DICOM, dicom.Bare, openDICOM},
}

func prefix(sig string) func([]byte) bool {
	return func(data []byte) bool {
		return len(data) >= len(sig) && string(data[:len(sig)]) == sig
	}
}

func open(data []byte, limits *Limits) (*opened, error) {
	lim := limits.orDefaults()
	if len(data) == 0 {
		return nil, rejected("file", "the file is empty")
	}
	if int64(len(data)) > lim.Bytes {
		return nil, overLimit("file", "the file has %d bytes and the limit is %d", len(data), lim.Bytes)
	}
	for _, f := range formats {
		if !f.match(data) {
			continue
		}
		p, err := f.open(data, lim)
		if err != nil {
			return nil, classify(f.name, err)
		}
		p.Format = f.name
		p.DecodedBytes += p.metadataBytes
		return p, nil
	}
	return nil, unknown(data)
}

// notRead names the formats that people send and that have a signature, so that
// the sentence says more than "unknown".
var notRead = []struct{ sig, name string }{
	{"%PDF", "a PDF file"}, {"8BPS", "a Photoshop file"}, {"PK\x03\x04", "a ZIP archive"},
	{"\xff\x0a", "a JPEG XL file"}, {"\x00\x00\x00\x0cJXL ", "a JPEG XL file"},
	{"qoif", "a QOI file"}, {"<svg", "an SVG file"}, {"<?xml", "an XML file"},
	{"\x1f\x8b", "a gzip file that holds no NIfTI-1 volume"}, {"v/1\x01", "an OpenEXR file"},
}

func unknown(data []byte) error {
	for _, k := range notRead {
		if prefix(k.sig)(data) {
			return unsupported("file", "%s is not among the formats that are read", k.name)
		}
	}
	if len(data) >= 12 && string(data[4:8]) == "ftyp" {
		return unsupported("file", "a %s file (HEIF, AVIF or video) is not among the formats that are read", fmt.Sprintf("%q", data[8:12]))
	}
	return unsupported("file", "its first bytes are those of no format that is read")
}
