package report

import "math"

// histogram counts values in bins of one width; what lies outside is in the first or the
// last bin.
type histogram struct {
	low, step float64
	bins      []int64
	n         int64
	min, max  float64
	sum       float64
}

func newHistogram(low, step float64, bins int) histogram {
	return histogram{low: low, step: step, bins: make([]int64, bins), min: math.Inf(1), max: math.Inf(-1)}
}

func (h *histogram) add(v float64) {
	if math.IsNaN(v) {
		return
	}
	i := int(min(max((v-h.low)/h.step, 0), float64(len(h.bins)-1)))
	h.bins[i]++
	h.n++
	h.sum += v
	h.min, h.max = min(h.min, v), max(h.max, v)
}

func (h *histogram) addLog2(v float64) { h.add(math.Log2(v)) }

// quantile is the middle of the bin that the share q of all values does not exceed, but
// nothing outside of them.
func (h *histogram) quantile(q float64) float64 {
	var seen int64
	for i, n := range h.bins {
		if seen += n; n > 0 && float64(seen) >= q*float64(h.n) {
			return min(max(h.low+(float64(i)+0.5)*h.step, h.min), h.max)
		}
	}
	return 0
}

// bar is one of a chart: how many values there are from low to high.
type bar struct {
	low, high float64
	n         int64
}

// mostBars of a chart are told apart.
const mostBars = 48

// bars joins neighbouring bins, from the first with a value to the last, to at most
// mostBars.
func (h *histogram) bars() []bar {
	first, last := -1, -1
	for i, n := range h.bins {
		if n > 0 {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return nil
	}
	each := (last-first)/mostBars + 1
	var out []bar
	for i := first; i <= last; i += each {
		b := bar{low: h.low + float64(i)*h.step, high: h.low + float64(i+each)*h.step}
		for _, n := range h.bins[i:min(i+each, len(h.bins))] {
			b.n += n
		}
		out = append(out, b)
	}
	return out
}
