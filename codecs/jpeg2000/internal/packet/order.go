package packet

import (
	"cmp"
	"image"
	"slices"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// ID names a packet.
type ID struct {
	Layer, Resolution, Component, Precinct int
}

// Order calls f for the packets of a tile in their order (B.12), until it returns false.
// A packet that a progression names again is not called again.
// step are the sub-sampling factors of the components.
func Order(tile *codestream.Tile, p *codestream.Params, step []image.Point, f func(ID) bool) {
	o := &order{tile: tile, step: step, emit: f, next: make([][][]uint16, len(tile.Components))}
	for c := range tile.Components {
		o.next[c] = make([][]uint16, len(tile.Components[c].Resolutions))
		o.named += len(tile.Components[c].Resolutions)
	}
	changes := p.Changes
	if len(changes) == 0 {
		changes = []codestream.Progression{{EndResolution: 33, EndComponent: len(tile.Components), EndLayer: p.Layers, Order: p.Order}}
	}
	for _, change := range changes {
		if !o.idles(1) {
			return
		}
		change.EndComponent = min(change.EndComponent, len(tile.Components))
		change.EndLayer = min(change.EndLayer, p.Layers)
		levels := 0
		for c := change.FirstComponent; c < change.EndComponent; c++ {
			levels = max(levels, len(tile.Components[c].Resolutions))
		}
		change.EndResolution = min(change.EndResolution, levels)
		if !o.run(&change) {
			return
		}
	}
}

// order is the state of [Order].
type order struct {
	tile  *codestream.Tile
	step  []image.Point
	emit  func(ID) bool
	next  [][][]uint16 // by component, resolution, precinct: the next layer; made when needed
	named int          // resolutions of components, and packets that came
	idle  int          // what was gone through without a packet that had not come before
}

// Progressions may name packets again, and what has none; files name each twice or so. More is
// idle than freeIdle and maxIdle times what there is only where somebody wants to take time.
const (
	freeIdle = 4096
	maxIdle  = 256
)

// idles counts n steps that bring no packet, and says whether there may be more.
func (o *order) idles(n int) bool {
	o.idle += n
	return o.idle < freeIdle+maxIdle*o.named
}

func (o *order) run(c *codestream.Progression) bool {
	switch c.Order {
	case codestream.LRCP:
		for l := range c.EndLayer {
			for r := c.FirstResolution; r < c.EndResolution; r++ {
				if !o.components(c, r, l) {
					return false
				}
			}
		}
	case codestream.RLCP:
		for r := c.FirstResolution; r < c.EndResolution; r++ {
			for l := range c.EndLayer {
				if !o.components(c, r, l) {
					return false
				}
			}
		}
	case codestream.RPCL:
		for r := c.FirstResolution; r < c.EndResolution; r++ {
			if !o.positions(c, c.FirstComponent, c.EndComponent, r, r+1) {
				return false
			}
		}
	case codestream.PCRL:
		return o.positions(c, c.FirstComponent, c.EndComponent, c.FirstResolution, c.EndResolution)
	case codestream.CPRL:
		for i := c.FirstComponent; i < c.EndComponent; i++ {
			if !o.positions(c, i, i+1, c.FirstResolution, c.EndResolution) {
				return false
			}
		}
	}
	return true
}

// components goes through the precincts of a resolution and layer.
func (o *order) components(change *codestream.Progression, r, layer int) bool {
	for c := change.FirstComponent; c < change.EndComponent; c++ {
		precincts := 0
		if r < len(o.tile.Components[c].Resolutions) {
			precincts = count(o.tile.Components[c].Resolutions[r].Precincts)
		}
		if precincts == 0 && !o.idles(1) {
			return false
		}
		for p := range precincts {
			if !o.packet(c, r, p, layer) {
				return false
			}
		}
	}
	return true
}

// packet emits a packet that did not come before.
func (o *order) packet(c, r, p, layer int) bool {
	next := &o.next[c][r]
	if *next == nil {
		*next = make([]uint16, count(o.tile.Components[c].Resolutions[r].Precincts))
	}
	if layer < int((*next)[p]) {
		return o.idles(1)
	}
	o.named++
	(*next)[p] = uint16(layer + 1)
	return o.emit(ID{layer, r, c, p})
}

// grid is the grid of a resolution's precincts on the reference grid.
type grid struct {
	component, resolution int
	columns, rows         int
	tile                  image.Point // the tile's first point
	first                 image.Point // column and row of the first precinct from the origin
	size                  image.Point // of a precinct in points
}

// column is the x where the precincts of column i come: their left edge, or that of the
// tile if they begin before it.
func (g *grid) column(i int) int { return max(g.tile.X, (g.first.X+i)*g.size.X) }
func (g *grid) row(i int) int    { return max(g.tile.Y, (g.first.Y+i)*g.size.Y) }

func (o *order) grid(c, r int) grid {
	t := &o.tile.Components[c]
	res := &t.Resolutions[r]
	down := t.Coding.Levels - r
	return grid{
		component: c, resolution: r,
		columns: res.Precincts.X, rows: res.Precincts.Y,
		tile:  o.tile.Bounds.Min,
		first: image.Pt(res.Bounds.Min.X>>res.PrecinctExp.X, res.Bounds.Min.Y>>res.PrecinctExp.Y),
		size:  image.Pt(o.step[c].X<<(res.PrecinctExp.X+down), o.step[c].Y<<(res.PrecinctExp.Y+down)),
	}
}

// position is where a precinct comes in a row of precincts.
type position struct {
	x, component, resolution, precinct int
}

// positions goes through the precincts of some components and resolutions by their
// position: y, then x, then component, then resolution (B.12.1.3 to B.12.1.5). It does so
// row by row, so that it goes no further than packets are there.
func (o *order) positions(change *codestream.Progression, c0, c1, r0, r1 int) bool {
	var grids []grid
	var row []position
	for c := c0; c < c1; c++ {
		for r := r0; r < min(r1, len(o.tile.Components[c].Resolutions)); r++ {
			if !o.idles(1) {
				return false
			}
			if count(o.tile.Components[c].Resolutions[r].Precincts) > 0 {
				grids = append(grids, o.grid(c, r))
			}
		}
	}
	at := make([]int, len(grids)) // the next row of each grid
	for {
		y, any := 0, false
		for i := range grids {
			if at[i] < grids[i].rows && (!any || grids[i].row(at[i]) < y) {
				y, any = grids[i].row(at[i]), true
			}
		}
		if !any {
			return true
		}
		row = row[:0]
		for i := range grids {
			g := &grids[i]
			if at[i] == g.rows || g.row(at[i]) != y {
				continue
			}
			for x := range g.columns {
				row = append(row, position{g.column(x), g.component, g.resolution, at[i]*g.columns + x})
			}
			at[i]++
		}
		slices.SortFunc(row, func(a, b position) int {
			return cmp.Or(a.x-b.x, a.component-b.component, a.resolution-b.resolution, a.precinct-b.precinct)
		})
		for _, p := range row {
			for l := range change.EndLayer {
				if !o.packet(p.component, p.resolution, p.precinct, l) {
					return false
				}
			}
		}
	}
}
