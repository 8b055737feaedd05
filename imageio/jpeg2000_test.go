package imageio

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/internal/container/jp2"
	"github.com/pelmill/pelmill/raster"
)

// greyCodestream is a codestream of 9 x 5 samples of 10 bits, one resolution, whose only
// packet is empty: all samples are in the middle of their range.
var greyCodestream = []byte("\xff\x4f" +
	"\xff\x51\x00\x29\x00\x00" + "\x00\x00\x00\x09\x00\x00\x00\x05" + "\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x00\x00\x09\x00\x00\x00\x05" + "\x00\x00\x00\x00\x00\x00\x00\x00" + "\x00\x01\x09\x01\x01" + // SIZ
	"\xff\x52\x00\x0c\x00\x00\x00\x01\x00\x00\x04\x04\x00\x01" + // COD: no levels, blocks of 64x64, 5/3
	"\xff\x5c\x00\x04\x40\x50" + // QCD: 2 guard bits, exponent 10
	"\xff\x90\x00\x0a\x00\x00\x00\x00\x00\x0f\x00\x01" + "\xff\x93" + "\x00" + // SOT, SOD, a packet
	"\xff\xd9")

// greyJP2 is the same in boxes, with attributes.
func greyJP2() []byte {
	density, _ := jp2.NewResolution(raster.Density{X: 300, Y: 300, Unit: raster.Inch})
	return jp2.Append(nil, &jp2.File{
		Brand: "jp2 ", Codestream: greyCodestream, Width: 9, Height: 5, Components: []jp2.Depth{{Bits: 10}},
		Colour:     jp2.Colour{Method: jp2.MethodICC, ICC: []byte("a profile that nobody knows")},
		Resolution: density, EXIF: exifBlock(binary.BigEndian, 6), XMP: []byte("<x/>"),
	})
}

// Samples and attributes come from JPEG 2000, boxed and raw; the orientation of its EXIF
// block is not applied.
func TestJPEG2000(t *testing.T) {
	for name, file := range map[string][]byte{"raw": greyCodestream, "boxed": greyJP2()} {
		h, err := ReadHeader(file, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m, err := Decode(file, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if h.Format != "jpeg2000" || h.Shape != m.Shape || m.Shape.String() != "9 x 5, 1 x 10 bit" || m.Sample(0) != 512 || m.Sample(44) != 512 {
			t.Errorf("%s: %+v, %s", name, h, m.Shape)
		}
		var names []string
		for _, a := range m.Meta.Attributes() {
			names = append(names, a.Name)
		}
		want := []string{raster.AttributeICC, raster.AttributeEXIF, raster.AttributeXMP, raster.AttributeDensity}
		if name == "raw" {
			want = nil
		}
		if !slices.Equal(names, want) || !slices.Equal(h.Attributes, want) {
			t.Errorf("%s: attributes %q, the header says %q", name, names, h.Attributes)
		}
	}
	_, err := Decode(greyCodestream[:len(greyCodestream)-4], nil)
	var rejected *RejectedError
	if !errors.As(err, &rejected) {
		t.Errorf("a file that is cut short: %v", err)
	}
	part2 := slices.Clone(greyCodestream)
	part2[6] |= 0x80
	var unsupported *UnsupportedError
	if _, err := Decode(part2, nil); !errors.As(err, &unsupported) || err.Error() != "imageio: jpeg2000: the codestream uses extensions of Part 2" {
		t.Errorf("a codestream of Part 2: %v", err)
	}
}
