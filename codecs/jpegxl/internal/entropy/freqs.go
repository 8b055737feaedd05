package entropy

import (
	mathbits "math/bits"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
)

// distribution is the frequencies of a cluster in a form that [readFreqs] reads.
type distribution struct {
	freqs []uint16
	shift int // precision of the general form
	omit  int // the symbol whose frequency is not sent in the general form
}

// chooseFreqs approximates counts by frequencies with the precision that costs least,
// the frequencies included.
func chooseFreqs(h *histogram) distribution {
	var symbols []int
	for s, c := range h.counts {
		if c > 0 {
			symbols = append(symbols, s)
		}
	}
	switch len(symbols) {
	case 0:
		return distribution{freqs: []uint16{total}}
	case 1:
		f := make([]uint16, len(h.counts))
		f[symbols[0]] = total
		return distribution{freqs: f}
	}
	var best distribution
	lowest := int64(-1)
	for shift := logTotal + 1; shift >= 0; shift-- {
		d, ok := quantise(h, shift)
		if !ok {
			continue
		}
		w := &bits.Writer{}
		d.write(w)
		cost := int64(w.Len()) * bit
		for s, c := range h.counts {
			if c > 0 {
				cost += int64(c) * (logTotal*bit - log2(uint32(d.freqs[s])))
			}
		}
		if lowest < 0 || cost < lowest {
			lowest, best = cost, d
		}
	}
	return best
}

// quantise gives every count but the largest the nearest frequency that can be sent, and
// the largest the rest.
func quantise(h *histogram, shift int) (distribution, bool) {
	d := distribution{freqs: make([]uint16, len(h.counts)), shift: shift}
	for s, c := range h.counts {
		if c > h.counts[d.omit] {
			d.omit = s
		}
	}
	rest := total
	for s, c := range h.counts {
		if c == 0 {
			continue
		}
		if s == d.omit {
			continue
		}
		f := max(1, int((uint64(c)*total+uint64(h.total)/2)/uint64(h.total)))
		// Half of all or more is what the omitted symbol alone may have: it must be the
		// one with the largest logarithm.
		if f = nearest(f, shift); f >= total/2 {
			f = nearestBelow(total/2-1, shift)
		}
		d.freqs[s] = uint16(f)
		rest -= f
	}
	// Small counts that were raised to 1 may take all that there is.
	for rest < 1 {
		largest := -1
		for s, f := range d.freqs {
			if f > 1 && (largest < 0 || f > d.freqs[largest]) {
				largest = s
			}
		}
		if largest < 0 {
			return d, false
		}
		f := int(d.freqs[largest])
		g := nearestBelow(f-1, shift)
		d.freqs[largest] = uint16(g)
		rest += f - g
	}
	d.freqs[d.omit] = uint16(rest)
	return d, true
}

// nearestBelow is the largest frequency not above f that can be sent.
func nearestBelow(f, shift int) int {
	if shift == 0 {
		return 1 << (mathbits.Len(uint(f)) - 1)
	}
	log := mathbits.Len(uint(f)) - 1
	drop := log - precision(log, shift)
	return f >> drop << drop
}

func nearest(f, shift int) int {
	below := nearestBelow(f, shift)
	if below == f {
		return f
	}
	log := mathbits.Len(uint(f)) - 1
	k := 0
	if shift > 0 {
		k = precision(log, shift)
	}
	above := below + 1<<(log-k)
	if above < total && above-f < f-below {
		return above
	}
	return below
}

// write writes the distribution: that of one or two symbols in their own form.
func (d *distribution) write(w *bits.Writer) {
	var symbols []int
	for s, f := range d.freqs {
		if f > 0 {
			symbols = append(symbols, s)
		}
	}
	if len(symbols) <= 2 {
		w.Bool(true)
		w.Write(uint64(len(symbols)-1), 1)
		for _, s := range symbols {
			w.VarLen8(s)
		}
		if len(symbols) == 2 {
			w.Write(uint64(d.freqs[symbols[0]]), logTotal)
		}
		return
	}
	w.Bool(false)
	w.Bool(false)
	n := uint(mathbits.Len(uint(d.shift+1)) - 1)
	for range n {
		w.Bool(true)
	}
	if n < 3 {
		w.Bool(false)
	}
	w.Write(uint64(d.shift+1-1<<n), n)
	d.writeLogs(w)
}

// writeLogs is the inverse of readLogs.
func (d *distribution) writeLogs(w *bits.Writer) {
	freqs := d.freqs
	for len(freqs) < 3 {
		freqs = append(freqs, 0)
	}
	w.VarLen8(len(freqs) - 3)
	logs := make([]int, len(freqs))
	before, behind := 0, 0
	for s, f := range freqs {
		logs[s] = mathbits.Len16(f)
		if s < d.omit {
			before = max(before, logs[s])
		} else if s > d.omit {
			behind = max(behind, logs[s])
		}
	}
	logs[d.omit] = max(logs[d.omit], before+1, behind)
	same := repeats(freqs, d.omit)
	for s := 0; s < len(freqs); s++ {
		v := logs[s]
		if same[s] > 0 {
			v = repeatCode
		}
		w.Write(uint64(logCodes[v][0]), uint(logCodes[v][1]))
		if same[s] > 0 {
			w.VarLen8(same[s] - 4)
			s += same[s] - 1
		}
	}
	for s := 0; s < len(freqs); s++ {
		if same[s] > 0 {
			s += same[s] - 1
			continue
		}
		if s == d.omit || logs[s] < 2 || d.shift == 0 {
			continue
		}
		log := logs[s] - 1
		k := precision(log, d.shift)
		w.Write(uint64(int(freqs[s])-1<<log)>>(log-k), uint(k))
	}
}

// repeats finds runs of at least five equal frequencies: same[s] is the length of a run
// that begins at s and repeats the frequency before it. The omitted symbol and the one
// behind it are never the begin of one.
func repeats(freqs []uint16, omit int) []int {
	same := make([]int, len(freqs))
	for s := 1; s < len(freqs); s++ {
		n := 0
		for s+n < len(freqs) && freqs[s+n] == freqs[s-1] && s+n != omit {
			n++
		}
		if n >= 5 && s != omit && s-1 != omit {
			same[s] = min(n, 255)
			s += same[s] - 1
		}
	}
	return same
}
