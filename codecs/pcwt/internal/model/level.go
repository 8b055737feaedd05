// Package model computes what profile 1 of PCWT knows of a coefficient before it is
// coded: the prediction of its value and the context of its scale. Fields, taps, features
// and textures are those of README.md of package pcwt.
//
// A [Tile] computes for half a row at a time. Encoder and decoder do the same with it;
// only the encoder has the coefficients beforehand.
package model

import (
	"image"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
)

// MaxMagnitude is the largest magnitude that features add up.
const MaxMagnitude = 8191

// Band is one subband of a level.
type Band struct {
	W, H int
	C    []int16 // coefficients, saturated, row after row
	E    []int16 // residuals, saturated
}

// Same says whether residuals are the coefficients themselves, in one array: see [NewLevelIn].
func (b *Band) Same() bool { return len(b.C) > 0 && &b.C[0] == &b.E[0] }

// Level is what the model reads and writes of one level of a plane, or of a window of it: of
// some of its tiles. Tiles and the cells of bands are counted from the window's corner.
type Level struct {
	X, Y  int // where the window begins in the low band, a corner of a tile
	W, H  int // of the window
	Bands [constants.Bands]Band

	Low image.Rectangle // the part of the low band that is here: the window and what its tiles read beside it
	LL  []int16         // that part, saturated, row after row
}

// Memory is an array whose parts become the cells of levels. What is in them is whatever was there before.
type Memory struct{ cells []int16 }

// NewMemory takes an array.
func NewMemory(cells []int16) *Memory { return &Memory{cells} }

// Take is a part of n cells: of the array, or of a new one where that is used up.
func (m *Memory) Take(n int) []int16 {
	if m == nil || n > len(m.cells) {
		return make([]int16, n)
	}
	out := m.cells[:n:n]
	m.cells = m.cells[n:]
	return out
}

// NewLevel allocates a level of a plane of w x h samples.
func NewLevel(w, h int) *Level { return NewLevelIn(nil, w, h, true) }

// NewLevelIn is NewLevel in a memory, if that is not nil. Without residuals of their own bands have their coefficients as such, which
// they are where these are neither predicted nor quantized.
func NewLevelIn(m *Memory, w, h int, residuals bool) *Level {
	low := image.Rect(0, 0, (w+1)/2, (h+1)/2)
	return newWindow(m, w, h, low, low, residuals)
}

// NewWindow allocates a window of a level of a plane of w x h samples. low holds the window and three
// cells more at all sides, where the level has them.
func NewWindow(w, h int, window, low image.Rectangle) *Level {
	return newWindow(nil, w, h, window, low, true)
}

func newWindow(m *Memory, w, h int, window, low image.Rectangle, residuals bool) *Level {
	l := &Level{X: window.Min.X, Y: window.Min.Y, W: window.Dx(), H: window.Dy(), Low: low}
	l.LL = m.Take(low.Dx() * low.Dy())
	bw, bh := min(window.Max.X, w/2)-window.Min.X, min(window.Max.Y, h/2)-window.Min.Y
	for b, size := range [constants.Bands][2]int{{bw, l.H}, {l.W, bh}, {bw, bh}} {
		n := size[0] * size[1]
		c := m.Take(n)
		e := c
		if residuals {
			e = m.Take(n)
		}
		l.Bands[b] = Band{W: size[0], H: size[1], C: c, E: e}
	}
	return l
}

// Tiles is the number of columns and rows of tiles of a side in the window.
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

// Magnitude is that of a saturated residual.
func Magnitude(e int16) int16 { return magnitude(e) }

func magnitude(e int16) int16 { return int16(min(max(int32(e), -int32(e)), MaxMagnitude)) }
