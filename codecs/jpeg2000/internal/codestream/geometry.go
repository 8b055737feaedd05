package codestream

import "image"

// Tile is the geometry of a tile.
type Tile struct {
	Index      int
	Bounds     image.Rectangle // on the reference grid
	Components []TileComponent
}

// TileComponent is the part of a component in a tile.
type TileComponent struct {
	Index       int
	Bounds      image.Rectangle // in samples of the component (equation B-12)
	Coding      *Coding
	Resolutions []Resolution // Levels+1, the smallest first
}

// Resolution is a tile-component at a resolution level.
type Resolution struct {
	Index       int             // r: 0 for the smallest
	Bounds      image.Rectangle // trx0, try0 to trx1, try1 (equation B-14)
	PrecinctExp image.Point     // PPx, PPy
	Precincts   image.Point     // numprecinctswide, numprecinctshigh (equation B-16)
	Subbands    []Subband       // LL of resolution 0; HL, LH and HH of all others
}

// Subband is a subband of a tile-component.
type Subband struct {
	Orientation Orientation
	Level       int             // nb: the level of the decomposition
	Bounds      image.Rectangle // tbx0, tby0 to tbx1, tby1 (equation B-15)
	Step        Step
	Planes      int         // Mb (equation E-2), with the shift of a region of interest on top
	BlockExp    image.Point // xcb', ycb' (equations B-17, B-18)

	precinctExp image.Point // log2 of the sides of a precinct in the subband
	firstX      int         // index of the first column of precincts on their grid
	firstY      int
	wide        int
}

// BlockGrid is the part of a subband's grid of code-blocks that a precinct holds.
type BlockGrid struct {
	Area   image.Rectangle // the precinct's samples in the subband
	First  image.Point     // column and row of the first code-block on the grid of the subband
	Blocks image.Point     // columns and rows of code-blocks; 0, 0 where the area is empty
	exp    image.Point
}

// Tiles is the number of columns and rows of tiles (equation B-5).
func (s *Size) Tiles() image.Point {
	return image.Pt(ceilDiv(s.Image.Max.X-s.TileOrigin.X, s.Tile.X), ceilDiv(s.Image.Max.Y-s.TileOrigin.Y, s.Tile.Y))
}

// TileBounds is tile t on the reference grid (equations B-7 to B-10).
func (s *Size) TileBounds(t int) image.Rectangle {
	wide := s.Tiles().X
	lo := s.TileOrigin.Add(image.Pt(t%wide*s.Tile.X, t/wide*s.Tile.Y))
	return image.Rectangle{lo, lo.Add(s.Tile)}.Intersect(s.Image)
}

// ComponentBounds is component c of the part r of the reference grid, in samples of the
// component (equation B-12).
func (s *Size) ComponentBounds(r image.Rectangle, c int) image.Rectangle {
	return Divide(r, s.Components[c].Step)
}

// NewTile returns the geometry of tile t with the parameters p.
func (s *Size) NewTile(t int, p *Params) *Tile {
	tile := &Tile{Index: t, Bounds: s.TileBounds(t), Components: make([]TileComponent, len(s.Components))}
	for c := range tile.Components {
		tile.Components[c] = newTileComponent(c, s.ComponentBounds(tile.Bounds, c), &p.Components[c])
	}
	return tile
}

func newTileComponent(index int, bounds image.Rectangle, c *Coding) TileComponent {
	t := TileComponent{Index: index, Bounds: bounds, Coding: c, Resolutions: make([]Resolution, c.Levels+1)}
	for r := range t.Resolutions {
		t.Resolutions[r] = newResolution(r, bounds, c)
	}
	return t
}

func newResolution(r int, bounds image.Rectangle, c *Coding) Resolution {
	res := Resolution{Index: r, Bounds: Reduce(bounds, c.Levels-r), PrecinctExp: c.PrecinctExp(r)}
	if !res.Bounds.Empty() {
		grid := res.precinctGrid()
		res.Precincts = grid.Size()
	}
	if r == 0 {
		res.Subbands = []Subband{newSubband(&res, LL, c.Levels, bounds, c, 0)}
		return res
	}
	level := c.Levels - r + 1
	for o := HL; o <= HH; o++ {
		res.Subbands = append(res.Subbands, newSubband(&res, o, level, bounds, c, 3*(r-1)+int(o)))
	}
	return res
}

// precinctGrid are the columns and rows of precincts, counted from the origin.
func (r *Resolution) precinctGrid() image.Rectangle {
	return image.Rect(r.Bounds.Min.X>>r.PrecinctExp.X, r.Bounds.Min.Y>>r.PrecinctExp.Y,
		ceilShift(r.Bounds.Max.X, r.PrecinctExp.X), ceilShift(r.Bounds.Max.Y, r.PrecinctExp.Y))
}

func newSubband(r *Resolution, o Orientation, level int, bounds image.Rectangle, c *Coding, index int) Subband {
	b := Subband{Orientation: o, Level: level, Bounds: subbandBounds(bounds, o, level), Step: c.Step(index), precinctExp: r.PrecinctExp}
	if o != LL {
		b.precinctExp = b.precinctExp.Sub(image.Pt(1, 1))
	}
	b.BlockExp = image.Pt(min(c.BlockExp.X, b.precinctExp.X), min(c.BlockExp.Y, b.precinctExp.Y))
	b.Planes = max(0, c.Quantization.Guard+b.Step.Exponent-1) + c.ROIShift
	grid := r.precinctGrid()
	b.firstX, b.firstY, b.wide = grid.Min.X, grid.Min.Y, r.Precincts.X
	return b
}

// subbandBounds is equation B-15.
func subbandBounds(t image.Rectangle, o Orientation, level int) image.Rectangle {
	if level == 0 {
		return t
	}
	half := 1 << (level - 1)
	shift := image.Pt(half*int(o&1), half*int(o>>1))
	return Reduce(t.Sub(shift), level)
}

// CodeBlocks is the number of code-blocks of the resolution.
func (r *Resolution) CodeBlocks() int64 {
	n := int64(0)
	for i := range r.Subbands {
		b := &r.Subbands[i]
		if b.Bounds.Empty() {
			continue
		}
		columns := (b.Bounds.Max.X-1)>>b.BlockExp.X - b.Bounds.Min.X>>b.BlockExp.X + 1
		rows := (b.Bounds.Max.Y-1)>>b.BlockExp.Y - b.Bounds.Min.Y>>b.BlockExp.Y + 1
		n += int64(columns) * int64(rows)
	}
	return n
}

// Precinct returns the blocks of precinct p, which is counted by rows.
func (b *Subband) Precinct(p int) BlockGrid {
	lo := image.Pt((b.firstX+p%b.wide)<<b.precinctExp.X, (b.firstY+p/b.wide)<<b.precinctExp.Y)
	area := image.Rectangle{lo, lo.Add(image.Pt(1<<b.precinctExp.X, 1<<b.precinctExp.Y))}.Intersect(b.Bounds)
	g := BlockGrid{Area: area, exp: b.BlockExp}
	if area.Empty() {
		return g
	}
	g.First = image.Pt(area.Min.X>>g.exp.X, area.Min.Y>>g.exp.Y)
	g.Blocks = image.Pt(ceilShift(area.Max.X, g.exp.X), ceilShift(area.Max.Y, g.exp.Y)).Sub(g.First)
	return g
}

// Block returns the samples of a code-block in the subband: that in column x and row y
// of the precinct.
func (g *BlockGrid) Block(x, y int) image.Rectangle {
	lo := image.Pt((g.First.X+x)<<g.exp.X, (g.First.Y+y)<<g.exp.Y)
	return image.Rectangle{lo, lo.Add(image.Pt(1<<g.exp.X, 1<<g.exp.Y))}.Intersect(g.Area)
}

// Reduce is r at 1/2^k of its width and height.
func Reduce(r image.Rectangle, k int) image.Rectangle {
	return image.Rectangle{
		image.Pt(ceilShift(r.Min.X, k), ceilShift(r.Min.Y, k)),
		image.Pt(ceilShift(r.Max.X, k), ceilShift(r.Max.Y, k)),
	}
}

// Divide is the samples of a component with the given step in a part of the reference grid.
func Divide(r image.Rectangle, step image.Point) image.Rectangle {
	return image.Rectangle{
		image.Pt(ceilDiv(r.Min.X, step.X), ceilDiv(r.Min.Y, step.Y)),
		image.Pt(ceilDiv(r.Max.X, step.X), ceilDiv(r.Max.Y, step.Y)),
	}
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func ceilShift(a, k int) int { return (a + 1<<k - 1) >> k }

// SubbandOf is the part of a subband of the next decomposition that belongs to the part r of
// a resolution (equation B-15 with one level).
func SubbandOf(r image.Rectangle, o Orientation) image.Rectangle { return subbandBounds(r, o, 1) }
