package model

import (
	"math/bits"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
)

// HalfRow computes Predictions, Fractions and Contexts of the columns of a parity of
// row y, and returns how many there are.
func (t *Tile) HalfRow(y, parity int) int {
	t.sites = noSites
	n := (t.cw + 1 - parity) / 2
	switch {
	case n == 0:
	case hasAVX2:
		t.halfRowVector(y, parity, n)
	default:
		t.halfRowGo(t.halfRow(y, parity, n))
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

func (t *Tile) halfRow(y, parity, n int) *halfRow {
	earlier, kind := t.n.earlier(), 0
	if t.fast {
		kind = 1
	}
	return &halfRow{
		y: y, at: y*t.w.side + parity*t.w.side/2, n: n,
		taps: &t.taps[earlier][t.band][parity], features: &t.features[kind][earlier][t.band][parity], low: t.low[kind][earlier][t.band],
		predictKey: constants.PredictKey(t.level, t.band, y, parity), scaleKey: constants.ScaleKey(t.level, t.band, y, parity),
	}
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

// halfRowCall is what the kernel of HalfRow takes. Its layout is that of vector_amd64.s.
type halfRowCall struct {
	cells                            *int16 // of the row
	taps, features                   *int32 // programs, of taps nil without prediction
	tapSums, featureSums             *int16
	predict, scale                   *int16 // weights of the first texture and direction
	bias                             *int32
	textures, directions             *uint8
	predictions, fractions, contexts *int32
	n, qmin, pairs                   uint64 // indices; pairs of features, where there are no taps
}

// halfRowVector is halfRowGo by a kernel, which may write Beyond results more.
func (t *Tile) halfRowVector(y, parity, n int) {
	b := &t.bandCalls[parity]
	rowClass := min(y, 1)
	at := y*t.w.side + parity*t.w.side/2
	// Fields are set one by one: a literal would be made elsewhere and copied in parts greater than those it was written in, for which the
	// processor waits.
	var c halfRowCall
	c.cells, c.features = &t.w.cells[t.w.row(y)], b.features
	c.tapSums, c.featureSums = &t.tapSums[0][0], &t.featureSums[0][0]
	c.scale, c.bias = &t.set.Scale[b.scale[rowClass]][0], &t.set.Bias[b.scale[rowClass]]
	c.predictions, c.fractions, c.contexts = &t.Predictions[0], &t.Fractions[0], &t.Contexts[0]
	c.n, c.qmin, c.pairs = uint64(n), uint64(t.qmin), b.pairs
	if !t.fast {
		c.taps, c.predict = b.taps, &t.set.Predict[b.predict[rowClass+y&rowClass]][0]
		c.textures, c.directions = &t.texture[at], &t.direction[at]
	}
	halfRowAVX2(&c)
}

// bandCall is what halves of all rows of a band have in common.
type bandCall struct {
	taps, features *int32
	predict        [3]int // keys of the first row, the other even ones, and the odd ones
	scale          [2]int // keys of the first row and the others
	pairs          uint64
}

// startCalls prepares the calls of a band.
func (t *Tile) startCalls() {
	for parity := range t.bandCalls {
		h := t.halfRow(0, parity, 0)
		b := &t.bandCalls[parity]
		b.taps, b.features, b.pairs = &h.taps.code[0], &h.features.code[0], uint64(len(h.low)+1)/2
		for y := range b.predict {
			// Rows 0, 2 and 1 stand for the classes.
			b.predict[y] = constants.PredictKey(t.level, t.band, []int{0, 2, 1}[y], parity)
		}
		for y := range b.scale {
			b.scale[y] = constants.ScaleKey(t.level, t.band, y, parity)
		}
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
