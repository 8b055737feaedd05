package imageio

import (
	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/raster"
)

// Stream is a PNG file of which only the samples are left to be decoded, which internal/container/png/device does in batches.
type Stream struct {
	*png.Stream

	p *opened
}

// MayStream reports, by the header of a file alone, whether [OpenStream] is worth trying.
func MayStream(data []byte) bool {
	h, err := png.ReadHeader(data)
	return err == nil && h.Depth == 8 && h.Colour != png.Palette && !h.Interlaced
}

// OpenStream does what [Decode] does before it decodes samples. It returns false for what it does not take, and for files with
// a fault: Decode says what becomes of them. The stream shares the memory of data.
func OpenStream(data []byte, limits *Limits) (s *Stream, ok bool) {
	var failure error
	defer func() { ok = ok && failure == nil }()
	defer recovered("header", &failure)
	p, err := open(data, limits)
	if err != nil || p.stream == nil {
		return nil, false
	}
	z, ok := p.stream()
	return &Stream{Stream: z, p: p}, ok
}

// Decode returns what [Decode] does, with the samples that were set.
func (s *Stream) Decode() (m *raster.Image, err error) {
	defer recovered("decoder", &err)
	p := *s.p
	p.decode = func() (*raster.Image, error) {
		return p.decodeWith(adopt(s.RowBytes/s.PixelBytes, s.Height, s.PixelBytes, 8, s.Samples()))
	}
	return p.image()
}
