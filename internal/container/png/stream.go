package png

import "image"

// Stream is the samples of a file as the file has them: a zlib stream of rows, each with its filter before it (PNG
// specification, 10 and 9).
type Stream struct {
	Pieces     [][]byte // the stream, in the bodies of chunks whose checksums are right; shares the file's bytes
	Height     int
	RowBytes   int // without the byte for the filter
	PixelBytes int // 1 to 4

	samples []byte
}

// Stream returns the samples of a file for somebody else to inflate and to unfilter, and false where that does not give the
// samples that [File.Samples] returns: where samples are converted or interlaced, or the chunks break a rule. The stream itself is
// not looked at.
func (f *File) Stream() (*Stream, bool) {
	if f.Depth != 8 || f.Colour == Palette || f.Interlaced || f.Transparency.Kind != "" {
		return nil, false
	}
	s, ok := f.open()
	if !ok {
		return nil, false
	}
	return s.stream()
}

// IndexStream is Stream for files with a palette. Several indices share a byte where they have less than 8 bits.
func (f *File) IndexStream() (*Stream, bool) {
	if f.Colour != Palette || f.Interlaced {
		return nil, false
	}
	s, ok := f.open()
	if !ok {
		return nil, false
	}
	return s.stream()
}

// Indexed is the image that [File.Decode] returns, of rows that somebody has made of the file's IndexStream. The image
// keeps them as its pixels where each index is a byte.
func (f *File) Indexed(rows []byte) (image.Image, bool) {
	s, ok := f.open()
	n := 0
	if ok {
		n = s.rowBytes(s.width)
	}
	if !ok || len(rows) != s.height*n {
		return nil, false
	}
	m := &image.Paletted{Pix: rows, Stride: s.width, Rect: image.Rect(0, 0, s.width, s.height)}
	if f.Depth < 8 {
		m.Pix = make([]byte, s.height*s.width)
		for y := range s.height {
			spread(m.Pix[y*s.width:][:s.width], rows[y*n:][:n], 1, f.Depth, 1)
		}
	}
	f.nameEntries(m)
	return m, true
}

// stream is what is left of the chunks of an image without passes.
func (s *scan) stream() (*Stream, bool) {
	z := &Stream{Height: s.height, RowBytes: s.rowBytes(s.width), PixelBytes: max(s.bits/8, 1)}
	for {
		c, err := next(s.data, s.at)
		if err != nil || c.Kind != "IDAT" {
			break
		}
		body, ok := s.next()
		if !ok {
			return nil, false
		}
		z.Pieces = append(z.Pieces, body)
	}
	return z, true
}

// Size is how many bytes the samples are.
func (s *Stream) Size() int { return s.Height * s.RowBytes }

// Fill sets the samples, which the image of them may keep.
func (s *Stream) Fill(samples []byte) { s.samples = samples }

// Samples are those that were set.
func (s *Stream) Samples() []byte { return s.samples }

// Checksum is that of the rows, with which the stream ends (RFC 1950, 2.2).
func (s *Stream) Checksum() (sum uint32) {
	left := 4
	for i := len(s.Pieces) - 1; i >= 0 && left > 0; i-- {
		for p := s.Pieces[i]; len(p) > 0 && left > 0; p = p[:len(p)-1] {
			left--
			sum |= uint32(p[len(p)-1]) << (8 * (3 - left))
		}
	}
	return sum
}
