package model

import "github.com/pelmill/pelmill/codecs/pcwt/internal/constants"

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
