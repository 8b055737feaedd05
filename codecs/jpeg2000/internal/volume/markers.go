package volume

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/raster"
)

// markerNSI is the marker segment for the further dimensions (15444-10, A.3).
const markerNSI codestream.Marker = 0xff54

const (
	// capabilities is Rsiz: extensions of Part 2 and, of them, variable DC offset and
	// arbitrary transformation kernels, which a decoder of Part 10 has.
	capabilities = 0x8041
	// partTen is the bit of Part 10 in Pcap: the tenth from the front.
	partTen = 1 << (32 - 10)
)

// appendHeader appends the markers SOC to QCD.
func (h *header) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(codestream.SOC))
	b = appendSegment(b, codestream.SIZ, func(b []byte) []byte {
		b = binary.BigEndian.AppendUint16(b, capabilities)
		for _, v := range []int{h.Width, h.Height, 0, 0, h.Width, h.Height, 0, 0} { // image, its origin, tile, its origin
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		}
		b = binary.BigEndian.AppendUint16(b, uint16(h.Channels))
		for range h.Channels {
			b = append(b, byte(h.Bits-1)|bitIf(h.Signed, 0x80), 1, 1)
		}
		return b
	})
	b = appendSegment(b, codestream.CAP, func(b []byte) []byte {
		return append(binary.BigEndian.AppendUint32(b, partTen), 0, 0)
	})
	b = appendSegment(b, markerNSI, func(b []byte) []byte {
		b = append(b, axes)
		for _, v := range []int{h.Depth, 0, h.Depth, 0} {
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		}
		for range h.Channels {
			b = append(b, 1)
		}
		return b
	})
	b = appendSegment(b, codestream.COD, func(b []byte) []byte {
		b = append(b, bitIf(h.sop, 2)|bitIf(h.eph, 4), byte(h.order))
		b = append(binary.BigEndian.AppendUint16(b, uint16(h.layers)), bitIf(h.transform, 1))
		for _, v := range h.Levels {
			b = append(b, byte(v))
		}
		for _, v := range h.BlockExp {
			b = append(b, byte(v))
		}
		return append(b, byte(h.style), reversible, reversible, reversible)
	})
	b = appendSegment(b, codestream.QCD, func(b []byte) []byte {
		b = append(b, byte(h.guard<<5))
		for _, e := range h.exponents {
			b = append(b, byte(e<<3))
		}
		return b
	})
	return h.space.append(b)
}

// reversible is the number of the reversible 5/3 transform in COD.
const reversible = byte(codestream.Reversible53)

func bitIf(is bool, bit byte) byte {
	if is {
		return bit
	}
	return 0
}

// appendSegment appends a marker, the length of what body appends, and that.
func appendSegment(b []byte, m codestream.Marker, body func([]byte) []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(m))
	at := len(b)
	b = body(append(b, 0, 0))
	binary.BigEndian.PutUint16(b[at:], uint16(len(b)-at))
	return b
}

// segment are the parameters of a marker segment, read from the front. Reading behind
// the end gives zeros and is remembered.
type segment struct {
	data  []byte
	short bool
}

func (s *segment) number(bytes int) int {
	if len(s.data) < bytes {
		s.short, s.data = true, nil
		return 0
	}
	v := 0
	for _, b := range s.data[:bytes] {
		v = v<<8 | int(b)
	}
	s.data = s.data[bytes:]
	return v
}

func (s *segment) u8() int  { return s.number(1) }
func (s *segment) u16() int { return s.number(2) }
func (s *segment) u32() int { return s.number(4) }

// parse reads a codestream. It returns what the main header says and the packets.
func parse(file []byte) (*header, []byte, error) {
	if len(file) < 2 || binary.BigEndian.Uint16(file) != uint16(codestream.SOC) {
		return nil, nil, codec.Malformedf("jpeg2000: not a codestream: it does not begin with SOC")
	}
	r := reader{data: file[2:], seen: map[codestream.Marker]bool{}}
	for {
		m, s, err := r.next()
		if err != nil {
			return nil, nil, err
		}
		if m == codestream.SOT {
			break
		}
		if err := r.segment(m, s); err != nil {
			return nil, nil, err
		}
	}
	for _, m := range []codestream.Marker{codestream.SIZ, codestream.CAP, markerNSI, codestream.COD, codestream.QCD} {
		if !r.seen[m] {
			return nil, nil, codec.Malformedf("jpeg2000: the main header of the volume has no marker %s", name(m))
		}
	}
	if err := r.check(); err != nil {
		return nil, nil, err
	}
	body, err := r.tile()
	return &r.header, body, err
}

// reader reads the main header.
type reader struct {
	header
	data []byte // what follows
	part int    // Psot of the first tile-part; set with SOT
	seen map[codestream.Marker]bool
}

// name is a marker for people.
func name(m codestream.Marker) string {
	if m == markerNSI {
		return "NSI"
	}
	return m.String()
}

// next takes a marker and its segment off the data.
func (r *reader) next() (codestream.Marker, *segment, error) {
	cut := codec.Malformedf("jpeg2000: the codestream is cut short in its header")
	if len(r.data) < 4 {
		return 0, nil, cut
	}
	m, n := codestream.Marker(binary.BigEndian.Uint16(r.data)), int(binary.BigEndian.Uint16(r.data[2:]))
	switch {
	case m < 0xff00 || m == codestream.SOC || m == codestream.SOD || m == codestream.EOC:
		return 0, nil, codec.Malformedf("jpeg2000: %04x where the main header has its next marker segment", uint16(m))
	case n < 2 || n > len(r.data)-2:
		return 0, nil, cut
	}
	s := &segment{data: r.data[4 : 2+n]}
	r.data = r.data[2+n:]
	if m == codestream.SOT {
		s.u16() // the tile, of which there is one
		r.part = s.u32() - 2 - n
		if s.short {
			return 0, nil, cut
		}
	}
	return m, s, nil
}

// segment reads a segment of the main header.
func (r *reader) segment(m codestream.Marker, s *segment) error {
	if m != codestream.SIZ && !r.seen[codestream.SIZ] {
		return codec.Malformedf("jpeg2000: the marker %s comes before SIZ", name(m))
	}
	var err error
	switch m {
	case codestream.SIZ:
		err = r.readSIZ(s)
	case markerNSI:
		err = r.readNSI(s)
	case codestream.CAP:
		if pcap := s.u32(); pcap != partTen {
			err = codec.Unsupportedf("jpeg2000: capabilities %08x of a volume; decoded are those of Part 10 alone", pcap)
		}
		s.u16()
	case codestream.COD:
		err = r.readCOD(s)
	case codestream.QCD:
		err = r.readQCD(s)
	case codestream.COM:
		r.space.read(s.data)
		return nil
	case codestream.TLM, codestream.PLT, codestream.PLM, codestream.CRG:
		return nil
	default:
		return codec.Unsupportedf("jpeg2000: the marker %s in a volume", name(m))
	}
	switch {
	case err != nil:
		return err
	case s.short || len(s.data) > 0:
		return codec.Malformedf("jpeg2000: the marker segment %s has a wrong length", name(m))
	case r.seen[m]:
		return codec.Malformedf("jpeg2000: two marker segments %s", name(m))
	}
	r.seen[m] = true
	return nil
}

// extent reads the end, the origin, the tile and the tile's origin along some axes, and
// returns the ends.
func (s *segment) extent(n int) ([]int, error) {
	var v [4][]int
	for k := range v {
		for range n {
			v[k] = append(v[k], s.u32())
		}
	}
	for i, end := range v[0] {
		switch {
		case s.short || end == 0 || v[2][i] == 0:
			return nil, codec.Malformedf("jpeg2000: a volume without samples")
		case v[1][i] != 0 || v[3][i] != 0:
			return nil, codec.Unsupportedf("jpeg2000: a volume whose origin is not 0, 0, 0")
		case v[2][i] < end:
			return nil, codec.Unsupportedf("jpeg2000: a volume in tiles of %d samples; decoded are those of one tile", v[2][i])
		}
	}
	return v[0], nil
}

func (r *reader) readSIZ(s *segment) error {
	s.u16() // Rsiz: what of it matters CAP and the other markers say
	ends, err := s.extent(2)
	if err != nil {
		return err
	}
	n := s.u16()
	if n < 1 || n > 4 {
		return codec.Unsupportedf("jpeg2000: a volume of %d components; decoded are 1 to 4", n)
	}
	r.Shape = raster.Shape{Width: ends[0], Height: ends[1], Channels: n}
	for c := range n {
		depth, stepX, stepY := s.u8(), s.u8(), s.u8()
		bits, signed := depth&0x7f+1, depth>>7 == 1
		switch {
		case c > 0 && (bits != r.Bits || signed != r.Signed):
			return codec.Unsupportedf("jpeg2000: a volume whose components have samples of several kinds")
		case !s.short && (stepX != 1 || stepY != 1):
			return codec.Unsupportedf("jpeg2000: a volume with sub-sampled components")
		case bits > 16:
			return codec.Unsupportedf("jpeg2000: a volume of %d-bit samples; decoded are 1 to 16 bits", bits)
		}
		r.Bits, r.Signed = bits, signed
	}
	return nil
}

func (r *reader) readNSI(s *segment) error {
	if n := s.u8(); n != axes {
		return codec.Unsupportedf("jpeg2000: %d dimensions; decoded are 3", n)
	}
	ends, err := s.extent(1)
	if err != nil {
		return err
	}
	r.Depth = ends[0]
	for range r.Channels {
		if step := s.u8(); !s.short && step != 1 {
			return codec.Unsupportedf("jpeg2000: a volume with sub-sampled components")
		}
	}
	return nil
}

func (r *reader) readCOD(s *segment) error {
	style := s.u8()
	r.sop, r.eph = style&2 != 0, style&4 != 0
	r.order = codestream.Order(s.u8())
	r.layers = s.u16()
	transform := s.u8()
	for i := range r.Levels {
		r.Levels[i] = s.u8()
	}
	for i := range r.BlockExp {
		r.BlockExp[i] = s.u8()
	}
	r.style = codestream.BlockStyle(s.u8())
	irreversible := false
	for range axes {
		irreversible = s.u8() != int(reversible) || irreversible
	}
	r.transform = transform == 1
	switch {
	case s.short:
		return nil // the caller says so
	case style&^6 != 0:
		return codec.Unsupportedf("jpeg2000: a volume with precincts")
	case r.order > codestream.CPRL || r.layers == 0:
		return codec.Malformedf("jpeg2000: progression order %d, %d layers", r.order, r.layers)
	case transform > 1 || r.transform && r.Channels < 3:
		return codec.Unsupportedf("jpeg2000: multiple component transformation %d of %d components in a volume", transform, r.Channels)
	case irreversible:
		return codec.Unsupportedf("jpeg2000: a volume with another wavelet transform than the reversible 5/3")
	case r.style&(codestream.HT|codestream.Mixed) != 0:
		return codec.Unsupportedf("jpeg2000: code-block style %02x in a volume", byte(r.style))
	}
	return nil
}

func (r *reader) readQCD(s *segment) error {
	style := s.u8()
	r.guard = style >> 5
	if style&31 != int(codestream.NoQuantization) {
		return codec.Unsupportedf("jpeg2000: a volume with quantization")
	}
	for len(s.data) > 0 {
		r.exponents = append(r.exponents, s.u8()>>3)
	}
	return nil
}

// tile returns the packets of the only tile-part.
func (r *reader) tile() ([]byte, error) {
	for {
		if len(r.data) < 2 {
			return nil, codec.Malformedf("jpeg2000: the codestream is cut short in the header of its tile")
		}
		if codestream.Marker(binary.BigEndian.Uint16(r.data)) == codestream.SOD {
			break
		}
		before := len(r.data)
		m, _, err := r.next()
		if err != nil {
			return nil, err
		}
		if m != codestream.COM && m != codestream.PLT {
			return nil, codec.Unsupportedf("jpeg2000: the marker %s in the header of a volume's tile", name(m))
		}
		r.part -= before - len(r.data)
	}
	body := r.data[2:]
	if n := r.part - 2; r.part >= 0 { // a length of 0 says that the tile-part goes up to EOC
		if n < 0 || n > len(body) {
			return nil, codec.Malformedf("jpeg2000: the tile-part of %d bytes ends after %d", n, len(body))
		}
		body = body[:n]
	}
	return body, nil
}
