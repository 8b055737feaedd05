package imageio

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/imageio/internal/jpeglossless"
	"github.com/pelmill/pelmill/imageio/internal/jpegls"
	"github.com/pelmill/pelmill/imageio/internal/rle"
	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/internal/container/jp2"
	"github.com/pelmill/pelmill/raster"
)

// frameDecoder decodes a frame into pix: samples that are interleaved, of BitsAllocated bits in little
// endian. Signed samples of fewer bits are extended by their sign.
type frameDecoder func(f *dicom.File, frame, pix []byte) error

var frameDecoders = map[dicom.Coding]frameDecoder{
	dicom.RLE:              decodeFrameRLE,
	dicom.JPEGLossless:     decodeFrameJPEGLossless,
	dicom.JPEGLSLossless:   decodeFrameJPEGLS,
	dicom.JPEG2000Lossless: decodeFrameJPEG2000,
}

func decodeFrameRLE(f *dicom.File, frame, pix []byte) error {
	m := &f.Image
	return rle.Decode(frame, rle.Shape{Width: m.Columns, Height: m.Rows, Channels: m.Samples, BytesPerSample: m.Allocated / 8}, pix)
}

func decodeFrameJPEGLossless(f *dicom.File, frame, pix []byte) error {
	h, err := jpeglossless.ReadHeader(frame)
	if err != nil {
		return frameError(err)
	}
	return decodePlain(f, coded{h.Width, h.Height, h.Components, h.Bits}, pix, func(pix []byte) error { return jpeglossless.Decode(frame, h, pix) })
}

func decodeFrameJPEGLS(f *dicom.File, frame, pix []byte) error {
	h, err := jpegls.ReadHeader(frame)
	if err != nil {
		return frameError(err)
	}
	return decodePlain(f, coded{h.Width, h.Height, h.Components, h.Bits}, pix, func(pix []byte) error { return jpegls.Decode(frame, h, pix) })
}

// coded is what a codestream says of its frame.
type coded struct{ width, height, channels, bits int }

// decodePlain decodes a codestream that knows unsigned samples only.
func decodePlain(f *dicom.File, c coded, pix []byte, decode func(pix []byte) error) error {
	m := &f.Image
	if c.width != m.Columns || c.height != m.Rows || c.channels != m.Samples || c.bits > m.Allocated || m.Signed && c.bits < m.Stored {
		return dicom.Left(dicom.ReasonCodestream, "the codestream has %d x %d samples of %d channels and %d bits", c.width, c.height, c.channels, c.bits)
	}
	size := (c.bits + 7) / 8
	native := pix
	if size < m.Allocated/8 {
		native = make([]byte, len(pix)/2)
	}
	if err := decode(native); err != nil {
		return frameError(err)
	}
	if size < m.Allocated/8 {
		for i, v := range native {
			binary.LittleEndian.PutUint16(pix[2*i:], uint16(v))
		}
	}
	if m.Signed && c.bits < m.Allocated {
		extendSign(pix, m.Allocated, c.bits)
	}
	return nil
}

// extendSign makes of two's complement of bits bits that of all bits of a container.
func extendSign(pix []byte, allocated, bits int) {
	free := allocated - bits
	if allocated == 8 {
		for i, v := range pix {
			pix[i] = byte(int8(v<<free) >> free)
		}
		return
	}
	for i := 0; i+1 < len(pix); i += 2 {
		v := int16(binary.LittleEndian.Uint16(pix[i:]))
		binary.LittleEndian.PutUint16(pix[i:], uint16(v<<free>>free))
	}
}

// frameError leaves a file alone whose codestreams are of a kind that is not decoded.
func frameError(err error) error {
	var lossless jpeglossless.UnsupportedError
	var ls jpegls.UnsupportedError
	if errors.As(err, &lossless) || errors.As(err, &ls) {
		return dicom.Left(dicom.ReasonCodestream, "%v", err)
	}
	return err
}

// decodeFrameJPEG2000 decodes a frame of JPEG 2000. Boxes around the codestream, which some writers
// leave there, are passed over: what they say of colours is for the data set to say.
func decodeFrameJPEG2000(f *dicom.File, frame, pix []byte) error {
	stream := frame
	if !bytes.HasPrefix(frame, []byte{0xff, 0x4f}) {
		boxes, err := jp2.Parse(frame)
		if err != nil {
			return err
		}
		stream = boxes.Codestream
	}
	want := f.Image.Shape()
	h, err := jpeg2000.Codec{}.Header(stream)
	var unsupported *codec.UnsupportedError
	if errors.As(err, &unsupported) {
		return dicom.Left(dicom.ReasonCodestream, "%v", err)
	}
	if err != nil {
		return err
	}
	if h.Width != want.Width || h.Height != want.Height || h.Channels != want.Channels || h.Depth != 1 || h.Signed != want.Signed || h.BytesPerSample() > f.Image.Allocated/8 {
		return dicom.Left(dicom.ReasonCodestream, "the codestream is of %v, and the data set says %v", h.Shape, want)
	}
	for _, field := range h.Fields {
		if field.Name == "wavelet" && !strings.HasPrefix(field.Value, "5/3") {
			return dicom.Left(dicom.ReasonCodestream, "the codestream is lossy, and the transfer syntax says that it is not")
		}
	}
	d := jpeg2000.Codec{}.Decode(context.Background(), codec.Run{Pool: pool.Of(1)}, [][]byte{stream}, nil)
	if d[0].Err != nil {
		return d[0].Err
	}
	contain(pix, d[0].Image, f.Image.Allocated)
	return nil
}

// contain writes samples as containers of 8 or 16 bits.
func contain(pix []byte, m *raster.Image, allocated int) {
	if m.BytesPerSample() == allocated/8 {
		copy(pix, m.Pix)
		return
	}
	for i, v := range m.Pix {
		wide := uint16(v)
		if m.Signed {
			wide = uint16(int16(int8(v)))
		}
		binary.LittleEndian.PutUint16(pix[2*i:], wide)
	}
}
