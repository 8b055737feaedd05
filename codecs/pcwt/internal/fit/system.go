package fit

import (
	"math"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
)

const unknowns = constants.Slots + 1 // the last is the bias

type row [unknowns]float64

// system is the normal equations of weighted least squares; of the matrix the upper
// triangle is kept.
type system struct {
	a     [unknowns]row
	b     row
	count float64
}

func (s *system) sample(x *row, y, weight float64) {
	for i, v := range x {
		if v == 0 {
			continue
		}
		v *= weight
		a := &s.a[i]
		for j := i; j < unknowns; j++ {
			a[j] += float64(v * x[j])
		}
		s.b[i] += float64(v * y)
	}
	s.count++
}

func (s *system) add(o *system, factor float64) {
	for i := range s.a {
		for j := i; j < unknowns; j++ {
			s.a[i][j] += float64(o.a[i][j] * factor)
		}
		s.b[i] += float64(o.b[i] * factor)
	}
	s.count += float64(o.count * factor)
}

// solve gives the weights of each key from the equations of each span of keys. Spans of a group are
// drawn to their mean, which counts as so many samples.
func solve(sums []system, span, group int, shrink float64, result func(key int, w constants.Weights, bias int32)) {
	spans := group / span
	for g := 0; g < len(sums); g += spans {
		var all system
		for i := g; i < g+spans; i++ {
			all.add(&sums[i], 1)
		}
		if all.count == 0 {
			continue
		}
		for i := g; i < g+spans; i++ {
			s := sums[i]
			if spans > 1 {
				s.add(&all, shrink/all.count)
			}
			w, bias := weights(s.solution())
			for j := range span {
				result(i*span+j, w, bias)
			}
		}
	}
}

// solution solves the equations by elimination; unknowns without samples are 0.
func (s *system) solution() (x row) {
	var m [unknowns]row
	b := s.b
	for i := range m {
		for j := i; j < unknowns; j++ {
			m[i][j], m[j][i] = s.a[i][j], s.a[i][j]
		}
		m[i][i] += float64(m[i][i]*1e-6) + 1e-9
	}
	for i := range m {
		for r := i + 1; r < unknowns; r++ {
			q := m[r][i] / m[i][i]
			if q == 0 {
				continue
			}
			for c := i; c < unknowns; c++ {
				m[r][c] -= float64(q * m[i][c])
			}
			b[r] -= float64(q * b[i])
		}
	}
	for i := unknowns - 1; i >= 0; i-- {
		v := b[i]
		for c := i + 1; c < unknowns; c++ {
			v -= float64(m[i][c] * x[c])
		}
		if s.a[i][i] > 0 && m[i][i] > 0 {
			x[i] = v / m[i][i]
		}
	}
	return x
}

// mostWeights is below the format's limit, so that weights may be rounded up.
const mostWeights = constants.MaxWeights - 2048

// weights rounds a solution to 1/4096.
func weights(x row) (w constants.Weights, bias int32) {
	all := 0.
	for i := range w {
		all += math.Abs(float64(x[i] * 4096))
	}
	factor := 4096.
	if all > mostWeights {
		factor = 4096 * mostWeights / all
	}
	limit := func(v, most float64) float64 { return math.Floor(min(max(v, -most), most) + .5) }
	for i := range w {
		w[i] = int16(limit(float64(x[i]*factor), 30000))
	}
	return w, int32(limit(float64(x[constants.Slots]*4096), constants.MaxBias/2))
}
