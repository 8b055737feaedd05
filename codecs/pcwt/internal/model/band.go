package model

// Band begins with a band and returns the size of its part in the tile.
func (t *Tile) Band(band int) (w, h int) {
	b := &t.n.Own.Bands[band]
	side := t.w.side
	t.band, t.sites = band, noSites
	t.cellsAt, t.toMagnitudes = t.w.at(fieldC(band), 0, 0), t.w.column(fieldM(band), 0)-t.w.column(fieldC(band), 0)
	t.cw, t.ch = max(0, min(side, b.W-t.tx*side)), max(0, min(side, b.H-t.ty*side))
	if t.cw == 0 || t.ch == 0 {
		t.cw, t.ch = 0, 0
		for y := -above; y < side+below; y++ {
			clear(t.w.both(fieldC(band), y))
			clear(t.w.both(fieldM(band), y))
		}
		return 0, 0
	}
	for y := -above; y < 0; y++ {
		clear(t.w.both(fieldC(band), y))
		clear(t.w.both(fieldM(band), y))
	}
	for i, x := range [...]int{-2, -1, t.cw, t.cw + 1} {
		t.edges[i] = [2]int{t.w.column(0, x), t.w.column(0, mirror(x, t.cw))}
	}
	t.startCalls()
	t.loadParent()
	if t.n.Before != nil {
		t.loadEarlier(t.n.Before, fieldVC, fieldVE, fieldVM)
	}
	if t.n.Second != nil {
		t.loadEarlier(t.n.Second, fieldXC, -1, fieldXM)
	}
	return t.cw, t.ch
}

// loadParent fills the fields of parents; without prediction those of coefficients are not read.
func (t *Tile) loadParent() {
	w := &t.w
	fields := [...]field{fieldPM0, fieldPM1, fieldPC0, fieldPC1}
	used := fields[:]
	if t.fast {
		used = fields[:2]
	}
	if t.n.Parent == nil || len(t.n.Parent.Bands[t.band].C) == 0 {
		for y := range t.ch {
			for _, f := range used {
				clear(w.both(f, y))
			}
		}
		return
	}
	p := &t.n.Parent.Bands[t.band]
	px, py := (t.n.Own.X+t.tx*w.side)>>1-t.n.Parent.X, (t.n.Own.Y+t.ty*w.side)>>1-t.n.Parent.Y
	row := t.line[:w.side/2+2]
	parent := func(y int) []int16 { return t.parents[2*w.part*(y+1):][:2*w.part] }
	for y := -1; y <= (t.ch+1)/2; y++ {
		at := clamp(py+y, p.H) * p.W
		out := parent(y)
		clampRow(row, p.E[at:at+p.W], px-1)
		magnitudes(out[pad-1:pad-1+len(row)], row)
		if !t.fast {
			clampRow(out[w.part+pad-1:][:len(row)], p.C[at:at+p.W], px-1)
		}
	}
	for y := range t.ch {
		same, beside := parent(y>>1), parent(y>>1-1+2*(y&1))
		copy(w.both(fieldPM0, y), same[:w.part])
		copy(w.both(fieldPM1, y), beside[:w.part])
		if !t.fast {
			copy(w.both(fieldPC0, y), same[w.part:])
			copy(w.both(fieldPC1, y), beside[w.part:])
		}
	}
}

// magnitudesGo stores the magnitudes of residuals.
func magnitudesGo(out, e []int16) {
	for i, v := range e {
		out[i] = magnitude(v)
	}
}

// loadEarlier fills fields c, e (unless it is -1) and m with a band of an earlier plane.
func (t *Tile) loadEarlier(l *Level, c, e, m field) {
	w, p := &t.w, &l.Bands[t.band]
	row := t.line[:t.cw+2]
	x0, y0 := t.n.Own.X-l.X+t.tx*w.side, t.n.Own.Y-l.Y+t.ty*w.side
	for y := -1; y <= t.ch; y++ {
		at := clamp(y0+y, p.H) * p.W
		clampRow(row, p.C[at:at+p.W], x0-1)
		w.splitRow(c, -1, y, row)
		clampRow(row, p.E[at:at+p.W], x0-1)
		if e >= 0 {
			w.splitRow(e, -1, y, row)
		}
		magnitudes(row, row)
		w.splitRow(m, -1, y, row)
	}
}

// Put gives the coefficients and residuals of the columns of a parity of row y, both
// saturated. After the odd columns of a row its cells beside the band are filled too.
func (t *Tile) Put(y, parity int, c, e []int16) {
	coefficients, cells := t.Cells(y, parity)
	copy(coefficients, c)
	magnitudes(cells[:len(e)], e)
	t.PutCells(y, parity)
}

// Cells are where coefficients, saturated, and magnitudes of the columns of a parity of row y belong. [Beyond] more than
// there are columns may be written.
func (t *Tile) Cells(y, parity int) (c, m []int16) {
	at, n := t.cellsAt+y*t.w.stride+parity*t.w.part, t.w.side/2+Beyond
	return t.w.cells[at:][:n], t.w.cells[at+t.toMagnitudes:][:n]
}

// PutCells is Put where [Tile.Cells] have been filled.
func (t *Tile) PutCells(y, parity int) {
	t.sites = noSites
	t.fillEdges(fieldC(t.band), y)
	t.fillEdges(fieldM(t.band), y)
	t.endHalf(y, parity)
}

// PutCoefficients is the part of Put for the coefficients of both parities.
func (t *Tile) PutCoefficients(y int, c []int16) {
	t.sites = noSites
	even, _ := t.Cells(y, 0)
	odd, _ := t.Cells(y, 1)
	Split(even, odd, c)
	t.fillEdges(fieldC(t.band), y)
}

// PutMagnitudes is the part of Put for magnitudes that are in [Tile.Cells].
func (t *Tile) PutMagnitudes(y, parity int) {
	t.sites = noSites
	t.fillEdges(fieldM(t.band), y)
	t.endHalf(y, parity)
}

// endHalf puts the first row before itself when it is there.
func (t *Tile) endHalf(y, parity int) {
	if y > 0 || parity == 0 {
		return
	}
	for _, f := range [...]field{fieldC(t.band), fieldM(t.band)} {
		copy(t.w.both(f, -1), t.w.both(f, 0))
	}
}

// fillEdges fills the cells beside the band.
func (t *Tile) fillEdges(f field, y int) {
	w := &t.w
	cells := w.cells[w.row(y)+2*int(f)*w.part:][:2*w.part]
	e := &t.edges
	cells[e[0][0]] = cells[e[0][1]]
	cells[e[1][0]] = cells[e[1][1]]
	cells[e[2][0]] = cells[e[2][1]]
	cells[e[3][0]] = cells[e[3][1]]
}

// EndBand ends a band, whose last row bands after it repeat below.
func (t *Tile) EndBand() {
	for y := t.ch; y < t.ch+2; y++ {
		copy(t.w.both(fieldC(t.band), y), t.w.both(fieldC(t.band), t.ch-1))
		copy(t.w.both(fieldM(t.band), y), t.w.both(fieldM(t.band), t.ch-1))
	}
}
