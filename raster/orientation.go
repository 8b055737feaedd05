package raster

// Orient returns the upright form of an image stored with orientation o, 2 to 8, in
// new memory. Slices are turned alike. The numbers are those of TIFF 6.0 and EXIF 2.3:
//
//	1 as stored         2 mirrored left-right    3 turned by 180     4 mirrored top-bottom
//	5 transposed        6 turned right by 90     7 transverse        8 turned left by 90
func Orient(m *Image, o int) *Image {
	s := m.Shape
	if o > 4 {
		s.Width, s.Height = m.Height, m.Width
	}
	u := Unfilled(s)
	u.Meta = m.Meta
	t := turn{width: u.Width, height: u.Height, pixel: m.Channels * m.BytesPerSample()}
	row := m.Width * t.pixel
	right, bottom := (m.Width-1)*t.pixel, (m.Height-1)*row
	switch o {
	case 2:
		t.start, t.dx, t.dy = right, -t.pixel, row
	case 3:
		t.start, t.dx, t.dy = right+bottom, -t.pixel, -row
	case 4:
		t.start, t.dx, t.dy = bottom, t.pixel, -row
	case 5:
		t.start, t.dx, t.dy = 0, row, t.pixel
	case 6:
		t.start, t.dx, t.dy = bottom, -row, t.pixel
	case 7:
		t.start, t.dx, t.dy = right+bottom, -row, -t.pixel
	case 8:
		t.start, t.dx, t.dy = right, row, -t.pixel
	}
	for z := range m.Depth {
		src, dst := m.Slice(z).Pix, u.Slice(z).Pix
		if o < 5 {
			t.rows(dst, src)
		} else {
			t.columns(dst, src)
		}
	}
	return u
}

// turn says where the pixels of an upright slice are stored: pixel (x, y) at start + x*dx + y*dy.
type turn struct {
	width, height int // of the upright slice
	pixel         int // bytes
	start, dx, dy int
}

// rows fills an upright slice whose rows are stored as rows.
func (t *turn) rows(dst, src []byte) {
	row := t.width * t.pixel
	for y := range t.height {
		to, from := dst[y*row:(y+1)*row], t.start+y*t.dy
		if t.dx > 0 {
			copy(to, src[from:])
			continue
		}
		done := mirror(to, src[from+t.pixel-row:from+t.pixel], t.pixel)
		gather(to[done:], src, from-done, t.dx, t.pixel)
	}
}

// columns fills an upright slice whose rows are stored as columns: in tiles, whose rows stay in the cache.
func (t *turn) columns(dst, src []byte) {
	done, stored := t.transpose(dst, src)
	// The rows of the columns that are filled, unless the last ones are.
	first, end := 0, stored
	if t.dy < 0 {
		first, end = t.height-stored, t.height
	}
	t.gather(dst, src, 0, 0, first)
	t.gather(dst, src, done, first, end)
	t.gather(dst, src, 0, end, t.height)
}

// gather fills the columns from left on of the upright rows from top on to those before bottom.
func (t *turn) gather(dst, src []byte, left, top, bottom int) {
	for ; top < bottom; top += tileRows {
		for x := left; x < t.width; x += tileColumns {
			width := min(tileColumns, t.width-x)
			for y := top; y < min(top+tileRows, bottom); y++ {
				gather(dst[(y*t.width+x)*t.pixel:][:width*t.pixel], src, t.start+y*t.dy+x*t.dx, t.dx, t.pixel)
			}
		}
	}
}

// tileRows and tileColumns are the sides of the tiles in which pixels are gathered of columns, in pixels of the upright
// image.
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
	case 6:
		for ; len(to) >= 6; to = to[6:] {
			*(*[6]byte)(to) = *(*[6]byte)(src[from:])
			from += step
		}
	case 8:
		for ; len(to) >= 8; to = to[8:] {
			*(*[8]byte)(to) = *(*[8]byte)(src[from:])
			from += step
		}
	default:
		for ; len(to) > 0; to = to[bytes:] {
			copy(to[:bytes], src[from:from+bytes])
			from += step
		}
	}
}
