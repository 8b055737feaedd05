package decode

import (
	"encoding/binary"

	segments "github.com/pelmill/pelmill/internal/container/jpeg"
)

// segments reads segments from d.pos up to the next SOS, whose parameters it
// reads too, or EOI, and returns that marker.
func (d *decoder) segments() (byte, error) {
	if d.pos == 0 {
		if len(d.data) < 2 || d.data[0] != 0xff || d.data[1] != segments.SOI {
			return 0, malformed("it does not begin with SOI")
		}
		d.pos = 2
		for i := range d.dcUpper {
			d.dcUpper[i], d.acMiddle[i] = 1, 5
		}
	}
	for {
		s, next, err := segments.Next(d.data, d.pos)
		marker, body := s.Marker, s.Body
		d.pos = next
		switch {
		case marker == 0:
			return 0, errCutShort
		case marker == segments.EOI:
			return marker, nil
		case marker == segments.SOI:
			return 0, malformed("it holds a second SOI")
		case marker < segments.SOF0 || marker == 0xde || marker == 0xdf || marker >= 0xf0 && marker < segments.COM:
			return 0, unsupported("a segment with the reserved marker %02x is not read", marker)
		}
		if err != nil {
			return 0, malformed("%v", err)
		}
		switch {
		case marker == segments.SOS:
			return marker, d.sos(body)
		case marker == segments.DHT:
			err = d.dht(body)
		case marker == segments.DAC:
			err = d.dac(body)
		case marker == segments.DQT:
			err = d.dqt(body)
		case marker == segments.DRI:
			if len(body) != 2 {
				return 0, malformed("its restart interval is malformed")
			}
			d.restartInterval = int(binary.BigEndian.Uint16(body))
		case marker <= segments.SOF15:
			err = d.sof(marker, body)
		case marker >= segments.APP0 && marker <= segments.APP15:
			d.appSegment(marker, body)
		}
		if err != nil {
			return 0, err
		}
	}
}

// appSegment notes what guesses of the colour space rest on: the segments of
// JFIF and of Adobe (T.872, 6.5.3).
func (d *decoder) appSegment(marker byte, body []byte) {
	if marker == segments.APP0 && len(body) >= 14 && string(body[:5]) == "JFIF\x00" {
		d.jfif = true
	}
	if marker == segments.APP14 && len(body) >= 12 && string(body[:5]) == "Adobe" {
		d.adobe = true
		d.adobeTransform = body[11]
	}
}

// dqt reads quantization tables (T.81, B.2.4.1).
func (d *decoder) dqt(body []byte) error {
	for len(body) > 0 {
		id, size := body[0]&15, 64
		if body[0]>>4 != 0 {
			size = 128
		}
		if id > 3 || len(body) < 1+size {
			return malformed("a quantization table is malformed")
		}
		table := new(quantTable)
		for k := range 64 {
			if size == 64 {
				table.set(k, uint16(body[1+k]))
			} else {
				table.set(k, binary.BigEndian.Uint16(body[1+2*k:]))
			}
		}
		d.quant[id] = table
		body = body[1+size:]
	}
	return nil
}

// dht reads Huffman tables (T.81, B.2.4.2). Their codes are checked when a scan
// uses them.
func (d *decoder) dht(body []byte) error {
	for len(body) > 16 {
		class, id := body[0]>>4, body[0]&15
		n := 0
		for _, count := range body[1:17] {
			n += int(count)
		}
		if class > 1 || id > 3 || n > 256 || n > len(body)-17 {
			return malformed("a Huffman table is malformed")
		}
		d.huffman[class][id] = newHuffmanTable(body[1:17], body[17:17+n])
		body = body[17+n:]
	}
	if len(body) != 0 {
		return malformed("a Huffman table is malformed")
	}
	return nil
}

// dac reads the conditioning of arithmetic coding (T.81, B.2.4.3).
func (d *decoder) dac(body []byte) error {
	if len(body)%2 != 0 {
		return malformed("its arithmetic conditioning is malformed")
	}
	for ; len(body) > 0; body = body[2:] {
		id, v := body[0], body[1]
		switch {
		case id < 16 && v&15 <= v>>4:
			d.dcLower[id], d.dcUpper[id] = v&15, v>>4
		case id >= 16 && id < 32:
			d.acMiddle[id-16] = v
		default:
			return malformed("its arithmetic conditioning is malformed")
		}
	}
	return nil
}
