package wavelet

// columns transforms vertically, all columns side by side. It loads every row once and does a
// step for a row as soon as its neighbours are there, so that a plane of any height passes through the
// cache once.
//
// load fills row y. store takes the rows from first to last-1, in their order, and leaves them
// as they are.
func (t *Transform[T]) columns(height, parity, first, last int, forward bool, load, store func(y int, row *line[T])) {
	if height == 1 {
		if first < last {
			t.oneRow(parity, forward, load, store)
		}
		return
	}
	c := columnPass[T]{t: t, height: height, parity: parity, forward: forward, load: load}
	c.start(first)
	for y := first; y < last; y++ {
		c.advance(len(c.next)-1, y)
		row := &t.rows[y%ringRows]
		if t.filter.scaled && forward {
			row = t.workOn(row)
			scale(row.samples, t.factor(c.parityOf(y), forward))
		}
		store(y, row)
	}
}

func (t *Transform[T]) oneRow(parity int, forward bool, load, store func(y int, row *line[T])) {
	row := &t.rows[0]
	load(0, row)
	if parity == 1 {
		change := halve[T]
		if forward {
			change = double[T]
		}
		change(row.low())
		change(row.high())
	}
	store(0, row)
}

// factor is that of a row or sample of the given parity.
func (t *Transform[T]) factor(parity int, forward bool) T {
	if (parity == 0) == forward {
		return t.filter.low
	}
	return t.filter.high
}

// columnPass is a vertical transform on its way down. Stage 0 loads rows, stage k does step
// k-1. A row is in place y modulo ringRows from its load on until ringRows later ones are there.
type columnPass[T Sample] struct {
	t       *Transform[T]
	height  int
	parity  int // of the coordinate of row 0
	forward bool
	load    func(y int, row *line[T])
	next    []int // of every stage, the row that it does next
	stages  [5]int
}

func (c *columnPass[T]) parityOf(y int) int { return (y + c.parity) & 1 }

// step is the step of a stage.
func (c *columnPass[T]) step(stage int) (*step[T], lift[T]) {
	steps := c.t.filter.steps
	if c.forward {
		s := &steps[stage-1]
		return s, s.forward
	}
	s := &steps[len(steps)-stage]
	return s, s.inverse
}

// start lets every stage begin where the last one needs it for row first.
func (c *columnPass[T]) start(first int) {
	c.next = c.stages[:len(c.t.filter.steps)+1]
	for stage := len(c.next) - 1; stage > 0; stage-- {
		s, _ := c.step(stage)
		c.next[stage] = first + (c.parityOf(first) ^ s.parity)
		first = max(0, first-s.reach)
	}
	c.next[0] = first
}

// advance does a stage for all rows up to y, and before it what these need.
func (c *columnPass[T]) advance(stage, y int) {
	if stage == 0 {
		for ; c.next[0] <= y; c.next[0]++ {
			row := &c.t.rows[c.next[0]%ringRows]
			c.load(c.next[0], row)
			if c.t.filter.scaled && !c.forward {
				scale(row.samples, c.t.factor(c.parityOf(c.next[0]), c.forward))
			}
		}
		return
	}
	s, _ := c.step(stage)
	for ; c.next[stage] <= y; c.next[stage] += 2 {
		c.advance(stage-1, min(c.height-1, c.next[stage]+s.reach))
		c.lift(stage, c.next[stage])
	}
	c.advance(stage-1, y) // row y has the other parity, if the loop ended before it
}

// lift does a stage for row y.
func (c *columnPass[T]) lift(stage, y int) {
	s, apply := c.step(stage)
	at := func(y int) []T { return c.t.rows[mirror(y, c.height)%ringRows].samples }
	near := [2][]T{at(y - 1), at(y + 1)}
	var far [2][]T
	if s.reach == 3 {
		far = [2][]T{at(y - 3), at(y + 3)}
	}
	apply(at(y), near, far)
}
