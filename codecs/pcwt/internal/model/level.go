// Package model computes what profile 1 of PCWT knows of a coefficient before it is
// coded: the prediction of its value and the context of its scale. Fields, taps, features
// and textures are those of README.md of package pcwt.
//
// A [Tile] computes for half a row at a time. Encoder and decoder do the same with it;
// only the encoder has the coefficients beforehand.
package model

import "github.com/pelmill/pelmill/codecs/pcwt/internal/constants"

// MaxMagnitude is the largest magnitude that features add up.
const MaxMagnitude = 8191

// Band is one subband of a level.
type Band struct {
	W, H int
	C    []int16 // coefficients, saturated, row after row
	E    []int16 // residuals, saturated
}

// Level is what the model reads and writes of one level of a plane.
type Level struct {
	W, H  int     // of the low band
	LL    []int16 // the low band, saturated
	Bands [constants.Bands]Band
}

// NewLevel allocates a level of a plane of w x h samples.
func NewLevel(w, h int) *Level {
	l := &Level{W: (w + 1) / 2, H: (h + 1) / 2}
	l.LL = make([]int16, l.W*l.H)
	for b, size := range [constants.Bands][2]int{{w / 2, l.H}, {l.W, h / 2}, {w / 2, h / 2}} {
		n := size[0] * size[1]
		l.Bands[b] = Band{W: size[0], H: size[1], C: make([]int16, n), E: make([]int16, n)}
	}
	return l
}

// Tiles is the number of columns and rows of tiles of a side.
func (l *Level) Tiles(side int) (columns, rows int) {
	return (l.W + side - 1) / side, (l.H + side - 1) / side
}

// Neighbours are the levels that a tile's coefficients depend on. Those that do not
// exist, or that the plane does not look at, are nil.
type Neighbours struct {
	Own    *Level
	Parent *Level // of the next coarser level
	Before *Level // of the plane before
	Second *Level // of the plane before that
}

func (n *Neighbours) earlier() int {
	switch {
	case n.Second != nil:
		return 2
	case n.Before != nil:
		return 1
	}
	return 0
}

func saturate(v int32) int16 { return int16(min(max(v, -32768), 32767)) }

// Saturate is v in the range of 16 bits.
func Saturate(v int32) int16 { return saturate(v) }

func magnitude(e int16) int16 { return int16(min(max(int32(e), -int32(e)), MaxMagnitude)) }
