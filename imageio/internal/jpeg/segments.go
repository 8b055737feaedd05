package jpeg

import (
	"bytes"
	"encoding/binary"
)

// Markers of T.81, table B.1.
const (
	markerTEM   = 0x01
	markerSOF0  = 0xc0
	markerSOF1  = 0xc1
	markerSOF2  = 0xc2
	markerDHT   = 0xc4
	markerJPG   = 0xc8
	markerSOF9  = 0xc9
	markerSOF10 = 0xca
	markerDAC   = 0xcc
	markerSOF15 = 0xcf
	markerRST0  = 0xd0
	markerRST7  = 0xd7
	markerSOI   = 0xd8
	markerEOI   = 0xd9
	markerSOS   = 0xda
	markerDQT   = 0xdb
	markerDNL   = 0xdc
	markerDRI   = 0xdd
	markerAPP0  = 0xe0
	markerAPP14 = 0xee
	markerAPP15 = 0xef
	markerCOM   = 0xfe
)

// standsAlone reports whether a marker has no segment behind it.
func standsAlone(marker byte) bool {
	return marker == markerTEM || marker >= markerRST0 && marker <= markerRST7
}

// nextMarker finds the marker at or behind i and the index behind it. It passes
// over stray and stuffed bytes. The marker is 0 where data end before one.
func nextMarker(data []byte, i int) (byte, int) {
	for i < len(data) {
		n := bytes.IndexByte(data[i:], 0xff)
		if n < 0 {
			break
		}
		for i += n; i < len(data) && data[i] == 0xff; {
			i++
		}
		if i < len(data) && data[i] != 0 {
			return data[i], i + 1
		}
	}
	return 0, len(data)
}

// segments reads segments from d.pos up to the next SOS, whose parameters it
// reads too, or EOI, and returns that marker.
func (d *decoder) segments() (byte, error) {
	if d.pos == 0 {
		if len(d.data) < 2 || d.data[0] != 0xff || d.data[1] != markerSOI {
			return 0, malformed("it does not begin with SOI")
		}
		d.pos = 2
		for i := range d.dcUpper {
			d.dcUpper[i], d.acMiddle[i] = 1, 5
		}
	}
	for {
		var marker byte
		marker, d.pos = nextMarker(d.data, d.pos)
		switch {
		case marker == 0:
			return 0, errCutShort
		case marker == markerEOI:
			return marker, nil
		case marker == markerSOI:
			return 0, malformed("it holds a second SOI")
		case standsAlone(marker):
			continue
		case marker < markerSOF0 || marker == 0xde || marker == 0xdf || marker >= 0xf0 && marker < markerCOM:
			return 0, unsupported("a segment with the reserved marker %02x is not read", marker)
		}
		body, err := d.body()
		if err != nil {
			return 0, err
		}
		switch {
		case marker == markerSOS:
			return marker, d.sos(body)
		case marker == markerDHT:
			err = d.dht(body)
		case marker == markerDAC:
			err = d.dac(body)
		case marker == markerDQT:
			err = d.dqt(body)
		case marker == markerDRI:
			if len(body) != 2 {
				return 0, malformed("its restart interval is malformed")
			}
			d.restartInterval = int(binary.BigEndian.Uint16(body))
		case marker <= markerSOF15:
			err = d.sof(marker, body)
		case marker >= markerAPP0 && marker <= markerAPP15:
			d.appSegment(marker, body)
		}
		if err != nil {
			return 0, err
		}
	}
}

// body returns the parameters of the segment at d.pos, and moves behind it.
func (d *decoder) body() ([]byte, error) {
	if d.pos+2 > len(d.data) {
		return nil, errCutShort
	}
	n := int(binary.BigEndian.Uint16(d.data[d.pos:]))
	if n < 2 {
		return nil, malformed("a segment has a length of %d", n)
	}
	if d.pos+n > len(d.data) {
		return nil, errCutShort
	}
	body := d.data[d.pos+2 : d.pos+n]
	d.pos += n
	return body, nil
}

// appSegment notes what guesses of the colour space rest on: the segments of
// JFIF and of Adobe (T.872, 6.5.3).
func (d *decoder) appSegment(marker byte, body []byte) {
	if marker == markerAPP0 && len(body) >= 14 && string(body[:5]) == "JFIF\x00" {
		d.jfif = true
	}
	if marker == markerAPP14 && len(body) >= 12 && string(body[:5]) == "Adobe" {
		d.adobe = true
		d.adobeTransform = body[11]
	}
	if d.app != nil {
		d.app(marker, body)
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
				table[k] = int32(body[1+k])
			} else {
				table[k] = int32(binary.BigEndian.Uint16(body[1+2*k:]))
			}
		}
		table.fill()
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
