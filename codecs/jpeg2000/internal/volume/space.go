package volume

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/raster"
)

// space is how a volume lies in space. Part 10 has no room for it but a comment, which other
// decoders pass over:
//
//	COM ff64 | Lcom | Rcom 0000: binary | spaceMark | distances of samples along x, y and z in millimetres, float64 | NIfTI-1 geometry
//
// Numbers have their highest byte first; the geometry, whose bytes are those of package raster,
// may be absent. Volumes about which nothing is known have no such comment.
type space struct {
	spacing  [3]float64
	geometry []byte
}

// spaceMark tells the comment from those of others.
const spaceMark = "pelmill: space\x00"

func spaceOf(m *raster.Meta) space { return space{m.Spacing, m.Geometry} }

// attach gives the attributes to an image.
func (s *space) attach(m *raster.Meta) {
	m.Spacing, m.Geometry = s.spacing, bytes.Clone(s.geometry)
}

// append appends the comment.
func (s *space) append(b []byte) []byte {
	if s.spacing == [3]float64{} && len(s.geometry) == 0 {
		return b
	}
	return appendSegment(b, codestream.COM, func(b []byte) []byte {
		b = append(binary.BigEndian.AppendUint16(b, 0), spaceMark...)
		for _, v := range s.spacing {
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
		}
		return append(b, s.geometry...)
	})
}

// read reads a comment. Those of others, and what cannot be of this kind, say nothing.
func (s *space) read(comment []byte) {
	body, ok := bytes.CutPrefix(comment, []byte("\x00\x00"+spaceMark))
	const numbers = 3 * 8
	if !ok || len(body) != numbers && len(body) != numbers+raster.NIfTIGeometry {
		return
	}
	var spacing [3]float64
	for i := range spacing {
		v := math.Float64frombits(binary.BigEndian.Uint64(body[8*i:]))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		spacing[i] = v
	}
	*s = space{spacing, nil}
	if len(body) > numbers {
		s.geometry = bytes.Clone(body[numbers:])
	}
}
