package imageio

import (
	"errors"

	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/raster"
)

// DICOM is the name of the format in a [Header].
const DICOM = "dicom"

// openDICOM opens files whose pixel data can be decoded without loss; see [OpenDICOM].
func openDICOM(data []byte, lim Limits) (*opened, error) {
	f, h, err := openDICOMFile(data, lim)
	if err != nil {
		return nil, err
	}
	p := &opened{Header: *h}
	p.decode = func() (*raster.Image, error) { return DecodeDICOM(f) }
	return p, nil
}

// OpenDICOM finds the elements of a DICOM file and checks by its headers whether its pixel data can be
// decoded without loss and coded again. Errors are those of [ReadHeader].
func OpenDICOM(data []byte, limits *Limits) (f *dicom.File, h *Header, err error) {
	defer recovered("header", &err)
	lim := limits.orDefaults()
	if int64(len(data)) > lim.Bytes {
		return nil, nil, overLimit(DICOM, "the file has %d bytes and the limit is %d", len(data), lim.Bytes)
	}
	f, h, err = openDICOMFile(data, lim)
	if err != nil {
		return nil, nil, classify(DICOM, err)
	}
	return f, h, nil
}

func openDICOMFile(data []byte, lim Limits) (*dicom.File, *Header, error) {
	if !dicom.Is(data) {
		return nil, nil, dicom.Left(dicom.ReasonBare, "it is a DICOM data set without a preamble")
	}
	f, err := dicom.Open(data, lim.Bytes)
	if err != nil {
		return nil, nil, err
	}
	if err := f.Check(); err != nil {
		return nil, nil, err
	}
	if frameDecoders[f.Syntax.Coding] == nil && f.Syntax.Encapsulated() {
		return nil, nil, dicom.Left(dicom.ReasonDecoder, "the transfer syntax %s is not decoded", f.Syntax.Name)
	}
	h := &Header{Format: DICOM, Shape: f.Image.Shape()}
	if err := lim.check(DICOM, h, len(data)+len(f.Set)); err != nil {
		return nil, nil, err
	}
	n := int64(f.Image.Frames) * int64(f.Image.FrameBytes())
	// Of a native file the samples, in another order and then of fewer bytes; of another one also
	// what a frame's decoder holds.
	h.DecodedBytes = int64(h.Size()) + n + overhead
	if f.Syntax.Deflated {
		h.DecodedBytes += 2 * int64(len(f.Set))
	}
	if f.Syntax.Encapsulated() {
		h.DecodedBytes += 16*int64(f.Image.FrameBytes()) + int64(len(data))
	}
	return f, h, nil
}

// DecodeDICOM returns all frames of a file that [OpenDICOM] opened, one after the other. The result may share
// the bytes of the file.
func DecodeDICOM(f *dicom.File) (*raster.Image, error) {
	if !f.Syntax.Encapsulated() {
		m, err := f.Image.Raster(f.Native())
		if err != nil {
			return nil, classify(DICOM, err)
		}
		return m, nil
	}
	frames, err := f.Frames()
	if err != nil {
		return nil, classify(DICOM, err)
	}
	n := f.Image.FrameBytes()
	pix := make([]byte, len(frames)*n)
	for i, frame := range frames {
		if err := frameDecoders[f.Syntax.Coding](f, frame, pix[i*n:(i+1)*n]); err != nil {
			var left *dicom.LeftAlone
			if errors.As(err, &left) {
				return nil, classify(DICOM, err)
			}
			return nil, rejected(DICOM, "frame %d of %d does not decode: %v", i+1, len(frames), err)
		}
	}
	m, err := f.Image.Raster(pix)
	if err != nil {
		return nil, classify(DICOM, err)
	}
	return m, nil
}
