package imageio

import (
	"bytes"
	"encoding/hex"
	"fmt"

	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/internal/container/dicom"
)

// selfTestFrames are codestreams of one image of 4 x 4 samples: of RLE and lossless JPEG by dcmtk 3.6.7, of
// JPEG-LS by CharLS.
var selfTestFrames = []struct {
	coding dicom.Coding
	name   string
	stream string
}{
	{dicom.RLE, "RLE", "0100000040000000" + zeros56 + "0300ff0304fd0703c8643219030102040800"},
	{dicom.JPEGLossless, "JPEG lossless", "ffd8ffe000104a46494600010100000100010000ffc3000b080004000401011100ffc4001b00000202030100000000000000000000000008010302050607ffda00080101000100005fdff40e6f01c1f1be374c9c4e567fffffd9"},
	{dicom.JPEGLSLossless, "JPEG-LS", "ffd8fff7000b080004000401011100ffda0008010100000000a3d187240000017c000001c964e0000002e17b80ffffd9"},
}

const (
	zeros56         = "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
	selfTestSamples = "00ff030407070707c864321901020408"
)

// SelfTestDICOM decodes a known frame with every decoder for DICOM files, and writes and checks a file. The text says
// what was tried.
func SelfTestDICOM() (tried string, err error) {
	defer recovered("self-test", &err)
	want, err := hex.DecodeString(selfTestSamples)
	if err != nil {
		return "", err
	}
	if n := dicom.DictionarySize(); n < 5000 || dicom.Keyword(dicom.PixelData) != "PixelData" {
		return "", fmt.Errorf("the dictionary has %d elements", n)
	}
	f := &dicom.File{Image: dicom.Image{Rows: 4, Columns: 4, Samples: 1, Allocated: 8, Stored: 8, Frames: 1}}
	tried = fmt.Sprintf("a dictionary of %d elements; decoders of", dicom.DictionarySize())
	for _, t := range selfTestFrames {
		stream, err := hex.DecodeString(t.stream)
		if err != nil {
			return "", err
		}
		pix := make([]byte, len(want))
		if err := frameDecoders[t.coding](f, stream, pix); err != nil || !bytes.Equal(pix, want) {
			return "", fmt.Errorf("%s: it gives %x, and %x is right: %v", t.name, pix, want, err)
		}
		tried += " " + t.name + ","
	}
	return tried + " " + jpeg2000.Codec{}.Info().Name, nil
}
