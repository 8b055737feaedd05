package jpeglossless

import (
	"encoding/binary"

	segments "github.com/pelmill/pelmill/internal/container/jpeg"
)

// Markers of frames (T.81, table B.1).
const (
	sof3 = 0xc3 // lossless, sequential, Huffman codes
	sofL = 0xf7 // JPEG-LS (T.87, C.1.1)
)

// decoder holds the state of one file.
type decoder struct {
	data []byte
	pos  int // of the next segment, or of a scan's data
	pix  []byte

	// What segments set.
	tables          [4]*huffmanTable
	restartInterval int // in pixels; 0 for none
	width, height   int
	bits            int
	components      []component

	// The scan at hand.
	scanned   []int // indices of its components
	predictor int
	shift     int // point transform
}

// component is one component of the frame (T.81, B.2.2).
type component struct {
	id    byte
	h, v  byte // sampling factors
	done  bool // a scan held it
	table byte // of the scan at hand
}

// complete reports whether all components had their scan.
func (d *decoder) complete() bool {
	for i := range d.components {
		if !d.components[i].done {
			return false
		}
	}
	return true
}

// segments reads segments from d.pos up to the next SOS, whose parameters it reads
// too, or EOI, and returns that marker.
func (d *decoder) segments() (byte, error) {
	if d.pos == 0 {
		if !segments.Match(d.data) {
			return 0, malformed("it does not begin with SOI")
		}
		d.pos = 2
	}
	for {
		s, next, err := segments.Next(d.data, d.pos)
		d.pos = next
		switch {
		case s.Marker == 0 && d.components != nil:
			// No EOI. What is missing is told by the caller.
			return segments.EOI, nil
		case err != nil:
			return 0, malformed("%v", err)
		case s.Marker == segments.EOI:
			return s.Marker, nil
		case s.Marker == segments.SOI:
			return 0, malformed("it holds a second SOI")
		}
		switch m := s.Marker; {
		case m == segments.SOS:
			return m, d.sos(s.Body)
		case m == segments.DHT:
			err = d.dht(s.Body)
		case m == segments.DRI:
			err = d.dri(s.Body)
		case m == segments.DNL:
			err = unsupported("a height that is told after the first scan is not read")
		case m == segments.DAC, m == segments.JPG, m >= segments.SOF0 && m <= segments.SOF15, m == sofL:
			err = d.sof(m, s.Body)
		}
		if err != nil {
			return 0, err
		}
	}
}

// sof reads a frame header (T.81, B.2.2).
func (d *decoder) sof(marker byte, body []byte) error {
	switch {
	case marker != sof3:
		return unsupported("a frame with the marker %02x is not of the lossless process with Huffman codes", marker)
	case d.components != nil:
		return malformed("it holds two frames")
	case len(body) < 6 || len(body) != 6+3*int(body[5]):
		return malformed("its frame header is malformed")
	}
	d.bits = int(body[0])
	d.height = int(binary.BigEndian.Uint16(body[1:]))
	d.width = int(binary.BigEndian.Uint16(body[3:]))
	n := int(body[5])
	switch {
	case d.bits < 2 || d.bits > 16:
		return malformed("a precision of %d bits is not defined", d.bits)
	case n < 1 || n > 4:
		return unsupported("%d components are not read", n)
	case d.height == 0:
		return unsupported("a height that is told after the first scan is not read")
	case d.width == 0:
		return malformed("its frame has no width")
	}
	d.components = make([]component, n)
	for i := range d.components {
		b := body[6+3*i:]
		c := component{id: b[0], h: b[1] >> 4, v: b[1] & 15}
		if c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4 {
			return malformed("a sampling factor of %d x %d is not defined", c.h, c.v)
		}
		for _, other := range d.components[:i] {
			if other.id == c.id {
				return malformed("two components have the number %d", c.id)
			}
			if other.h != c.h || other.v != c.v {
				return unsupported("components of different sizes are not read")
			}
		}
		d.components[i] = c
	}
	return nil
}

// sos reads a scan header (T.81, B.2.3 and H.1).
func (d *decoder) sos(body []byte) error {
	if d.components == nil {
		return malformed("a scan precedes its frame")
	}
	if len(body) < 4 || len(body) != 4+2*int(body[0]) {
		return malformed("a scan header is malformed")
	}
	d.scanned = d.scanned[:0]
	for selector := body[1 : len(body)-3]; len(selector) > 0; selector = selector[2:] {
		i := d.find(selector[0])
		if i < 0 {
			return malformed("a scan names a component that the frame does not have")
		}
		c := &d.components[i]
		if c.done {
			return malformed("two scans hold component %d", c.id)
		}
		c.done, c.table = true, selector[1]>>4
		if c.table > 3 {
			return malformed("a scan names a Huffman table that there cannot be")
		}
		d.scanned = append(d.scanned, i)
	}
	if len(d.scanned) > 1 && (d.components[0].h != 1 || d.components[0].v != 1) {
		return unsupported("an interleaved scan with sampling factors other than 1 is not read")
	}
	if len(d.scanned) == 0 {
		return malformed("a scan header is malformed")
	}
	last := body[len(body)-3:]
	d.predictor, d.shift = int(last[0]), int(last[2]&15)
	if d.predictor < 1 || d.predictor > 7 {
		return malformed("predictor %d is not defined", d.predictor)
	}
	if d.shift >= d.bits {
		return malformed("a point transform of %d bits leaves nothing of %d", d.shift, d.bits)
	}
	if d.restartInterval%d.width != 0 {
		return unsupported("a restart interval that ends in the middle of a row is not read")
	}
	return nil
}

func (d *decoder) find(id byte) int {
	for i := range d.components {
		if d.components[i].id == id {
			return i
		}
	}
	return -1
}

func (d *decoder) dri(body []byte) error {
	if len(body) != 2 {
		return malformed("its restart interval is malformed")
	}
	d.restartInterval = int(binary.BigEndian.Uint16(body))
	return nil
}

// dht reads Huffman tables (T.81, B.2.4.2). Their codes are checked when a scan uses
// them.
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
		if class == 0 {
			d.tables[id] = &huffmanTable{counts: [16]byte(body[1:17]), symbols: body[17 : 17+n]}
		}
		body = body[17+n:]
	}
	if len(body) != 0 {
		return malformed("a Huffman table is malformed")
	}
	return nil
}
