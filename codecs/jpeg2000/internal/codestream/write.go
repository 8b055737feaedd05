package codestream

import (
	"encoding/binary"
	"reflect"
)

// Main is what a main header says.
type Main struct {
	Size   Size
	Params Params
	HT     HTCapabilities // written as CAP where Size.Capabilities has PartFifteen

	// Whether the lengths of tile-parts and of packets are written, see [AppendTLM] and [AppendPLT].
	TLM, PLT bool
}

// AppendMain appends SOC and the main header: SIZ, CAP for Part 15, COD and QCD with what
// component 0 has, COC, QCC and RGN for components that have something else, and POC.
func AppendMain(b []byte, m *Main) []byte {
	b = appendMarker(b, SOC)
	b = appendSegment(b, SIZ, func(b []byte) []byte { return appendSize(b, &m.Size) })
	if m.Size.Capabilities&PartFifteen != 0 {
		b = appendSegment(b, CAP, func(b []byte) []byte {
			b = binary.BigEndian.AppendUint32(b, 1<<(32-15))
			return binary.BigEndian.AppendUint16(b, uint16(m.HT))
		})
	}
	return appendParams(b, &m.Params)
}

// AppendSOT appends SOT (A.4.2). length is that of the whole tile-part, from SOT on; parts
// is the number of the tile's tile-parts, 0 where it is not known. SOD follows, by
// [AppendSOD], after the markers of the header.
func AppendSOT(b []byte, tile, length, part, parts int) []byte {
	return appendSegment(b, SOT, func(b []byte) []byte {
		b = binary.BigEndian.AppendUint16(b, uint16(tile))
		b = binary.BigEndian.AppendUint32(b, uint32(length))
		return append(b, byte(part), byte(parts))
	})
}

// SetTilePartLength sets the length in the SOT with which a tile-part begins.
func SetTilePartLength(tilePart []byte, length int) {
	binary.BigEndian.PutUint32(tilePart[6:], uint32(length))
}

// TilePartHeader is the length of a tile-part's header of SOT and SOD alone, in bytes.
const TilePartHeader = 12 + 2

// AppendSOD appends the marker behind which a tile-part has its packets.
func AppendSOD(b []byte) []byte { return appendMarker(b, SOD) }

// AppendEOC appends the marker at the end of a codestream.
func AppendEOC(b []byte) []byte { return appendMarker(b, EOC) }

// AppendSOP appends SOP for a tile's packet with the given number (A.8.1).
func AppendSOP(b []byte, packet int) []byte {
	return appendSegment(b, SOP, func(b []byte) []byte { return binary.BigEndian.AppendUint16(b, uint16(packet)) })
}

// AppendEPH appends EPH (A.8.2).
func AppendEPH(b []byte) []byte { return appendMarker(b, EPH) }

// AppendCOM appends a comment of Latin-1 text (A.9.2).
func AppendCOM(b []byte, text string) []byte {
	return appendSegment(b, COM, func(b []byte) []byte { return append(binary.BigEndian.AppendUint16(b, 1), text...) })
}

func appendMarker(b []byte, m Marker) []byte { return binary.BigEndian.AppendUint16(b, uint16(m)) }

// appendSegment appends a marker, the length of what body appends, and that.
func appendSegment(b []byte, m Marker, body func([]byte) []byte) []byte {
	b = appendMarker(b, m)
	at := len(b)
	b = body(append(b, 0, 0))
	binary.BigEndian.PutUint16(b[at:], uint16(len(b)-at))
	return b
}

func appendSize(b []byte, s *Size) []byte {
	b = binary.BigEndian.AppendUint16(b, s.Capabilities)
	for _, v := range []int{s.Image.Max.X, s.Image.Max.Y, s.Image.Min.X, s.Image.Min.Y, s.Tile.X, s.Tile.Y, s.TileOrigin.X, s.TileOrigin.Y} {
		b = binary.BigEndian.AppendUint32(b, uint32(v))
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(s.Components)))
	for _, c := range s.Components {
		b = append(b, byte(c.Bits-1)|flag(c.Signed, 0x80), byte(c.Step.X), byte(c.Step.Y))
	}
	return b
}

func flag(is bool, bit byte) byte {
	if is {
		return bit
	}
	return 0
}

func appendParams(b []byte, p *Params) []byte {
	first := &p.Components[0]
	b = appendSegment(b, COD, func(b []byte) []byte {
		b = append(b, flag(first.Precincts != nil, 1)|flag(p.SOP, 2)|flag(p.EPH, 4), byte(p.Order))
		b = binary.BigEndian.AppendUint16(b, uint16(p.Layers))
		return appendCoding(append(b, flag(p.MCT, 1)), first)
	})
	b = appendSegment(b, QCD, func(b []byte) []byte { return appendQuantization(b, &first.Quantization) })
	n := len(p.Components)
	for i := range p.Components {
		c := &p.Components[i]
		if !sameCoding(c, first) {
			b = appendSegment(b, COC, func(b []byte) []byte {
				return appendCoding(append(appendIndex(b, i, n), flag(c.Precincts != nil, 1)), c)
			})
		}
		if !reflect.DeepEqual(c.Quantization, first.Quantization) {
			b = appendSegment(b, QCC, func(b []byte) []byte { return appendQuantization(appendIndex(b, i, n), &c.Quantization) })
		}
		if c.ROIShift > 0 {
			b = appendSegment(b, RGN, func(b []byte) []byte { return append(appendIndex(b, i, n), 0, byte(c.ROIShift)) })
		}
	}
	if len(p.Changes) == 0 {
		return b
	}
	return appendSegment(b, POC, func(b []byte) []byte {
		for _, c := range p.Changes {
			b = appendIndex(append(b, byte(c.FirstResolution)), c.FirstComponent, n)
			b = append(binary.BigEndian.AppendUint16(b, uint16(c.EndLayer)), byte(c.EndResolution))
			b = append(appendIndex(b, c.EndComponent, n), byte(c.Order))
		}
		return b
	})
}

// appendIndex appends the index of one of n components.
func appendIndex(b []byte, i, n int) []byte {
	if n < 257 {
		return append(b, byte(i))
	}
	return binary.BigEndian.AppendUint16(b, uint16(i))
}

// sameCoding compares what COD says.
func sameCoding(a, b *Coding) bool {
	x, y := *a, *b
	x.Quantization, y.Quantization = Quantization{}, Quantization{}
	x.ROIShift, y.ROIShift = 0, 0
	return reflect.DeepEqual(x, y)
}

func appendCoding(b []byte, c *Coding) []byte {
	b = append(b, byte(c.Levels), byte(c.BlockExp.X-2), byte(c.BlockExp.Y-2), byte(c.Style), byte(c.Transform))
	for _, p := range c.Precincts {
		b = append(b, byte(p.X|p.Y<<4))
	}
	return b
}

func appendQuantization(b []byte, q *Quantization) []byte {
	b = append(b, byte(q.Style)|byte(q.Guard<<5))
	for _, s := range q.Steps {
		if q.Style == NoQuantization {
			b = append(b, byte(s.Exponent<<3))
		} else {
			b = binary.BigEndian.AppendUint16(b, uint16(s.Exponent<<11|s.Mantissa))
		}
	}
	return b
}
