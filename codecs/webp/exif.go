package webp

import (
	"bytes"
	"encoding/binary"
)

// tagOrientation says how the stored rows lie in the upright picture (TIFF 6.0, EXIF
// 2.3); 1 is as they are.
const tagOrientation = 274

// upright returns exif with an orientation of 1 where it has one: the samples of a
// [raster.Image] are upright already, and viewers would turn them again.
func upright(exif []byte) []byte {
	order, at := findOrientation(exif)
	if at == 0 || order.Uint16(exif[at:]) == 1 {
		return exif
	}
	exif = bytes.Clone(exif)
	order.PutUint16(exif[at:], 1)
	return exif
}

// findOrientation finds the value in the first directory of a TIFF structure; at is 0
// where there is none.
func findOrientation(exif []byte) (order binary.ByteOrder, at int) {
	if len(exif) < 8 {
		return nil, 0
	}
	switch string(exif[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return nil, 0
	}
	dir := int64(order.Uint32(exif[4:]))
	if dir+2 > int64(len(exif)) {
		return nil, 0
	}
	for i := range int64(order.Uint16(exif[dir:])) {
		e := dir + 2 + 12*i
		if e+12 > int64(len(exif)) {
			return nil, 0
		}
		const short = 3
		if order.Uint16(exif[e:]) == tagOrientation {
			if order.Uint16(exif[e+2:]) != short {
				return nil, 0
			}
			return order, int(e + 8)
		}
	}
	return nil, 0
}
