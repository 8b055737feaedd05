package raster

// Orient returns the upright form of an image stored with orientation o, 2 to 8, in
// new memory. Slices are turned alike. The numbers are those of TIFF 6.0 and EXIF 2.3:
//
//	1 as stored         2 mirrored left-right    3 turned by 180     4 mirrored top-bottom
//	5 transposed        6 turned right by 90     7 transverse        8 turned left by 90
func Orient(m *Image, o int) *Image {
	u := *m
	if o > 4 {
		u.Width, u.Height = m.Height, m.Width
	}
	u.Pix = make([]byte, len(m.Pix))
	px := m.Channels * m.BytesPerSample()
	for z := 0; z < m.Depth; z++ {
		src, dst := m.Slice(z).Pix, u.Slice(z).Pix
		// The upright sample (x, y) is stored at start + x*dx + y*dy.
		row := m.Width * px
		right, bottom := (m.Width-1)*px, (m.Height-1)*row
		var start, dx, dy int
		switch o {
		case 2:
			start, dx, dy = right, -px, row
		case 3:
			start, dx, dy = right+bottom, -px, -row
		case 4:
			start, dx, dy = bottom, px, -row
		case 5:
			start, dx, dy = 0, row, px
		case 6:
			start, dx, dy = bottom, -row, px
		case 7:
			start, dx, dy = right+bottom, -row, -px
		case 8:
			start, dx, dy = right, row, -px
		}
		j := 0
		for y := 0; y < u.Height; y++ {
			i := start + y*dy
			for x := 0; x < u.Width; x++ {
				copy(dst[j:j+px], src[i:i+px])
				j += px
				i += dx
			}
		}
	}
	return &u
}
