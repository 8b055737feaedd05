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
		if o < 5 {
			for y := range u.Height {
				gather(dst[y*row:(y+1)*row], src, start+y*dy, dx, px)
			}
			continue
		}
		// Rows of the one are columns of the other: in tiles, whose rows stay in the cache.
		for top := 0; top < u.Height; top += tileRows {
			for left := 0; left < u.Width; left += tileColumns {
				width := min(tileColumns, u.Width-left)
				for y := top; y < min(top+tileRows, u.Height); y++ {
					gather(dst[(y*u.Width+left)*px:][:width*px], src, start+y*dy+left*dx, dx, px)
				}
			}
		}
	}
	return &u
}

// tileRows and tileColumns are the sides of the tiles in which Orient transposes, in pixels of the upright image.
const (
	tileRows    = 32
	tileColumns = 128
)

// gather fills to with pixels of so many bytes, which are at from, from+step and so on of src.
func gather(to, src []byte, from, step, bytes int) {
	switch bytes {
	case 1:
		for j := range to {
			to[j] = src[from]
			from += step
		}
	case 3:
		for ; len(to) >= 3; to = to[3:] {
			p := src[from : from+3 : from+3]
			to[0], to[1], to[2] = p[0], p[1], p[2]
			from += step
		}
	case 4:
		for ; len(to) >= 4; to = to[4:] {
			*(*[4]byte)(to) = *(*[4]byte)(src[from:])
			from += step
		}
	default:
		for ; len(to) > 0; to = to[bytes:] {
			copy(to[:bytes], src[from:from+bytes])
			from += step
		}
	}
}
