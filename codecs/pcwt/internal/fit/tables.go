package fit

import (
	"math"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/model"
)

// Counts says how often tokens come, by table.
type Counts [constants.TableCount][constants.Tokens]float64

// Count adds the tokens of a plane whose residuals are known.
func (c *Counts) Count(p *Plane, set *constants.Set, side int) {
	t := model.NewTile(side)
	for level := len(p.Levels) - 1; level >= 0; level-- {
		n := p.Neighbours(level)
		columns, rows := n.Own.Tiles(side)
		for k := range columns * rows {
			tx, ty := k%columns, k/columns
			t.Start(n, tx, ty, constants.LevelClass(level+1), set, 0)
			walk(t, n, tx, ty, side, func(band, y, parity, count int) {
				t.HalfRow(y, parity)
				b := &n.Own.Bands[band]
				at := (ty*side+y)*b.W + tx*side + parity
				for j := range count {
					s := model.MakeSymbol(int32(b.E[at+2*j]), t.Fractions[j], t.Contexts[j])
					c[s.Table][s.Token]++
				}
			})
		}
	}
}

// Add adds other counts.
func (c *Counts) Add(o *Counts) {
	for i := range c {
		for k := range c[i] {
			c[i][k] += o[i][k]
		}
	}
}

// Tables makes tables of counts, each smoothed by its neighbours.
func (c *Counts) Tables(out *[constants.TableCount]constants.Table) {
	for i := range c {
		var smooth [constants.Tokens]float64
		q := i % constants.Contexts
		for t := range smooth {
			smooth[t] = c[i][t] + .01
			if q > 1 {
				smooth[t] += float64(.02 * c[i-1][t])
			}
			if q > 0 && q < constants.Contexts-1 {
				smooth[t] += float64(.02 * c[i+1][t])
			}
		}
		out[i] = normalize(&smooth)
	}
}

func normalize(c *[constants.Tokens]float64) (t constants.Table) {
	all := 0.
	for _, v := range c {
		all += v
	}
	left, most := 1<<constants.Bits, 0
	for i, v := range c {
		f := 1 + int(v/all*(1<<constants.Bits-constants.Tokens))
		t[i] = uint16(f)
		left -= f
		if t[i] > t[most] {
			most = i
		}
	}
	t[most] += uint16(left)
	return t
}

// Bits is what the tokens cost with tables.
func (c *Counts) Bits(tables *[constants.TableCount]constants.Table) float64 {
	n := 0.
	for i := range c {
		for t, v := range c[i] {
			if v > 0 {
				n += float64(v * (constants.Bits - math.Log2(float64(tables[i][t]))))
			}
		}
	}
	return n
}
