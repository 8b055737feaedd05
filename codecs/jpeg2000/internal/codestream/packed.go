package codestream

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/codecs/codec"
)

// packedHeaders are the segments PPM of a main header or PPT of a tile-part header, by
// their index (A.7.4, A.7.5).
type packedHeaders struct {
	segments map[int][]byte
}

func (p *packedHeaders) add(s *segment) error {
	i := s.u8()
	if s.short {
		return s.end()
	}
	if p.segments == nil {
		p.segments = map[int][]byte{}
	}
	if _, ok := p.segments[i]; ok {
		return codec.Malformedf("jpeg2000: two marker segments %v have the index %d", s.marker, i)
	}
	p.segments[i] = s.data
	return nil
}

// join returns the data in the order of indices.
func (p *packedHeaders) join() [][]byte {
	var list [][]byte
	for i := 0; len(list) < len(p.segments); i++ {
		if d, ok := p.segments[i]; ok {
			list = append(list, d)
		}
	}
	return list
}

// splitPPM parts the data of PPM by tile-part: for each a length of four bytes (Nppm) and as
// many bytes of packet headers, without regard to where segments end.
func splitPPM(pieces [][]byte) ([][]byte, error) {
	var data []byte
	for _, p := range pieces {
		data = append(data, p...)
	}
	var parts [][]byte
	for len(data) > 0 {
		if len(data) < 4 {
			return nil, codec.Malformedf("jpeg2000: PPM ends in a length")
		}
		n := int(binary.BigEndian.Uint32(data))
		if n > len(data)-4 {
			return nil, codec.Malformedf("jpeg2000: PPM promises %d bytes of packet headers and has %d", n, len(data)-4)
		}
		parts = append(parts, data[4:4+n:4+n])
		data = data[4+n:]
	}
	return parts, nil
}
