// Package fit makes constants of profile 1 of PCWT from images: weights by least squares, and tables from
// counts. The command train makes the format's own with it, and the encoder those of a
// file. Sums are of float64 in a fixed order without fused operations, so that equal
// images give equal constants on every machine.
package fit

import (
	"math"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/model"
)

// Plane is a plane of an image with its levels, the finest first. The planes that it looks
// at may be nil; their residuals are final.
type Plane struct {
	Levels         []*model.Level
	Before, Second *Plane

	scale [][constants.Bands][]float32 // estimates of |residual|
}

// Neighbours are those of a level, counted from 0.
func (p *Plane) Neighbours(level int) *model.Neighbours {
	n := &model.Neighbours{Own: p.Levels[level]}
	if level+1 < len(p.Levels) {
		n.Parent = p.Levels[level+1]
	}
	if p.Before != nil {
		n.Before = p.Before.Levels[level]
	}
	if p.Second != nil {
		n.Second = p.Second.Levels[level]
	}
	return n
}

// Options say what to fit.
type Options struct {
	Fast       bool
	Form       constants.Form
	Side       int
	Thresholds [constants.Activities - 1]int16
	Rounds     int     // of prediction and scale in turn
	Reweigh    bool    // fit the scale once more, weighted by itself
	Shrink     float64 // samples that the mean of a group counts as, for each of its keys
	Every      int     // of the tiles of the first level, one in Every is looked at
	Each       func(n int, f func(i int))
}

// fitter is one fit.
type fitter struct {
	o      Options
	planes []*Plane
	set    *constants.Set
}

// Fit returns a set for planes, but for its tables. The residuals of the planes become those of the set.
func Fit(planes []*Plane, o Options) *constants.Set {
	f := &fitter{o: o, planes: planes, set: &constants.Set{Thresholds: o.Thresholds}}
	if !o.Fast {
		f.set.Predict = new([constants.PredictKeys]constants.Weights)
	}
	for _, p := range planes {
		p.scale = nil
		for _, l := range p.Levels {
			var s [constants.Bands][]float32
			for b := range l.Bands {
				if !o.Fast {
					s[b] = make([]float32, len(l.Bands[b].C))
				}
				copy(l.Bands[b].E, l.Bands[b].C)
			}
			p.scale = append(p.scale, s)
		}
	}
	f.fitScale()
	if !o.Fast {
		for range o.Rounds {
			f.noteScales()
			f.fitPredict()
			Residuals(planes, f.set, o.Side, o.Each)
			f.fitScale()
		}
	}
	for _, p := range planes {
		p.scale = nil
	}
	return f.set
}

// visit calls back for each coefficient of a plane, coarse levels first, of the first level those of some tiles only.
func visit(p *Plane, t *model.Tile, set *constants.Set, side, every int, back func(level, band int, s *model.Site)) {
	var s model.Site
	for level := len(p.Levels) - 1; level >= 0; level-- {
		n := p.Neighbours(level)
		columns, rows := n.Own.Tiles(side)
		for i := range columns * rows {
			if level == 0 && i%every != 0 {
				continue
			}
			t.Start(n, i%columns, i/columns, constants.LevelClass(level+1), set, 0)
			walk(t, n, i%columns, i/columns, side, func(band, y, parity, count int) {
				for j := range count {
					t.Site(&s, y, parity, j)
					back(level, band, &s)
				}
			})
		}
	}
}

// walk goes over the half rows of a tile whose coefficients and residuals are known.
func walk(t *model.Tile, n *model.Neighbours, tx, ty, side int, half func(band, y, parity, count int)) {
	c, e := make([]int16, side/2), make([]int16, side/2)
	for b := range constants.Bands {
		w, h := t.Band(b)
		if h == 0 {
			continue
		}
		plane := &n.Own.Bands[b]
		for y := range h {
			at := (ty*side+y)*plane.W + tx*side
			for parity := range 2 {
				count := (w + 1 - parity) / 2
				half(b, y, parity, count)
				for j := range count {
					c[j], e[j] = plane.C[at+2*j+parity], plane.E[at+2*j+parity]
				}
				t.Put(y, parity, c[:count], e[:count])
			}
		}
		t.EndBand()
	}
}

// gather adds up systems of equations over all planes, in their order.
func (f *fitter) gather(keys int, each func(p *Plane, sys []system, level, band int, s *model.Site)) []system {
	parts := make([][]system, len(f.planes))
	f.o.Each(len(f.planes), func(i int) {
		parts[i] = make([]system, keys)
		visit(f.planes[i], model.NewTile(f.o.Side), f.set, f.o.Side, f.o.Every, func(level, band int, s *model.Site) {
			each(f.planes[i], parts[i], level, band, s)
		})
	})
	total := parts[0]
	for _, p := range parts[1:] {
		for i := range p {
			total[i].add(&p[i], 1)
		}
	}
	return total
}

func (f *fitter) fitScale() {
	passes := 1
	if f.o.Reweigh {
		passes = 2
	}
	for pass := range passes {
		span := spanOf(f.o.Form&constants.ScaleDirections != 0, constants.Directions)
		sums := f.gather(constants.ScaleKeys/span, func(p *Plane, sys []system, level, band int, s *model.Site) {
			var x row
			all := 0.
			for i, v := range s.Features {
				x[i] = float64(v)
				all += x[i]
			}
			if all == 0 {
				return
			}
			x[constants.Slots] = 1
			y := math.Abs(float64(p.Levels[level].Bands[band].E[s.At]))
			weight := 1 / (2 + all)
			if pass > 0 {
				m := f.scaleOf(s)
				y = min(y, 6*m)
				weight = 1 / float64((m+.15)*(m+.15))
			}
			sys[s.ScaleKey/span].sample(&x, y, weight)
		})
		solve(sums, span, constants.Directions, f.o.Shrink, func(key int, w constants.Weights, bias int32) {
			f.set.Scale[key], f.set.Bias[key] = w, bias
		})
	}
}

func spanOf(apart bool, n int) int {
	if apart {
		return 1
	}
	return n
}

// scaleOf is the estimate of |residual|.
func (f *fitter) scaleOf(s *model.Site) float64 {
	m := f.set.Bias[s.ScaleKey]
	for i, v := range f.set.Scale[s.ScaleKey] {
		m += int32(v) * int32(s.Features[i])
	}
	return max(float64(m)/4096, 13./256)
}

func (f *fitter) noteScales() {
	f.o.Each(len(f.planes), func(i int) {
		p := f.planes[i]
		visit(p, model.NewTile(f.o.Side), f.set, f.o.Side, f.o.Every, func(level, band int, s *model.Site) {
			p.scale[level][band][s.At] = float32(f.scaleOf(s))
		})
	})
}

func (f *fitter) fitPredict() {
	span := constants.Textures
	switch {
	case f.o.Form&constants.PredictTextures != 0:
		span = 1
	case f.o.Form&constants.PredictDirections != 0:
		span = constants.Diagonals * constants.Activities
	}
	sums := f.gather(constants.PredictKeys/span, func(p *Plane, sys []system, level, band int, s *model.Site) {
		var x row
		for i, v := range s.Taps {
			x[i] = float64(v)
		}
		c := float64(p.Levels[level].Bands[band].C[s.At])
		m := max(float64(p.scale[level][band][s.At]), .1)
		sys[s.PredictKey/span].sample(&x, c, 1/float64(m*max(m, math.Abs(c)/2)))
	})
	solve(sums, span, constants.Textures, f.o.Shrink, func(key int, w constants.Weights, _ int32) {
		f.set.Predict[key] = w
	})
}

// Plain makes the residuals of planes their coefficients, as where nothing is predicted.
func Plain(planes []*Plane) {
	for _, p := range planes {
		for _, l := range p.Levels {
			for b := range l.Bands {
				copy(l.Bands[b].E, l.Bands[b].C)
			}
		}
	}
}

// Residuals computes the residuals of planes.
func Residuals(planes []*Plane, set *constants.Set, side int, each func(n int, f func(i int))) {
	each(len(planes), func(i int) {
		t := model.NewTile(side)
		p := planes[i]
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
						b.E[at+2*j] = model.Saturate(int32(b.C[at+2*j]) - t.Predictions[j])
					}
				})
			}
		}
	})
}
