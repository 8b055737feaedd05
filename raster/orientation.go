package raster

import (
	"bytes"
	"encoding/binary"
)

// tagOrientation is the tag of TIFF 6.0 and EXIF 2.3 that says how the stored
// rows and columns lie in the upright image:
//
//	1 as stored         2 mirrored left-right    3 turned by 180     4 mirrored top-bottom
//	5 transposed        6 turned right by 90     7 transverse        8 turned left by 90
const tagOrientation = 274

// Upright applies the orientation of meta to the samples and attaches meta, with
// blocks of its own and the orientation in the EXIF block set to 1.
func Upright(m *Image, meta Meta) *Image {
	if meta.Orientation > 1 {
		m = Orient(m, meta.Orientation)
	}
	meta.ICC, meta.XMP, meta.Geometry = bytes.Clone(meta.ICC), bytes.Clone(meta.XMP), bytes.Clone(meta.Geometry)
	meta.EXIF = UprightEXIF(meta.EXIF)
	if meta.Orientation > 4 { // width and height change places
		meta.Density.X, meta.Density.Y = meta.Density.Y, meta.Density.X
	}
	m.Meta = meta
	return m
}

// UprightEXIF returns a copy of an EXIF block with the orientation, where it has one,
// set to 1.
func UprightEXIF(exif []byte) []byte {
	exif = bytes.Clone(exif)
	if o, at := EXIFOrientation(exif); o > 1 {
		order, _ := byteOrder(exif)
		order.PutUint16(exif[at:], 1)
	}
	return exif
}

// EXIFOrientation finds the orientation in the first directory of an EXIF block
// and the place of its value. It returns 0 where there is none or where it is
// not 1 to 8: a damaged EXIF block does not damage the image.
func EXIFOrientation(exif []byte) (orientation, at int) {
	order, ok := byteOrder(exif)
	if !ok {
		return 0, 0
	}
	dir := int64(order.Uint32(exif[4:]))
	if dir+2 > int64(len(exif)) {
		return 0, 0
	}
	n := int64(order.Uint16(exif[dir:]))
	for i := int64(0); i < n; i++ {
		e := dir + 2 + 12*i
		if e+12 > int64(len(exif)) {
			return 0, 0
		}
		if order.Uint16(exif[e:]) != tagOrientation {
			continue
		}
		const short = 3
		v := int(order.Uint16(exif[e+8:]))
		if order.Uint16(exif[e+2:]) != short || v < 1 || v > 8 {
			return 0, 0
		}
		return v, int(e + 8)
	}
	return 0, 0
}

// Orient returns the upright form of an image stored with orientation o, 2 to
// 8, in new memory. Slices are turned alike.
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

// byteOrder reads the 8-byte header of a TIFF structure.
func byteOrder(data []byte) (binary.ByteOrder, bool) {
	if len(data) < 8 {
		return nil, false
	}
	switch string(data[:4]) {
	case "II*\x00":
		return binary.LittleEndian, true
	case "MM\x00*":
		return binary.BigEndian, true
	}
	return nil, false
}
