package fit

import (
	"math"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
)

// Own makes a set of a file's own for planes, and its description. The set's weights are those
// that the description gives back, and its tables are fitted to them.
func Own(planes []*Plane, o Options) ([]byte, *constants.Set) {
	steps := constants.Steps{Predict: 5, Scale: 5}
	set := Fit(planes, o)
	contexts := constants.Contexts
	if o.Form&constants.TableFractions != 0 {
		contexts *= constants.Fractions
	}
	_, rounded := constants.Write(set, o.Form, steps, make(constants.Shape, contexts))
	if !o.Fast {
		Residuals(planes, rounded, o.Side, o.Each)
	}
	parts := make([]Counts, len(planes))
	o.Each(len(planes), func(i int) { parts[i].Count(planes[i], rounded, o.Side) })
	counts := &parts[0]
	for i := range parts[1:] {
		counts.Add(&parts[1+i])
	}
	return constants.Write(rounded, o.Form, steps, counts.shape(o.Form, o.Fast))
}

// shape describes tables for counts. The table of the format stays where it costs less.
func (c *Counts) shape(form constants.Form, fast bool) constants.Shape {
	merged := c
	n := constants.TableCount
	if form&constants.TableFractions == 0 {
		n = constants.Contexts
		merged = new(Counts)
		for i := range c {
			for t, v := range c[i] {
				merged[i%n][t] += v
			}
		}
	}
	shape := make(constants.Shape, n)
	base := constants.Format(0, fast)
	for i := range shape {
		logs := logsOf(&merged[i])
		if logs == nil {
			continue
		}
		own := constants.TableOf(logs)
		gain := Cost(&merged[i], &base.Tables[i]) - Cost(&merged[i], &own)
		if gain > float64(8+4*len(logs)) {
			shape[i] = logs
		}
	}
	return shape
}

// logsOf are the logarithms of counts in steps of a quarter, the greatest 60.
func logsOf(c *[constants.Tokens]float64) []uint8 {
	most, n := 0., 0
	for t, v := range c {
		most = max(most, v)
		if v > 0 {
			n = t + 1
		}
	}
	if n == 0 {
		return nil
	}
	logs := make([]uint8, n)
	top := quarters(most)
	for t := range logs {
		if c[t] > 0 {
			logs[t] = uint8(max(60-(top-quarters(c[t])), 1))
		}
	}
	return logs
}

// quarters is log2 of v in quarters, rounded, by comparisons only, so that it is the same
// on every machine.
func quarters(v float64) int {
	f, e := math.Frexp(v) // f from 1/2 on
	n := 4 * (e - 1)
	for _, limit := range [...]float64{0.5452538663326288, 0.6484197773255048, 0.7711054127039704, 0.9170040432046712} {
		if f >= limit { // 2^(k/8) / 2 for k = 1, 3, 5, 7
			n++
		}
	}
	return n
}

// Cost is what counts take with a table, in bits.
func Cost(c *[constants.Tokens]float64, t *constants.Table) float64 {
	n := 0.
	for k, v := range c {
		if v > 0 {
			n += float64(v * (constants.Bits - log2(t[k])))
		}
	}
	return n
}

// log2 is the logarithm to 10 bits, by squaring, for the same reason.
func log2(f uint16) float64 {
	m, e := math.Frexp(float64(f))
	n, bit := float64(e-1), .5
	m *= 2
	for range 10 {
		m = float64(m * m)
		if m >= 2 {
			m /= 2
			n += bit
		}
		bit /= 2
	}
	return n
}
