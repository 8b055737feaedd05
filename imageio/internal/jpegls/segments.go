package jpegls

import (
	"encoding/binary"

	segments "github.com/pelmill/pelmill/internal/container/jpeg"
)

// Markers of T.87, C.1.1.
const (
	sof55 = 0xf7
	lse   = 0xf8
	app8  = 0xe8
)

// decoder holds the state of one file.
type decoder struct {
	data []byte
	pos  int // of the next segment, or of a scan's data
	pix  []byte

	// What segments set.
	restartInterval int // in lines; 0 for none
	preset          preset
	width, height   int
	bits            int
	components      []component

	// The scan at hand.
	scanned    []int // indices of its components
	interleave Interleave
}

// preset holds the parameters of an LSE segment (T.87, C.2.4.1.1); 0 stands for the
// default.
type preset struct{ maxval, t1, t2, t3, reset int }

type component struct {
	id      byte
	factors byte // sampling factors
	done    bool // a scan held it
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
		case m == lse:
			err = d.lse(s.Body)
		case m == segments.DRI:
			err = d.dri(s.Body)
		case m == segments.DNL:
			err = unsupported("a height that is told after the first scan is not read")
		case m == app8 && len(s.Body) >= 5 && string(s.Body[:4]) == "mrfx" && s.Body[4] != 0:
			err = unsupported("a colour transform of HP is not read")
		case m == sof55 || m >= segments.SOF0 && m <= segments.SOF15 && m != segments.DHT && m != segments.DAC && m != segments.JPG:
			err = d.sof(m, s.Body)
		}
		if err != nil {
			return 0, err
		}
	}
}

// sof reads a frame header (T.87, C.2.2).
func (d *decoder) sof(marker byte, body []byte) error {
	switch {
	case marker != sof55:
		return unsupported("a frame with the marker %02x is not JPEG-LS", marker)
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
	case d.height == 0 || d.width == 0:
		return unsupported("a frame whose sides are told elsewhere is not read")
	}
	d.components = make([]component, n)
	for i := range d.components {
		c := component{id: body[6+3*i], factors: body[7+3*i]}
		if c.factors>>4 < 1 || c.factors&15 < 1 {
			return malformed("a sampling factor of 0 is not defined")
		}
		for _, other := range d.components[:i] {
			if other.id == c.id {
				return malformed("two components have the number %d", c.id)
			}
			if other.factors != c.factors {
				return unsupported("components of different sizes are not read")
			}
		}
		d.components[i] = c
	}
	return nil
}

// sos reads a scan header (T.87, C.2.3).
func (d *decoder) sos(body []byte) error {
	if d.components == nil {
		return malformed("a scan precedes its frame")
	}
	if len(body) < 6 || len(body) != 4+2*int(body[0]) {
		return malformed("a scan header is malformed")
	}
	d.scanned = d.scanned[:0]
	for selector := body[1 : len(body)-3]; len(selector) > 0; selector = selector[2:] {
		i := d.find(selector[0])
		if i < 0 {
			return malformed("a scan names a component that the frame does not have")
		}
		if d.components[i].done {
			return malformed("two scans hold component %d", selector[0])
		}
		if selector[1] != 0 {
			return unsupported("a mapping table is not read")
		}
		d.components[i].done = true
		d.scanned = append(d.scanned, i)
	}
	last := body[len(body)-3:]
	near, interleave, shift := last[0], last[1], last[2]&15
	switch {
	case near != 0:
		return ErrLossy
	case interleave > 2 || len(d.scanned) == 1 && Interleave(interleave) == Samples:
		return malformed("an interleave mode of %d is not defined for %d components", interleave, len(d.scanned))
	case shift != 0:
		return unsupported("a point transform is not read")
	case len(d.scanned) > 1 && interleave == 0:
		return malformed("a scan of %d components is not interleaved", len(d.scanned))
	case len(d.scanned) > 1 && len(d.scanned) != len(d.components):
		return unsupported("a scan of %d of %d components is not read", len(d.scanned), len(d.components))
	}
	d.interleave = Interleave(interleave)
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

// dri reads a restart interval, which may have up to 4 bytes (T.87, C.2.5).
func (d *decoder) dri(body []byte) error {
	if len(body) < 2 || len(body) > 4 {
		return malformed("its restart interval is malformed")
	}
	d.restartInterval = 0
	for _, b := range body {
		d.restartInterval = d.restartInterval<<8 | int(b)
	}
	return nil
}

// lse reads preset parameters (T.87, C.2.4).
func (d *decoder) lse(body []byte) error {
	if len(body) < 1 {
		return malformed("its preset parameters are malformed")
	}
	switch body[0] {
	case 1:
		if len(body) != 11 {
			return malformed("its preset parameters are malformed")
		}
		v := func(i int) int { return int(binary.BigEndian.Uint16(body[1+2*i:])) }
		d.preset = preset{v(0), v(1), v(2), v(3), v(4)}
		return nil
	case 2, 3:
		return unsupported("a mapping table is not read")
	case 4:
		return unsupported("a frame whose sides are told elsewhere is not read")
	}
	return unsupported("preset parameters of type %d are not read", body[0])
}
