package png

// Stream is the samples of a file as the file has them: a zlib stream of rows, each with its filter before it (PNG
// specification, 10 and 9).
type Stream struct {
	Pieces     [][]byte // the stream, in the bodies of chunks whose checksums are right; shares the file's bytes
	Height     int
	RowBytes   int // without the byte for the filter
	PixelBytes int // 1 to 4
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
	z := &Stream{Height: s.height, RowBytes: s.rowBytes(s.width), PixelBytes: s.bits / 8}
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
