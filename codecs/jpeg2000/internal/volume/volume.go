// Package volume codes volumes as codestreams of JPEG 2000 Part 10 (ISO/IEC 15444-10,
// ITU-T T.809, "JP3D"), files with the extension .jp3d, in both directions and without loss.
//
// # Codestream
//
//	SOC SIZ CAP NSI COD QCD SOT SOD packets EOC
//
// SIZ is that of Part 1 for x and y, CAP declares Part 10, and NSI adds what SIZ says of x
// and y for z. One tile, one layer and one precinct to each resolution are written. Read are also
// several layers, all progression orders, and the code-block styles of Part 1.
//
// # Subbands
//
// A level of the decomposition filters with the reversible 5/3 along x, then y, then z,
// and gives the subbands HLL LHL HHL LLH HLH LHH HHH, in this order, whose letters are the axes x, y
// and z. There may be fewer levels along z than along x and y: the last levels then leave
// z as it is and give HLX LHX HHX.
//
// # Code-blocks
//
// A code-block has columns, rows and slices. It is coded slice by slice with the contexts
// of Part 1, in which the orientation of a subband is that of its axes x and y.
package volume

import (
	"bytes"
	"encoding/binary"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/raster"
)

// The axes, as indices.
const (
	axisX = iota
	axisY
	axisZ
	axes
)

// Coding is how a volume is coded.
type Coding struct {
	Levels   [axes]int // decompositions along x, y and z; as many along x as along y, not more along z
	BlockExp [axes]int // log2 of the sides of a code-block, the sum at most 18
}

// maxBlockExp is the largest sum of the exponents of a code-block.
const maxBlockExp = 18

// maxLevels are the most decompositions along an axis that are read.
const maxLevels = 32

// MaxSide is the largest side of a volume. No resolution has more than one precinct of 2^15
// samples along an axis then.
const MaxSide = 1 << 15

// maxVoxels is the most voxels, all components together, of a volume.
const maxVoxels = 1 << 30

// header is what the main header of a codestream says.
type header struct {
	raster.Shape
	Coding
	exponents []int // of the subbands in their order
	guard     int
	transform bool // the first three components were transformed by RCT (15444-1, G.2)
	order     codestream.Order
	layers    int
	style     codestream.BlockStyle
	sop, eph  bool
	space     space
}

// Is says whether a file is a codestream of Part 10: whether CAP, behind SIZ, declares it.
func Is(file []byte) bool {
	const siz = 4 // behind the markers SOC and SIZ
	if len(file) < siz+2 || !bytes.HasPrefix(file, []byte{0xff, 0x4f, 0xff, 0x51}) {
		return false
	}
	end := siz + int(binary.BigEndian.Uint16(file[siz:]))
	return len(file) >= end+8 && binary.BigEndian.Uint16(file[end:]) == uint16(codestream.CAP) &&
		binary.BigEndian.Uint32(file[end+4:])&partTen != 0
}

// check refuses what is not of the standard or not decoded.
func (h *header) check() error {
	if err := h.Shape.Check(); err != nil {
		return codec.Unsupportedf("jpeg2000: the volume: %v", err)
	}
	sum := 0
	for i := range axes {
		if h.BlockExp[i] > 10 {
			return codec.Malformedf("jpeg2000: code-blocks of 2^%d samples along an axis; the most is 2^10", h.BlockExp[i])
		}
		sum += h.BlockExp[i]
	}
	switch {
	case max(h.Width, h.Height, h.Depth) > MaxSide:
		return codec.Unsupportedf("jpeg2000: a volume of %s; at most %d samples along a side are decoded", h.Shape, MaxSide)
	case h.Samples() > maxVoxels:
		return codec.Unsupportedf("jpeg2000: a volume of %s; at most 2^30 samples are decoded", h.Shape)
	case sum > maxBlockExp:
		return codec.Malformedf("jpeg2000: code-blocks of 2^%d samples; the most is 2^%d", sum, maxBlockExp)
	case h.Levels[axisX] > maxLevels || h.Levels[axisZ] > maxLevels:
		return codec.Malformedf("jpeg2000: %d and %d levels of decomposition; the most is %d", h.Levels[axisX], h.Levels[axisZ], maxLevels)
	case h.Levels[axisX] != h.Levels[axisY] || h.Levels[axisZ] > h.Levels[axisX]:
		return codec.Unsupportedf("jpeg2000: a volume with %d, %d and %d levels of decomposition; decoded are as many along x and y, and not more along z",
			h.Levels[axisX], h.Levels[axisY], h.Levels[axisZ])
	case len(h.exponents) != h.Coding.subbands():
		return codec.Malformedf("jpeg2000: QCD has %d exponents for %d subbands", len(h.exponents), h.Coding.subbands())
	}
	return nil
}
