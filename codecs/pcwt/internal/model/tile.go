package model

import "github.com/pelmill/pelmill/codecs/pcwt/internal/constants"

// Tile goes over the coefficients of tiles. It belongs to one goroutine.
//
// For each tile the caller calls Start; for each band Band, and where that has
// coefficients, for each row and both parities HalfRow and Put, and at last EndBand.
type Tile struct {
	w    workspace
	set  *constants.Set
	fast bool
	qmin uint

	n      *Neighbours
	tx, ty int
	level  int // its class
	band   int
	cw, ch int // of the band's part
	*layout
	texture      []uint8   // even and odd columns of each row apart
	direction    []uint8   // the same
	line         []int16   // a row on its way into the workspace
	parents      []int16   // the rows of the parent's window, magnitudes and coefficients of each
	cellsAt      int       // of the coefficients of the band: where column 0 of row 0 is
	toMagnitudes int       // from a coefficient to its magnitude
	edges        [4][2]int // columns beside the band and those that stand for them, from the start of a part's field on

	bandCalls   [2]bandCall // of the band, by parity
	tapSums     [constants.Slots][lanes]int16
	featureSums [constants.Slots + 1][lanes]int16

	// Results of HalfRow, by the index in the half row. A fraction is f of README.md.
	Predictions, Fractions, Contexts []int32

	sites sites // of the sums, for Site

	taken [constants.Slots]int16
}

// Beyond is how many results HalfRow may write behind those of a half row.
const Beyond = 8

// NewTile makes a tile of a side: 64, 128 or 256.
func NewTile(side int) *Tile {
	t := &Tile{w: newWorkspace(side), layout: layouts[side/128]()}
	t.texture, t.direction = make([]uint8, side*side), make([]uint8, side*side)
	t.line, t.parents = make([]int16, 2*side), make([]int16, 2*t.w.part*(side/2+2))
	for _, out := range []*[]int32{&t.Predictions, &t.Fractions, &t.Contexts} {
		*out = make([]int32, side/2+Beyond)
	}
	return t
}

// Start begins with tile (tx, ty) of a level, whose class is given, coded with set.
func (t *Tile) Start(n *Neighbours, tx, ty, levelClass int, set *constants.Set, qmin uint) {
	t.n, t.tx, t.ty, t.level, t.set, t.qmin = n, tx, ty, levelClass, set, qmin
	if set.Predict == nil {
		if !t.fast {
			clear(t.direction)
			clear(t.Predictions)
			clear(t.Fractions)
		}
		t.fast = true
		return
	}
	t.fast = false
	w, l := &t.w, n.Own
	row := t.line[:w.side+5]
	x0, y0, width := l.X-l.Low.Min.X+tx*w.side, l.Y-l.Low.Min.Y+ty*w.side, l.Low.Dx()
	for y := -above; y < w.side+below; y++ {
		src := l.LL[clamp(y0+y, l.Low.Dy())*width:][:width]
		clampRow(row, src, x0-2)
		w.splitRow(fieldLL, -2, y, row)
	}
	for y := range min(w.side, l.H-ty*w.side) {
		t.textureRow(y, 0)
		t.textureRow(y, 1)
	}
}

// Release lets go of what Start was given.
func (t *Tile) Release() { t.n, t.set, t.fast = nil, nil, false }

// clampRow fills out with src[first], src[first+1] ..., the nearest where there is none.
func clampRow(out, src []int16, first int) {
	lo, hi := min(max(-first, 0), len(out)), min(max(len(src)-first, 0), len(out))
	for i := range lo {
		out[i] = src[0]
	}
	if lo < hi {
		copy(out[lo:hi], src[first+lo:])
	}
	for i := max(lo, hi); i < len(out); i++ {
		out[i] = src[len(src)-1]
	}
}
