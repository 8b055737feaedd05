package volume

import (
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/packet"
	"github.com/pelmill/pelmill/raster"
)

// Header is what a codestream says of its volume.
type Header struct {
	raster.Shape
	Coding
	Spacing     [3]float64 // distances of samples along x, y and z in millimetres; zeros: not known
	Resolutions int        // width and height can be had at 1/2^k for k below it; 1: only whole
}

// Read reads the headers of a codestream.
func Read(file []byte) (Header, error) {
	h, _, err := parse(file)
	if err != nil {
		return Header{}, err
	}
	return Header{h.Shape, h.Coding, h.space.spacing, h.resolutionCount()}, nil
}

// reducedShape is the volume's shape with width and height at 1/2^reduce.
func (h *header) reducedShape(reduce int) raster.Shape {
	s := h.Shape
	s.Width, s.Height = ceilShift(s.Width, reduce), ceilShift(s.Height, reduce)
	return s
}

// resolutionCount is one where the transform goes along z: a volume of all slices at a lower
// resolution is none of the codestream's subbands then.
func (h *header) resolutionCount() int {
	if h.Levels[axisZ] > 0 {
		return 1
	}
	return h.Levels[axisX] + 1
}

const (
	coefficientBytes = 4
	// jobBytes are those of a code-block beside what its packets bring: the call that
	// codes it, and its error.
	jobBytes = 80
	// encodedBytes are those of an encoded code-block without its data.
	encodedBytes = 48
	// coderBytes is the working memory for a code-block of 2^18 samples.
	coderBytes = 4 << 20
	// coders are the goroutines that have such a block at a time, as far as memory is told.
	coders = 8
)

// Memory is what decoding holds, the image included, with width and height at 1/2^reduce.
func (h *Header) Memory(reduce int) int64 {
	blocks, bands := 0, 0
	for _, r := range h.Coding.resolutions(size{h.Width, h.Height, h.Depth}) {
		for i := range r {
			blocks += r[i].blocks.samples()
			bands++
		}
	}
	s := (&header{Shape: h.Shape}).reducedShape(reduce)
	return int64(s.Samples())*coefficientBytes + int64(s.Size()) + int64(blocks*h.Channels)*(packet.BlockBytes+jobBytes) +
		int64(bands*h.Channels)*packet.PrecinctBytes + workBytes(s)
}

// workBytes is the working memory of goroutines: that for a code-block, or for the planes
// of a transform.
func workBytes(s raster.Shape) int64 {
	plane := int64(max(s.Width*s.Height, s.Width*s.Depth)) * coefficientBytes
	return coders*max(plane, min(coderBytes, 16*int64(s.Pixels())+1<<18)) + 1<<20
}

// Memory is what encoding and decoding an image of the shape s hold, the image decoded
// included, and the most that a codestream has. Encoding holds the coefficients, the
// smallest codestream so far, and the next one twice: its code-blocks and the whole.
func Memory(s raster.Shape) (encode, decode, file int64) {
	n := int64(s.Samples())
	// Code-blocks have at least 32x32x4 samples or 64x64 of a slice, but where the volume
	// or a subband ends.
	sides := int64(s.Width/32+8) * int64(s.Height/32+8)
	blocks := (sides*int64(s.Depth/4+8) + int64(s.Width/64+8)*int64(s.Height/64+8)*int64(s.Depth)) * int64(s.Channels)
	file = int64(s.Size()) + n/4 + blocks*16 + 4096
	decode = n*coefficientBytes + int64(s.Size()) + blocks*(packet.BlockBytes+jobBytes) + 64*packet.PrecinctBytes + workBytes(s)
	encode = n*coefficientBytes + 3*file + blocks*(packet.BlockBytes+jobBytes+encodedBytes) + workBytes(s)
	return encode, decode, file
}
