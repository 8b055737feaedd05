package wavelet

// line is a row with its low- and high-pass samples apart, and room for their extensions:
//
//	margin | low-pass | margin | margin | high-pass | margin
type line[T Sample] struct {
	samples   []T
	array     []T
	lows      int
	highs     int
	highStart int
	parity    int // of the first sample's coordinate
}

// margin is at least the number of samples of one kind that a step of reach 3 takes beyond either end, and keeps
// vectors aligned to each other.
const margin = 8

func (l *line[T]) layOut(width, parity int) {
	l.parity = parity
	l.lows = Low(width, parity)
	l.highs = width - l.lows
	l.highStart = margin + (l.lows+margin-1)/margin*margin + 2*margin
	n := l.highStart + (l.highs+margin-1)/margin*margin + margin
	if cap(l.array) < n {
		l.array = make([]T, n)
	}
	l.samples = l.array[:n]
}

func (l *line[T]) low() []T  { return l.samples[margin:][:l.lows] }
func (l *line[T]) high() []T { return l.samples[l.highStart:][:l.highs] }

// split takes the samples of a row.
func (l *line[T]) split(row []T) {
	if l.parity == 0 {
		deinterleave(l.low(), l.high(), row)
	} else {
		deinterleave(l.high(), l.low(), row)
	}
}

// join puts the samples back in the order of the row.
func (l *line[T]) join(row []T) {
	if l.parity == 0 {
		interleave(row, l.low(), l.high())
	} else {
		interleave(row, l.high(), l.low())
	}
}

// forwardLine transforms a row.
func (t *Transform[T]) forwardLine(l *line[T]) {
	if l.lows+l.highs == 1 {
		double(l.high())
		return
	}
	for _, s := range t.filter.steps {
		l.lift(&s, s.forward)
	}
	if t.filter.scaled {
		scale(l.low(), t.filter.low)
		scale(l.high(), t.filter.high)
	}
}

// inverseLine is the inverse of forwardLine.
func (t *Transform[T]) inverseLine(l *line[T]) {
	if l.lows+l.highs == 1 {
		halve(l.high())
		return
	}
	if t.filter.scaled {
		scale(l.low(), t.filter.high)
		scale(l.high(), t.filter.low)
	}
	for i := len(t.filter.steps) - 1; i >= 0; i-- {
		s := &t.filter.steps[i]
		l.lift(s, s.inverse)
	}
}

// lift does a step. Sample i of low has the coordinate 2i + parity, of high 2i + 1 - parity, from
// the first sample of the row on.
func (l *line[T]) lift(s *step[T], apply lift[T]) {
	dst, start, count, coordinate, before := l.high(), margin, l.lows, l.parity, -l.parity
	if s.parity == 0 {
		dst, start, count, coordinate, before = l.low(), l.highStart, l.highs, 1-l.parity, l.parity-1
	}
	l.extend(start, count, coordinate)
	neighbours := func(offset int) []T { return l.samples[start+before+offset:][:len(dst)] }
	near := [2][]T{neighbours(0), neighbours(1)}
	var far [2][]T
	if s.reach == 3 {
		far = [2][]T{neighbours(-1), neighbours(2)}
	}
	apply(dst, near, far)
}

// extend writes two samples before and three behind those that begin at start.
func (l *line[T]) extend(start, count, coordinate int) {
	n := l.lows + l.highs
	at := func(i int) T { return l.samples[start+mirror(2*i+coordinate, n)>>1] }
	for _, i := range [...]int{-2, -1, count, count + 1, count + 2} {
		l.samples[start+i] = at(i)
	}
}

// mirror is the coordinate in [0, n) of the sample that stands at x in the whole-sample
// symmetric extension of n samples, n at least 2.
func mirror(x, n int) int {
	period := 2 * (n - 1)
	if x = max(x, -x); x > period {
		x %= period
	}
	return min(x, period-x)
}
