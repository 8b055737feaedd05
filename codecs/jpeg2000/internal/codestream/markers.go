package codestream

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/codecs/codec"
)

// Marker is a marker code (Table A.2; CAP and CPF are those of 15444-15).
type Marker uint16

// The markers.
const (
	SOC Marker = 0xff4f
	CAP Marker = 0xff50
	SIZ Marker = 0xff51
	COD Marker = 0xff52
	COC Marker = 0xff53
	TLM Marker = 0xff55
	PLM Marker = 0xff57
	PLT Marker = 0xff58
	CPF Marker = 0xff59
	QCD Marker = 0xff5c
	QCC Marker = 0xff5d
	RGN Marker = 0xff5e
	POC Marker = 0xff5f
	PPM Marker = 0xff60
	PPT Marker = 0xff61
	CRG Marker = 0xff63
	COM Marker = 0xff64
	SOT Marker = 0xff90
	SOP Marker = 0xff91
	EPH Marker = 0xff92
	SOD Marker = 0xff93
	EOC Marker = 0xffd9
)

func (m Marker) String() string {
	names := map[Marker]string{SOC: "SOC", CAP: "CAP", SIZ: "SIZ", COD: "COD", COC: "COC", TLM: "TLM", PLM: "PLM", PLT: "PLT", CPF: "CPF", QCD: "QCD", QCC: "QCC",
		RGN: "RGN", POC: "POC", PPM: "PPM", PPT: "PPT", CRG: "CRG", COM: "COM", SOT: "SOT", SOP: "SOP", EPH: "EPH", SOD: "SOD", EOC: "EOC"}
	if name, ok := names[m]; ok {
		return name
	}
	const hex = "0123456789ABCDEF"
	return string([]byte{'F', 'F', hex[m>>4&15], hex[m&15]})
}

// segment is a marker with its parameters, read from the front. Reading behind the end
// gives zeros and is remembered.
type segment struct {
	marker Marker
	data   []byte
	short  bool
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

// end is the error of a segment that is too short or, where all of it is known, too long.
func (s *segment) end() error {
	if s.short {
		return codec.Malformedf("jpeg2000: the marker segment %v is too short", s.marker)
	}
	if len(s.data) > 0 {
		return codec.Malformedf("jpeg2000: the marker segment %v is %d bytes too long", s.marker, len(s.data))
	}
	return nil
}

// next reads the marker at the front of data, with its segment if it has one, and returns
// what follows.
func next(data []byte) (segment, []byte, error) {
	if len(data) < 2 {
		return segment{}, nil, codec.Malformedf("jpeg2000: the codestream is cut short in a header")
	}
	m := Marker(binary.BigEndian.Uint16(data))
	if m < 0xff00 {
		return segment{}, nil, codec.Malformedf("jpeg2000: %04x where a header has its next marker", uint16(m))
	}
	data = data[2:]
	if m >= 0xff30 && m <= 0xff3f || m == SOC || m == SOD || m == EOC || m == EPH {
		return segment{marker: m}, data, nil
	}
	if len(data) < 2 {
		return segment{}, nil, codec.Malformedf("jpeg2000: the codestream is cut short in a header")
	}
	n := int(binary.BigEndian.Uint16(data))
	if n < 2 {
		return segment{}, nil, codec.Malformedf("jpeg2000: the marker segment %v has a length of %d", m, n)
	}
	if n > len(data) {
		return segment{}, nil, codec.Malformedf("jpeg2000: the codestream is cut short in the marker segment %v", m)
	}
	return segment{marker: m, data: data[2:n]}, data[n:], nil
}
