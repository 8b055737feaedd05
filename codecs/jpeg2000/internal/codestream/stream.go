package codestream

import (
	"slices"

	"github.com/pelmill/pelmill/codecs/codec"
)

// Stream is a codestream whose main header was read, and whose tile-parts were found.
type Stream struct {
	Size   Size
	Params Params         // of the main header; see [Stream.Tile] for those of a tile
	HT     HTCapabilities // of CAP
	HasCAP bool

	tiles  []tileParts
	packed [][]byte // PPM: packet headers by tile-part, in the order of the codestream
	hasPPM bool
	parts  int
}

// tileParts are the tile-parts of a tile.
type tileParts struct {
	markers [][]segment // by tile-part
	bodies  [][]byte
	headers []byte // of PPM
}

// Coded are the coded bytes of a tile.
type Coded struct {
	Bodies  [][]byte // of its tile-parts
	Packed  bool     // packet headers are apart
	Headers []byte
}

// Parse reads the main header of a codestream and the headers of its tile-parts. Nothing
// is copied but packed packet headers.
func Parse(data []byte) (*Stream, error) {
	s, data, err := parseMain(data)
	if err != nil {
		return nil, err
	}
	s.tiles = make([]tileParts, s.Size.Tiles().X*s.Size.Tiles().Y)
	for {
		if len(data) < 2 || Marker(data[0])<<8|Marker(data[1]) == EOC {
			return s, nil // an EOC that is missing harms nothing: each tile-part has its length
		}
		if data, err = s.parsePart(data); err != nil {
			return nil, err
		}
	}
}

// parseMain reads the main header, up to the first SOT.
func parseMain(data []byte) (*Stream, []byte, error) {
	seg, rest, err := next(data)
	if err != nil || seg.marker != SOC {
		return nil, nil, codec.Malformedf("jpeg2000: the codestream does not begin with SOC")
	}
	if seg, rest, err = next(rest); err != nil {
		return nil, nil, err
	} else if seg.marker != SIZ {
		return nil, nil, codec.Malformedf("jpeg2000: %v where SIZ has to be", seg.marker)
	}
	s := &Stream{}
	if s.Size, err = readSize(&seg); err != nil {
		return nil, nil, err
	}
	if s.Size.Capabilities&PartTwo != 0 {
		return nil, nil, codec.Unsupportedf("jpeg2000: the codestream uses extensions of Part 2")
	}
	b := newBuilder(&Params{}, len(s.Size.Components))
	var ppm packedHeaders
	for {
		data = rest
		if seg, rest, err = next(data); err != nil {
			return nil, nil, err
		}
		switch seg.marker {
		case SOT:
			if err := s.finishMain(b, &ppm); err != nil {
				return nil, nil, err
			}
			return s, data, nil
		case SOC, SIZ, SOD, EOC, SOP, EPH, PPT, PLT:
			return nil, nil, codec.Malformedf("jpeg2000: the marker %v is in the main header", seg.marker)
		case CAP:
			err = s.readCAP(&seg)
		case PPM:
			err = ppm.add(&seg)
		default:
			err = b.read(&seg)
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

func (s *Stream) finishMain(b *builder, ppm *packedHeaders) error {
	if !b.cod || !b.qcd && !all(b.qcc) {
		return codec.Malformedf("jpeg2000: the main header has no COD or no QCD")
	}
	s.Params = b.Params
	if s.hasPPM = len(ppm.segments) > 0; s.hasPPM {
		var err error
		if s.packed, err = splitPPM(ppm.join()); err != nil {
			return err
		}
	}
	return nil
}

func all(flags []bool) bool {
	for _, f := range flags {
		if !f {
			return false
		}
	}
	return true
}

// readCAP reads 15444-15, A.3.2: Pcap, and a number Ccap for each of its bits.
func (s *Stream) readCAP(seg *segment) error {
	parts := uint32(seg.u32())
	for i := 1; i <= 32; i++ {
		if parts>>(32-i)&1 == 0 {
			continue
		}
		ccap := seg.u16()
		if i == 15 {
			s.HT, s.HasCAP = HTCapabilities(ccap), true
		}
	}
	return seg.end()
}

// parsePart reads a tile-part: SOT, its header, and finds its body.
func (s *Stream) parsePart(data []byte) ([]byte, error) {
	seg, rest, err := next(data)
	if err != nil {
		return nil, err
	}
	if seg.marker != SOT {
		return nil, codec.Malformedf("jpeg2000: %v where a tile-part has to begin", seg.marker)
	}
	index, length, part := seg.u16(), seg.u32(), seg.u8()
	seg.u8()
	if err := seg.end(); err != nil {
		return nil, err
	}
	if index >= len(s.tiles) {
		return nil, codec.Malformedf("jpeg2000: a tile-part of tile %d of %d", index, len(s.tiles))
	}
	t := &s.tiles[index]
	if part != len(t.bodies) {
		return nil, codec.Malformedf("jpeg2000: tile %d: tile-part %d follows after %d tile-parts", index, part, len(t.bodies))
	}
	after := data[len(data):]
	switch {
	case length == 0: // up to EOC
		if n := len(rest); n >= 2 && Marker(rest[n-2])<<8|Marker(rest[n-1]) == EOC {
			rest, after = rest[:n-2], rest[n-2:]
		}
	case length < len(data)-len(rest):
		return nil, codec.Malformedf("jpeg2000: tile %d: a tile-part of %d bytes", index, length)
	case length > len(data):
		return nil, codec.Malformedf("jpeg2000: the codestream is cut short: tile-part %d of tile %d has %d of its %d bytes", part, index, len(data), length)
	default:
		rest, after = rest[:length-(len(data)-len(rest))], data[length:]
	}
	return after, s.parsePartHeader(t, rest)
}

// parsePartHeader reads the markers up to SOD. What they say is kept for [Stream.Tile].
func (s *Stream) parsePartHeader(t *tileParts, data []byte) error {
	var markers []segment
	for {
		seg, rest, err := next(data)
		if err != nil {
			return err
		}
		data = rest
		switch seg.marker {
		case COD, COC, QCD, QCC, RGN, POC, PPT, PLT:
			markers = append(markers, seg)
		case SOC, SIZ, SOT, EOC, SOP, EPH, PPM, CAP:
			return codec.Malformedf("jpeg2000: the marker %v is in the header of a tile-part", seg.marker)
		case SOD:
			t.markers = append(t.markers, markers)
			t.bodies = append(t.bodies, data[:len(data):len(data)])
			return s.takePacked(t)
		}
	}
}

// takePacked gives a tile the packet headers that PPM has for its next tile-part.
func (s *Stream) takePacked(t *tileParts) error {
	if s.hasPPM {
		if s.parts >= len(s.packed) {
			return codec.Malformedf("jpeg2000: PPM has packet headers of %d tile-parts only", len(s.packed))
		}
		t.headers = append(t.headers, s.packed[s.parts]...)
	}
	s.parts++
	return nil
}

// Tile returns the parameters of tile t and its coded bytes.
func (s *Stream) Tile(t int) (*Params, Coded, error) {
	parts := &s.tiles[t]
	coded := Coded{Bodies: parts.bodies, Packed: s.hasPPM, Headers: parts.headers}
	if len(parts.bodies) == 0 {
		return nil, coded, codec.Malformedf("jpeg2000: the codestream has no tile %d", t)
	}
	b := newBuilder(&s.Params, len(s.Size.Components))
	coded.Headers = slices.Clone(coded.Headers)
	changes := false
	for _, markers := range parts.markers {
		var ppt packedHeaders
		for _, seg := range markers {
			var err error
			switch seg.marker {
			case PPT:
				coded.Packed = true
				err = ppt.add(&seg)
			case POC:
				if !changes { // those of the main header do not hold
					changes, b.Changes = true, nil
				}
				err = b.read(&seg)
			default:
				err = b.read(&seg)
			}
			if err != nil {
				return nil, coded, err
			}
		}
		for _, piece := range ppt.join() {
			coded.Headers = append(coded.Headers, piece...)
		}
	}
	return &b.Params, coded, b.check()
}
