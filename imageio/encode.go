package imageio

import (
	"bytes"
	"fmt"

	"github.com/pelmill/pelmill/raster"
)

// Encode writes an image in a format: "png", "pnm", "tiff" or "nii". Each takes
// what it can hold without loss and gives an [*UnsupportedError] for the rest:
//
//	png   one image, unsigned, 8 or 16 bits; ICC profile and EXIF block are written
//	pnm   unsigned, any bits; PGM for grey, PPM for RGB, PAM with alpha; several slices follow one another
//	tiff  anything of 8 bits or more, and what is signed of any bits; a slice is a page; the ICC profile is written
//	nii   8 or 16 bits grey, signed or not, and 8 bits RGB or RGBA; spacing is written
//
// [Decode] of the result gives the samples of m, bit for bit. m is not changed.
func Encode(m *raster.Image, format string) ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("imageio: %s: %w", format, err)
	}
	if len(m.Pix) != m.Size() {
		return nil, fmt.Errorf("imageio: %s: %s takes %d bytes of samples, got %d", format, m.Shape, m.Size(), len(m.Pix))
	}
	switch format {
	case "png":
		return encodePNG(m)
	case "tiff":
		return encodeTIFF(m)
	case "nii":
		return encodeNIfTI(m)
	case "pnm":
		return encodePNM(m)
	}
	return nil, unsupported(format, "the format cannot be written, want png, pnm, tiff or nii")
}

func encodePNM(m *raster.Image) ([]byte, error) {
	if m.Signed {
		return nil, unsupported("pnm", "%s cannot be written, want unsigned samples", m.Shape)
	}
	var b bytes.Buffer
	maxval := 1<<m.Bits - 1
	for z := range m.Depth {
		switch m.Channels {
		case 1:
			fmt.Fprintf(&b, "P5\n%d %d\n%d\n", m.Width, m.Height, maxval)
		case 3:
			fmt.Fprintf(&b, "P6\n%d %d\n%d\n", m.Width, m.Height, maxval)
		default:
			tuple := "GRAYSCALE_ALPHA"
			if m.Channels == 4 {
				tuple = "RGB_ALPHA"
			}
			fmt.Fprintf(&b, "P7\nWIDTH %d\nHEIGHT %d\nDEPTH %d\nMAXVAL %d\nTUPLTYPE %s\nENDHDR\n", m.Width, m.Height, m.Channels, maxval, tuple)
		}
		at := b.Len()
		b.Write(m.Slice(z).Pix)
		if m.BytesPerSample() == 2 {
			swap16(b.Bytes()[at:])
		}
	}
	return b.Bytes(), nil
}

// FormatFor is the format of [Encode] that holds m with the least surprise: png
// for an image that fits it, nii for a volume, tiff for pages and frames and
// for what else needs signs, pnm for bits that no other format has. A volume
// that NIfTI-1 has no type for, of 12 bits say, goes to tiff, where its slices
// become pages: samples and shape stay, [raster.Meta] then says frames.
func FormatFor(m *raster.Image) string {
	nifti := (m.Bits == 8 || m.Bits == 16) && m.Channels == 1 || m.Bits == 8 && !m.Signed && m.Channels >= 3
	switch {
	case m.Depth == 1 && !m.Signed && (m.Bits == 8 || m.Bits == 16):
		return "png"
	case m.Depth > 1 && !m.Frames && nifti:
		return "nii"
	case m.Signed || m.Bits >= 8 && m.Depth > 1:
		return "tiff"
	}
	return "pnm"
}
