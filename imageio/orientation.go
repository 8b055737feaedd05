package imageio

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/raster"
)

// turn notes the orientation of the EXIF block of meta, or meta's own where it
// is set already, and gives the header the shape of the upright image.
func (p *opened) turn(meta *raster.Meta) {
	if meta.Orientation == 0 {
		meta.Orientation, _ = raster.EXIFOrientation(meta.EXIF)
	}
	p.DecodedBytes += int64(len(meta.EXIF) + len(meta.ICC))
	if meta.Orientation > 1 {
		p.DecodedBytes += int64(p.Size())
	}
	if meta.Orientation > 4 {
		p.Width, p.Height = p.Height, p.Width
	}
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
