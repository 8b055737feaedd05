package raster

import "image"

// Crop returns the part r of every slice of m as an image of its own, with m's
// attributes. r lies within m and is not empty.
func Crop(m *Image, r image.Rectangle) *Image {
	s := m.Shape
	s.Width, s.Height = r.Dx(), r.Dy()
	out := Make(s)
	out.Meta = m.Meta
	sample := m.Channels * m.BytesPerSample()
	row := s.Width * sample
	for z := range m.Depth {
		for y := range s.Height {
			from := ((z*m.Height+r.Min.Y+y)*m.Width + r.Min.X) * sample
			copy(out.Pix[(z*s.Height+y)*row:][:row], m.Pix[from:])
		}
	}
	return out
}
