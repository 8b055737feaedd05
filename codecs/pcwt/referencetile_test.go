package pcwt_test

import (
	"math/bits"
)

func sat(v int) int { return min(max(v, -32768), 32767) }

func abs(v int) int { return max(v, -v) }

// band holds a subband of a level: coefficients and residuals.
type band struct{ c, e *grid }

// refLevel is one level of one plane of a slice.
type refLevel struct {
	head    *refHeader
	plane   *coded
	level   int // 1 is the finest
	w, h    int // of what the level gives
	low     *grid
	bands   [3]band // HL, LH, HH
	parent  *refLevel
	earlier []*refLevel // the plane before, and the one before that
}

func newRefLevel(head *refHeader, plane *coded, level int, low *grid, size [2]int) *refLevel {
	l := &refLevel{head: head, plane: plane, level: level, w: size[0], h: size[1], low: low}
	for b, s := range [3][2]int{{size[0] / 2, low.h}, {low.w, size[1] / 2}, {size[0] / 2, size[1] / 2}} {
		l.bands[b] = band{newGrid(s[0], s[1]), newGrid(s[0], s[1])}
	}
	return l
}

// field is a function of a place near the coefficient.
type field func(dx, dy int) int

// place is a coefficient that is being decoded.
type place struct {
	l      *refLevel
	b      int // band
	tx, ty int // corner of the tile
	x, y   int // in the tile
}

// own gives coefficients, or magnitudes, of a band of the same tile.
func (p *place) own(b int, magnitudes bool) field {
	from := p.l.bands[b].c
	if magnitudes {
		from = p.l.bands[b].e
	}
	w, h := min(p.l.head.tile, from.w-p.tx), min(p.l.head.tile, from.h-p.ty)
	return func(dx, dy int) int {
		x, y := p.x+dx, p.y+dy
		if w <= 0 || h <= 0 || y < 0 && p.y == 0 && b == p.b {
			return 0
		}
		v := *from.at(p.tx+mirror(x, w), p.ty+min(max(y, 0), h-1))
		if magnitudes {
			return magnitude(v)
		}
		return sat(v)
	}
}

func magnitude(residual int) int { return min(abs(sat(residual)), 8191) }

// whole gives the numbers of a grid that is known as a whole, around the place.
func (p *place) whole(g *grid, of func(int) int) field {
	return func(dx, dy int) int { return of(g.nearest(p.tx+p.x+dx, p.ty+p.y+dy)) }
}

// sum adds the terms of a tap or feature, the odd ones of pairs subtracted.
func sum(terms ...int) int {
	s := 0
	for _, v := range terms {
		s = sat(s + v)
	}
	return s
}

// minus is a term that is subtracted. Terms are never -32768-(-1), so that the negative
// of one is added with the same saturation.
func minus(v int) int { return -v }

func exchanged(f field) field { return func(dx, dy int) int { return f(dy, dx) } }

func near(q field, j int) []int {
	return []int{q(-1, j), minus(q(0, j)), q(2, j), minus(q(1, j))}
}

func far(q field, j int) []int {
	return []int{q(-2, j), minus(q(0, j)), q(3, j), minus(q(1, j))}
}

func rows(q field) []int {
	return []int{q(0, -1), minus(q(0, 0)), q(1, -1), minus(q(1, 0)), q(0, 1), minus(q(0, 0)), q(1, 1), minus(q(1, 0))}
}

func cross(f field) int { return sum(f(-1, 0), f(1, 0), f(0, -1), f(0, 1)) }

func joined(lists ...[]int) int {
	var all []int
	for _, l := range lists {
		all = append(all, l...)
	}
	return sum(all...)
}

// family gives coefficients or magnitudes of the parent and its nearest neighbours.
func (p *place) family(magnitudes bool) (at, horizontal, vertical, diagonal int) {
	if p.l.parent == nil {
		return 0, 0, 0, 0
	}
	g, of := p.l.parent.bands[p.b].c, sat
	if magnitudes {
		g, of = p.l.parent.bands[p.b].e, magnitude
	}
	x, y := (p.tx+p.x)>>1, (p.ty+p.y)>>1
	dx, dy := 2*(p.x&1)-1, 2*(p.y&1)-1
	return of(g.nearest(x, y)), of(g.nearest(x+dx, y)), of(g.nearest(x, y+dy)), of(g.nearest(x+dx, y+dy))
}

// taps are those of the prediction.
func (p *place) taps() []int {
	q, c := p.whole(p.l.low, sat), p.own(p.b, false)
	at, ph, pv, _ := p.family(false)
	sides := 0
	if p.x&1 == 1 {
		sides = sum(c(-1, 0), c(1, 0))
	}
	t := []int{c(0, -1), sum(c(-1, -1), c(1, -1)), c(0, -2), sides, at}
	qt, h, v := exchanged(q), p.own(0, false), p.own(1, false)
	switch p.b {
	case 0:
		t = append(t, ph, pv, joined(near(q, 0)), joined(far(q, 0)), joined(near(q, -1), near(q, 1)), joined(rows(q)),
			joined(far(q, -1), far(q, 1)), sum(c(-2, -1), c(2, -1)))
	case 1:
		t = append(t, ph, pv, joined(near(qt, 0)), joined(far(qt, 0)), joined(near(qt, -1), near(qt, 1)), joined(rows(qt)),
			sum(h(-1, 0), h(0, 0), h(-1, 1), h(0, 1)), sum(h(-1, -1), h(0, -1), h(-1, 2), h(0, 2)))
	case 2:
		t = append(t, sum(ph, pv), joined(near(q, 0), near(q, 1)), joined(near(qt, 0), near(qt, 1)),
			sum(q(-1, -1), minus(q(0, 0)), q(2, -1), minus(q(1, 0)), q(-1, 2), minus(q(0, 1)), q(2, 2), minus(q(1, 1))),
			sum(h(0, 0), h(0, 1)), sum(h(0, -1), h(0, 2)), sum(v(0, 0), v(1, 0)), sum(v(-1, 0), v(2, 0)))
	}
	if len(p.l.earlier) > 0 {
		e := p.l.earlier[0].bands[p.b]
		t = append(t, p.whole(e.c, sat)(0, 0), p.whole(e.e, sat)(0, 0))
	}
	if len(p.l.earlier) > 1 {
		t = append(t, p.whole(p.l.earlier[1].bands[p.b].c, sat)(0, 0))
	}
	return t
}

// features are those of the scale.
func (p *place) features() []int {
	q, m := p.whole(p.l.low, sat), p.own(p.b, true)
	hm, vm := p.own(0, true), p.own(1, true)
	at, ph, pv, pd := p.family(true)
	sides := 0
	if p.x&1 == 1 {
		sides = sum(m(-1, 0), m(1, 0))
	}
	of := func(v int) int { return min(abs(v), 32767) }
	low := func(v int) int { return of(v) >> p.l.head.qmin }
	steps := func(q field) []int {
		return []int{low(sum(q(1, 0), minus(q(0, 0)))), low(joined(near(q, 0))), low(sum(q(0, 0), minus(q(-1, 0)))), low(sum(q(2, 0), minus(q(1, 0))))}
	}
	earlier, fast := len(p.l.earlier), p.l.head.fast
	wide, high := sum(m(-2, -1), m(2, -1)), sum(m(-1, -2), m(1, -2))
	f := []int{m(0, -1), sum(m(-1, -1), m(1, -1)), m(0, -2), sides, at, sum(ph, pv, pd)}
	switch {
	case fast:
		f = append(f, wide, high)
		if p.b >= 1 {
			f = append(f, hm(0, 0), cross(hm))
		}
		if p.b == 2 {
			f = append(f, vm(0, 0), cross(vm))
		}
	case p.b == 0:
		f = append(append(f, wide, high), steps(q)...)
	case p.b == 1:
		f = append(f, wide)
		if earlier == 0 {
			f = append(f, high)
		}
		f = append(append(f, steps(exchanged(q))...), hm(0, 0), cross(hm))
	default:
		if earlier == 0 {
			f = append(f, wide, high)
		}
		f = append(f, low(sum(q(0, 0), minus(q(1, 0)), q(1, 1), minus(q(0, 1)))), low(sum(q(1, 0), minus(q(0, 0)), q(1, 1), minus(q(0, 1)))),
			low(sum(q(0, 1), minus(q(0, 0)), q(1, 1), minus(q(1, 0)))))
		if earlier == 0 {
			f = append(f, low(joined(near(q, 0), near(q, 1))))
		}
		f = append(f, hm(0, 0), cross(hm), vm(0, 0), cross(vm))
	}
	if earlier > 0 {
		before := p.whole(p.l.earlier[0].bands[p.b].e, magnitude)
		f = append(f, before(0, 0), cross(before))
	}
	if earlier > 1 {
		f = append(f, p.whole(p.l.earlier[1].bands[p.b].e, magnitude)(0, 0))
	}
	for i := range f {
		f[i] = of(f[i])
	}
	return f
}

// texture is the class of the low band around the place, and its direction.
func (p *place) texture() (texture, direction int) {
	q := p.whole(p.l.low, sat)
	difference := func(x0, y0, x1, y1 int) int { return abs(sat(q(x1, y1) - q(x0, y0))) }
	gh, gv, d1, d2 := 0, 0, 0, 0
	for i := -1; i <= 1; i++ {
		for j := range 2 {
			gh = sat(gh + difference(i, j, i+1, j))
			gv = sat(gv + difference(j, i, j, i+1))
		}
	}
	for _, at := range [][2]int{{0, 0}, {-1, -1}, {1, 1}, {1, -1}, {-1, 1}} {
		i, j := at[0], at[1]
		d1 = sat(d1 + difference(i, j, i+1, j+1))
		d2 = sat(d2 + difference(i, j+1, i+1, j))
	}
	twice, thrice := func(v int) int { return sat(v + v) }, func(v int) int { return sat(sat(v+v) + v) }
	direction = 2
	switch {
	case p.l.head.fast:
		direction = 0
	case gh > thrice(gv):
		direction = 0
	case twice(gh) > thrice(gv):
		direction = 1
	case gv > thrice(gh):
		direction = 4
	case twice(gv) > thrice(gh):
		direction = 3
	}
	diagonal := 1
	if twice(d1) > thrice(d2) {
		diagonal = 0
	} else if twice(d2) > thrice(d1) {
		diagonal = 2
	}
	activity := 0
	for _, t := range p.l.plane.set.thresholds {
		if int(t) <= sat(gh+gv) {
			activity++
		}
	}
	return (direction*3+diagonal)*3 + activity, direction
}

// modelled is what decides how a coefficient is coded.
type modelled struct {
	prediction int
	negative   bool // the sign is turned
	raw        int  // raw bits below the token
	table      *[88]uint16
}

func (p *place) model() (c modelled) {
	set, qmin := p.l.plane.set, p.l.head.qmin
	level := min(p.l.level, 3) - 1
	texture, direction := p.texture()
	fraction := 0
	if !p.l.head.fast {
		row := 0
		if p.y > 0 {
			row = 1 + p.y&1
		}
		weights := &set.prediction[(((level*3+p.b)*3+row)*2+p.x&1)*45+texture]
		P := 0
		for i, tap := range p.taps() {
			P += int(weights[i]) * tap
		}
		r := (P + 2048<<qmin) >> (12 + qmin)
		c.prediction = min(max(r, -16383), 16383)
		f := P>>qmin - r*4096
		c.negative, fraction = f < 0, min(abs(f)>>9, 3)
	}
	key := (((level*3+p.b)*2+min(p.y, 1))*2+p.x&1)*5 + direction
	m, zero := int(set.bias[key]), true
	for i, feature := range p.features() {
		m += int(set.scale[key][i]) * feature
		zero = zero && feature == 0
	}
	q := 0
	if !zero {
		M := max(m>>4, 13)
		log := bits.Len(uint(M)) - 1
		q = 4*log + M>>(log-2)&3 - 14
		q = min(max(max(q, 1)+p.l.plane.offsets[level*3+p.b], 1), 99)
	}
	if q >= 44 {
		c.raw = (q - 40) >> 2
		q = 40 + q&3
	}
	c.table = &set.tables[fraction][q]
	return c
}

// store writes a coefficient by its index.
func (p *place) store(index, prediction int) {
	c := index
	if qmin := p.l.head.qmin; qmin > 0 && index != 0 {
		c = abs(index)<<qmin + 1<<(qmin-1)
		if index < 0 {
			c = -c
		}
	}
	b := p.l.bands[p.b]
	*b.c.at(p.tx+p.x, p.ty+p.y) = c
	*b.e.at(p.tx+p.x, p.ty+p.y) = index - prediction
}

// tile decodes the tile whose corner in the low band is (tx, ty).
func (l *refLevel) tile(tx, ty int, raw bool, body []byte) {
	var rans *rans
	var stored *bitReader
	width := 0
	switch {
	case raw:
		r := &reader{body}
		width = r.u16()
		words := make([]byte, len(r.data))
		for i := range words {
			words[i] = r.data[i^1]
		}
		stored = &bitReader{data: words}
	case len(body) > 0:
		rans = newRANS(body, l.head.lanes)
	}
	for b := range l.bands {
		w, h := min(l.head.tile, l.bands[b].c.w-tx), min(l.head.tile, l.bands[b].c.h-ty)
		for y := range max(h, 0) {
			for parity := range 2 {
				var row []*place
				for x := parity; x < w; x += 2 {
					row = append(row, &place{l, b, tx, ty, x, y})
				}
				for len(row) > 0 {
					step := row[:min(len(row), l.head.lanes)]
					row = row[len(step):]
					contexts := make([]modelled, len(step))
					for i, p := range step {
						contexts[i] = p.model()
					}
					residuals := make([]int, len(step))
					if rans != nil {
						residuals = rans.step(contexts)
					}
					for i, p := range step {
						index := residuals[i] + contexts[i].prediction
						if stored != nil {
							index = stored.bits(width)
							if index>>(width-1) == 1 {
								index -= 1 << width
							}
						}
						p.store(index, contexts[i].prediction)
					}
				}
			}
		}
	}
	if rans != nil {
		rans.end()
	}
}

// rans decodes the body of a tile.
type rans struct {
	states []uint32
	words  *reader
}

func newRANS(body []byte, lanes int) *rans {
	r := &rans{words: &reader{body}}
	for range lanes {
		r.states = append(r.states, uint32(r.words.u32()))
	}
	return r
}

func (r *rans) refill(lane int) {
	if r.states[lane] < 1<<16 {
		r.states[lane] = r.states[lane]<<16 | uint32(r.words.u16())
	}
}

// token takes the token of a lane.
func (r *rans) token(lane int, table *[88]uint16) int {
	s := r.states[lane]
	start := uint32(0)
	for t, freq := range table {
		if s&16383 < start+uint32(freq) {
			r.states[lane] = uint32(freq)*(s>>14) + s&16383 - start
			r.refill(lane)
			return t
		}
		start += uint32(freq)
	}
	panic("a table that does not add up")
}

// step decodes the residuals of one coefficient of each lane.
func (r *rans) step(contexts []modelled) []int {
	tokens, counts, values := make([]int, len(contexts)), make([]int, len(contexts)), make([]int, len(contexts))
	for i, c := range contexts {
		tokens[i] = r.token(i, c.table)
		switch t := (tokens[i] + 1) / 2; {
		case tokens[i] == 87:
			counts[i] = 32
		case t >= 16:
			counts[i] = 3 + (t-16)/2 + c.raw
		default:
			counts[i] = c.raw
		}
	}
	for part := range 2 {
		for i := range contexts {
			n := min(counts[i]-16*part, 16)
			if n <= 0 {
				continue
			}
			values[i] |= int(r.states[i]&(1<<n-1)) << (16 * part)
			r.states[i] >>= n
			r.refill(i)
		}
	}
	residuals := make([]int, len(contexts))
	for i, c := range contexts {
		e := int(int32(uint32(values[i])))
		if tokens[i] != 87 {
			t := (tokens[i] + 1) / 2
			n := t
			if t >= 16 {
				g := 4 + (t-16)/2
				n = 1<<g | (t-16)&1<<(g-1) | values[i]>>c.raw
			}
			if tokens[i]&1 == 0 {
				n = -n
			}
			e = n<<c.raw | values[i]&(1<<c.raw-1)
		}
		if c.negative {
			e = -e
		}
		residuals[i] = e
	}
	return residuals
}

func (r *rans) end() {
	for _, s := range r.states {
		if s != 1<<16 {
			panic("a final state that is not 2^16")
		}
	}
	if len(r.words.data) > 0 {
		panic("words that nothing used")
	}
}
