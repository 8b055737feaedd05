package series

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"strings"

	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/raster"
)

// slice is a file whose pixel data can be made of an image and its shell.
type slice struct {
	file   int // index in the plan
	image  dicom.Image
	raster *raster.Image
	layout layout
	prefix []byte // of the file, up to its first frame
	suffix []byte // and from behind its last one

	group       string  // equal for slices of one volume, but for the orientation
	repeat      string  // what parts slices at one position
	orientation []int64 // two direction cosines, 1e-6; nil where it is missing
	position    []int64 // of the first sample, 1e-6 mm; nil where it is missing
	along       *big.Int
	number      int64 // instance number
	instance    string
	localizer   bool
	reason      Reason // why it is in no volume; it has no meaning for one that is
}

// layout is how the bytes of native pixel data lie in a file.
type layout struct {
	Allocated int  `json:"allocated"`         // bits of a sample, 8 or 16
	Planes    bool `json:"planes,omitempty"`  // channels in planes of a frame
	Swapped   bool `json:"swapped,omitempty"` // words of 16 bits, high byte first
}

// inflated bounds the data set of a deflated file: its pixel data do not stand in the
// file, so it is kept whole in any case.
const inflated = 1 << 20

// openSlice opens a file. s is nil where it has to be kept whole, for a reason.
func openSlice(data []byte) (s *slice, why Reason) {
	f, err := dicom.Open(data, inflated)
	if err != nil || f.Check() != nil {
		return nil, NoImage
	}
	if f.Syntax.Coding != dicom.Native || f.Syntax.Deflated {
		return nil, Compressed
	}
	prefix, suffix, ok := f.Shell()
	n := f.Image.Frames * f.Image.FrameBytes()
	if !ok || len(data)-len(prefix)-len(suffix) < n {
		return nil, Inexact
	}
	m, err := f.Image.Raster(f.Native())
	if err != nil {
		return nil, Inexact
	}
	m.Frames = false
	v := values(f)
	s = &slice{image: f.Image, raster: m, prefix: prefix, suffix: data[len(prefix)+n:], instance: f.UIDs.Instance}
	s.layout = layout{Allocated: f.Image.Allocated, Planes: f.Image.Planar == 1 && f.Image.Samples > 1,
		Swapped: f.Syntax.Encoding.Order == binary.BigEndian && f.PixelElement().VR != "OB"}
	if back, err := s.layout.bytes(m); err != nil || !bytes.Equal(back, data[len(prefix):len(prefix)+n]) {
		return nil, Inexact
	}
	s.describe(v)
	return s, ""
}

func (s *slice) describe(v map[dicom.Tag]string) {
	spacing, ok := decimals(v[pixelSpacing], 2)
	m := &s.image
	s.group = fmt.Sprintf("%s %s %d %d %v %v %d %d %v %d %s", v[seriesInstance], v[frameOfReference], m.Rows, m.Columns, spacing, ok,
		m.Allocated, m.Stored, m.Signed, m.Samples, m.Photometric)
	s.repeat = strings.Join([]string{v[acquisitionNumber], v[temporalPosition], v[echoNumbers], v[bValue]}, "\x00")
	s.orientation, _ = decimals(v[imageOrientation], 6)
	s.position, _ = decimals(v[imagePosition], 3)
	if n, ok := decimals(v[instanceNumber], 1); ok {
		s.number = n[0]
	}
	for _, kind := range strings.Split(v[imageType], "\\") {
		s.localizer = s.localizer || strings.TrimSpace(kind) == "LOCALIZER"
	}
}

// bytes makes the pixel data of a file of samples; it is the inverse of what
// [dicom.File.Native] and [dicom.Image.Raster] do.
func (l *layout) bytes(m *raster.Image) ([]byte, error) {
	size := l.Allocated / 8
	if l.Allocated != 8 && l.Allocated != 16 || m.BytesPerSample() > size {
		return nil, fmt.Errorf("samples of %d bits do not fit %d bits", m.Bits, l.Allocated)
	}
	image := dicom.Image{Allocated: l.Allocated, Stored: m.Bits, Signed: m.Signed}
	pix := image.Containers(m)
	if l.Planes {
		n := m.Width * m.Height
		out := make([]byte, 0, len(pix))
		for frame := pix; len(frame) > 0; frame = frame[n*m.Channels*size:] {
			for c := range m.Channels {
				for i := range n {
					at := (i*m.Channels + c) * size
					out = append(out, frame[at:at+size]...)
				}
			}
		}
		pix = out
	}
	if !l.Swapped {
		return pix, nil
	}
	if len(pix)%2 != 0 {
		return nil, fmt.Errorf("%d bytes are not words", len(pix))
	}
	out := make([]byte, len(pix))
	for i := 0; i < len(pix); i += 2 {
		out[i], out[i+1] = pix[i+1], pix[i]
	}
	return out, nil
}
