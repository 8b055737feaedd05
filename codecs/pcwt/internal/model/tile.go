package model

import (
	"math/bits"
	"sync"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
)

// place is a term as the kernels take it: where its cell is from the start of the row
// on, for index 0 of a half row.
type place struct {
	at    int32
	minus bool
}

// program is the taps or features of a band for the columns of one parity.
type program struct {
	sums [][]place
	code []int32 // for the kernel
}

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
	texture   []uint8   // even and odd columns of each row apart
	direction []uint8   // the same
	line      []int16   // a row on its way into the workspace
	parents   []int16   // the rows of the parent's window, coefficients and magnitudes of each
	edges     [4][2]int // columns beside the band and those that stand for them, from the start of a part's field on

	tapSums     [constants.Slots][lanes]int16
	featureSums [constants.Slots + 1][lanes]int16

	// Results of HalfRow, by the index in the half row. A fraction is f of README.md.
	Predictions, Fractions, Contexts []int32

	sites sites // of the sums, for Site

	taken [constants.Slots]int16
}

// layout is what tiles of one side have in common.
type layout struct {
	taps      [3][constants.Bands][2]program // by the number of earlier planes
	features  [2][3][constants.Bands][2]program
	low       [2][3][constants.Bands][]bool // features of the low band
	gradients [2][4][][2]int
	textures  [2][]int32 // the same for the kernel
}

var layouts = func() (out [3]func() *layout) {
	for i := range out {
		out[i] = sync.OnceValue(func() *layout { return newLayout(64 << i) })
	}
	return out
}()

func newLayout(side int) *layout {
	l := new(layout)
	w := newWorkspace(side)
	for earlier := range 3 {
		for b := range constants.Bands {
			for p := range 2 {
				l.taps[earlier][b][p] = w.program(taps(b, earlier), p)
				for k, fast := range []bool{false, true} {
					list, low := features(b, earlier, fast)
					l.features[k][earlier][b][p] = w.program(list, p)
					l.low[k][earlier][b] = low
				}
			}
		}
	}
	for p := range 2 {
		for i, list := range gradients {
			for _, d := range list {
				a, b := w.offset(plus(fieldLL, d.x0, d.y0), p), w.offset(plus(fieldLL, d.x1, d.y1), p)
				l.gradients[p][i] = append(l.gradients[p][i], [2]int{a, b})
				l.textures[p] = append(l.textures[p], int32(2*a), int32(2*b))
			}
		}
	}
	return l
}

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

// Beyond is how many results HalfRow may write behind those of a half row.
const Beyond = 8

func (w *workspace) program(list []sum, parity int) program {
	if len(list) > constants.Slots {
		panic("model: more sums than slots")
	}
	out := program{sums: make([][]place, len(list))}
	for i, s := range list {
		if i == acrossSlot && parity == 0 {
			continue
		}
		for _, m := range s {
			out.sums[i] = append(out.sums[i], place{int32(w.offset(m, parity)), m.minus})
		}
	}
	for i := range constants.Slots {
		if i >= len(list) || len(out.sums[i]) == 0 {
			out.code = append(out.code, 0)
			continue
		}
		out.code = append(out.code, out.head(i, list[i][0].field == fieldLL))
		for _, m := range out.sums[i] {
			out.code = append(out.code, 2*m.at)
		}
	}
	return out
}

// head is what the kernel reads before the terms of a slot: how many there are, or how many
// pairs where every second one is subtracted, times 4; 2 for such pairs; 1 for the low band.
func (p *program) head(slot int, low bool) int32 {
	s := p.sums[slot]
	head := int32(4 * len(s))
	for i, m := range s {
		if m.minus {
			head = int32(2*len(s)) | 2
			if i%2 == 0 || len(s)%2 != 0 {
				panic("model: terms do not alternate")
			}
		} else if s[len(s)-1].minus && i%2 != 0 {
			panic("model: terms do not alternate")
		}
	}
	if low {
		head |= 1
	}
	return head
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

// Band begins with a band and returns the size of its part in the tile.
func (t *Tile) Band(band int) (w, h int) {
	b := &t.n.Own.Bands[band]
	side := t.w.side
	t.band, t.sites = band, noSites
	t.cw, t.ch = max(0, min(side, b.W-t.tx*side)), max(0, min(side, b.H-t.ty*side))
	if t.cw == 0 || t.ch == 0 {
		t.cw, t.ch = 0, 0
		for y := -above; y < side+below; y++ {
			clear(t.w.both(fieldC(band), y))
			clear(t.w.both(fieldM(band), y))
		}
		return 0, 0
	}
	for y := -above; y < 0; y++ {
		clear(t.w.both(fieldC(band), y))
		clear(t.w.both(fieldM(band), y))
	}
	for i, x := range [...]int{-2, -1, t.cw, t.cw + 1} {
		t.edges[i] = [2]int{t.w.column(0, x), t.w.column(0, mirror(x, t.cw))}
	}
	t.loadParent()
	if t.n.Before != nil {
		t.loadEarlier(t.n.Before, fieldVC, fieldVE, fieldVM)
	}
	if t.n.Second != nil {
		t.loadEarlier(t.n.Second, fieldXC, -1, fieldXM)
	}
	return t.cw, t.ch
}

func (t *Tile) loadParent() {
	w := &t.w
	fields := [...]field{fieldPC0, fieldPM0, fieldPC1, fieldPM1}
	if t.n.Parent == nil || len(t.n.Parent.Bands[t.band].C) == 0 {
		for y := range t.ch {
			for _, f := range fields {
				clear(w.both(f, y))
			}
		}
		return
	}
	p := &t.n.Parent.Bands[t.band]
	px, py := (t.n.Own.X+t.tx*w.side)>>1-t.n.Parent.X, (t.n.Own.Y+t.ty*w.side)>>1-t.n.Parent.Y
	row := t.line[:w.side/2+2]
	parent := func(y int) []int16 { return t.parents[2*w.part*(y+1):][:2*w.part] }
	for y := -1; y <= (t.ch+1)/2; y++ {
		at := clamp(py+y, p.H) * p.W
		out := parent(y)
		clampRow(row, p.C[at:at+p.W], px-1)
		copy(out[pad-1:], row)
		clampRow(row, p.E[at:at+p.W], px-1)
		magnitudes(out[w.part+pad-1:w.part+pad-1+len(row)], row)
	}
	for y := range t.ch {
		for i, r := range [...]int{y >> 1, y>>1 - 1 + 2*(y&1)} {
			from := parent(r)
			copy(w.both(fields[2*i], y), from[:w.part])
			copy(w.both(fields[2*i+1], y), from[w.part:])
		}
	}
}

// magnitudesGo stores the magnitudes of residuals.
func magnitudesGo(out, e []int16) {
	for i, v := range e {
		out[i] = magnitude(v)
	}
}

// loadEarlier fills fields c, e (unless it is -1) and m with a band of an earlier plane.
func (t *Tile) loadEarlier(l *Level, c, e, m field) {
	w, p := &t.w, &l.Bands[t.band]
	row := t.line[:t.cw+2]
	x0, y0 := t.n.Own.X-l.X+t.tx*w.side, t.n.Own.Y-l.Y+t.ty*w.side
	for y := -1; y <= t.ch; y++ {
		at := clamp(y0+y, p.H) * p.W
		clampRow(row, p.C[at:at+p.W], x0-1)
		w.splitRow(c, -1, y, row)
		clampRow(row, p.E[at:at+p.W], x0-1)
		if e >= 0 {
			w.splitRow(e, -1, y, row)
		}
		magnitudes(row, row)
		w.splitRow(m, -1, y, row)
	}
}

// HalfRow computes Predictions, Fractions and Contexts of the columns of a parity of
// row y, and returns how many there are.
func (t *Tile) HalfRow(y, parity int) int {
	t.sites = noSites
	n := (t.cw + 1 - parity) / 2
	earlier, kind := t.n.earlier(), 0
	if t.fast {
		kind = 1
	}
	h := halfRow{
		y: y, at: y*t.w.side + parity*t.w.side/2, n: n,
		taps: &t.taps[earlier][t.band][parity], features: &t.features[kind][earlier][t.band][parity], low: t.low[kind][earlier][t.band],
		predictKey: constants.PredictKey(t.level, t.band, y, parity), scaleKey: constants.ScaleKey(t.level, t.band, y, parity),
	}
	if hasAVX2 && n > 0 {
		t.halfRowVector(&h)
	} else {
		t.halfRowGo(&h)
	}
	return n
}

// halfRow is a call of HalfRow.
type halfRow struct {
	y, n                 int
	at                   int // of the textures
	taps, features       *program
	low                  []bool
	predictKey, scaleKey int
}

func (t *Tile) halfRowGo(h *halfRow) {
	for j := range h.n {
		texture, direction := 0, 0
		if !t.fast {
			texture, direction = int(t.texture[h.at+j]), int(t.direction[h.at+j])
			t.take(h.taps, h.y, j)
			t.Predictions[j], t.Fractions[j] = Predict(&t.taken, &t.set.Predict[h.predictKey+texture], t.qmin)
		} else {
			t.Predictions[j], t.Fractions[j] = 0, 0
		}
		t.take(h.features, h.y, j)
		for i, low := range h.low {
			t.taken[i] = abs(t.taken[i])
			if low {
				t.taken[i] >>= t.qmin
			}
		}
		key := h.scaleKey + direction
		t.Contexts[j] = int32(Scale(&t.taken, &t.set.Scale[key], t.set.Bias[key]))
	}
}

// lanes is how many indices the kernels take at a time.
const lanes = 32

// halfRowVector is halfRowGo by kernels. They write up to seven results more.
func (t *Tile) halfRowVector(h *halfRow) {
	for first := 0; first < h.n; first += lanes {
		cells := &t.w.cells[t.w.row(h.y)+first]
		eights := uint64(min(lanes, h.n-first)+7) / 8
		if !t.fast {
			sumsAVX2(&t.tapSums[0][0], cells, &h.taps.code[0], 0, 0)
			dotsAVX2(&t.Predictions[first], &t.tapSums[0][0], &t.set.Predict[h.predictKey][0], &t.texture[h.at+first], eights)
			roundAVX2(&t.Predictions[first], &t.Fractions[first], eights, uint64(t.qmin))
		}
		sumsAVX2(&t.featureSums[0][0], cells, &h.features.code[0], 1, uint64(t.qmin))
		if t.fast {
			uniformAVX2(&t.Contexts[first], &t.featureSums[0][0], &t.set.Scale[h.scaleKey][0], uint64(len(h.low)+1)/2)
		} else {
			dotsAVX2(&t.Contexts[first], &t.featureSums[0][0], &t.set.Scale[h.scaleKey][0], &t.direction[h.at+first], eights)
		}
		contextsAVX2(&t.Contexts[first], &t.featureSums[constants.Slots][0], &t.direction[h.at+first], &t.set.Bias[h.scaleKey], eights)
	}
}

// take computes the sums of a program for index j of row y.
func (t *Tile) take(p *program, y, j int) {
	base := t.w.row(y) + j
	t.taken = [constants.Slots]int16{}
	for i, s := range p.sums {
		v := int16(0)
		for _, m := range s {
			if m.minus {
				v = subs(v, t.w.cells[base+int(m.at)])
			} else {
				v = adds(v, t.w.cells[base+int(m.at)])
			}
		}
		t.taken[i] = v
	}
}

// Predict returns the prediction from taps and weights, and its fraction.
func Predict(taps, weights *constants.Weights, qmin uint) (prediction, fraction int32) {
	p := int32(0)
	for i, t := range taps {
		p += int32(t) * int32(weights[i])
	}
	r := (p + 2048<<qmin) >> (12 + qmin)
	return min(max(r, -MaxPrediction), MaxPrediction), p>>qmin - r<<12
}

// MaxPrediction is the largest prediction.
const MaxPrediction = 16383

// Scale returns the context from features and weights, q offsets not added: 0 where all
// features are 0.
func Scale(features, weights *constants.Weights, bias int32) int {
	s, any := bias, int16(0)
	for i, f := range features {
		s += int32(f) * int32(weights[i])
		any |= f
	}
	if any == 0 {
		return 0
	}
	m := uint32(max(s>>4, 13))
	g := bits.Len32(m) - 1
	return max(1, 4*g+int(m<<2>>g&3)-14)
}

// Put gives the coefficients and residuals of the columns of a parity of row y, both
// saturated. After the odd columns of a row its cells beside the band are filled too.
func (t *Tile) Put(y, parity int, c, e []int16) {
	coefficients, cells := t.Cells(y, parity)
	copy(coefficients, c)
	magnitudes(cells[:len(e)], e)
	t.PutCells(y, parity)
}

// Cells are where coefficients, saturated, and magnitudes of the columns of a parity of row y belong. [Beyond] more than
// there are columns may be written.
func (t *Tile) Cells(y, parity int) (c, m []int16) {
	n := t.w.side/2 + Beyond
	return t.w.cells[t.w.at(fieldC(t.band), parity, y):][:n:n], t.w.cells[t.w.at(fieldM(t.band), parity, y):][:n:n]
}

// PutCells is Put where [Tile.Cells] have been filled.
func (t *Tile) PutCells(y, parity int) {
	t.sites = noSites
	w := &t.w
	for _, f := range [...]field{fieldC(t.band), fieldM(t.band)} {
		cells := w.cells[w.row(y)+2*int(f)*w.part:][:2*w.part]
		for _, e := range t.edges {
			cells[e[0]] = cells[e[1]]
		}
	}
	if y == 0 && parity == 1 {
		copy(w.both(fieldC(t.band), -1), w.both(fieldC(t.band), 0))
		copy(w.both(fieldM(t.band), -1), w.both(fieldM(t.band), 0))
	}
}

// EndBand ends a band, whose last row bands after it repeat below.
func (t *Tile) EndBand() {
	for y := t.ch; y < t.ch+2; y++ {
		copy(t.w.both(fieldC(t.band), y), t.w.both(fieldC(t.band), t.ch-1))
		copy(t.w.both(fieldM(t.band), y), t.w.both(fieldM(t.band), t.ch-1))
	}
}

// Site is what fitting weights wants to know of a coefficient.
type Site struct {
	PredictKey, ScaleKey int
	Taps, Features       constants.Weights
	At                   int // in the band
}

// Site describes index j of the columns of a parity of row y.
func (t *Tile) Site(s *Site, y, parity, j int) {
	earlier, kind, texture := t.n.earlier(), 0, 0
	if t.fast {
		kind = 1
	} else {
		texture = int(t.texture[y*t.w.side+parity*t.w.side/2+j])
	}
	taps, features := &t.taps[earlier][t.band][parity], &t.features[kind][earlier][t.band][parity]
	if hasAVX2 {
		t.sitesVector(taps, features, y, parity, j-j%lanes)
		for i := range constants.Slots {
			s.Taps[i], s.Features[i] = t.tapSums[i][j%lanes], t.featureSums[i][j%lanes]
		}
	} else {
		if !t.fast {
			t.take(taps, y, j)
			s.Taps = t.taken
		}
		t.take(features, y, j)
		for i := range t.taken {
			t.taken[i] = abs(t.taken[i])
		}
		s.Features = t.taken
	}
	s.PredictKey = constants.PredictKey(t.level, t.band, y, parity) + texture
	s.ScaleKey = constants.ScaleKey(t.level, t.band, y, parity) + texture/(constants.Diagonals*constants.Activities)
	s.At = (t.ty*t.w.side+y)*t.n.Own.Bands[t.band].W + t.tx*t.w.side + 2*j + parity
}

// sites says of which indices the sums of a tile are.
type sites struct{ y, parity, first int }

var noSites = sites{-1, -1, -1}

// sitesVector computes the sums of 32 indices, unless the last call was for them.
func (t *Tile) sitesVector(taps, features *program, y, parity, first int) {
	if of := (sites{y, parity, first}); t.sites != of {
		cells := &t.w.cells[t.w.row(y)+first]
		if !t.fast {
			sumsAVX2(&t.tapSums[0][0], cells, &taps.code[0], 0, 0)
		}
		sumsAVX2(&t.featureSums[0][0], cells, &features.code[0], 1, 0)
		t.sites = of
	}
}
