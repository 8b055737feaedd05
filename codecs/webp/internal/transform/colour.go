package transform

import (
	"sync"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// Multipliers are the elements of a colour transform: of each tile red-to-blue in red,
// green-to-blue in green, green-to-red in blue, and 255 in alpha (RFC 9649, 3.5.2). A nil
// *multipliers is no transform.
type Multipliers struct {
	Bits, Columns int
	Element       []uint32
}

// NoMultipliers are the elements that change nothing.
const NoMultipliers = 0xff000000

func NewMultipliers(w, h, bits int) *Multipliers {
	m := &Multipliers{bits, format.Tiles(w, bits), make([]uint32, format.Tiles(w, bits)*format.Tiles(h, bits))}
	for i := range m.Element {
		m.Element[i] = NoMultipliers
	}
	return m
}

// transformColour takes from red and blue of v what the multipliers m make of its green, and from
// blue also what they make of red (RFC 9649, 3.5.2).
func transformColour(v, m uint32) uint32 {
	green, red := int32(int8(v>>8)), int32(int8(v>>16))
	r := int32(v>>16) - int32(int8(m))*green>>5
	b := int32(v) - int32(int8(m>>8))*green>>5 - int32(int8(m>>16))*red>>5
	return v&0xff00ff00 | uint32(r&255)<<16 | uint32(b&255)
}

// transformRows transforms n residuals from pixel (x, y) on, by all modes, in place.
func (m *Multipliers) transformRows(rows *residualRows, x, y, n int) {
	if m == nil {
		return
	}
	for lo := 0; lo < n; {
		tx := (x + lo) >> m.Bits
		hi := min(n, (tx+1)<<m.Bits-x)
		if e := m.Element[y>>m.Bits*m.Columns+tx]; e != NoMultipliers {
			transformColourRows(rows, lo, hi, e)
		}
		lo = hi
	}
}

// transformColourRowsGo transforms residuals lo to hi-1 by all modes.
func transformColourRowsGo(rows *residualRows, lo, hi int, m uint32) {
	for k := range rows {
		transformColourRowGo(rows[k][lo:hi], rows[k][lo:hi], m)
	}
}

func transformColourRowGo(out, in []uint32, m uint32) {
	out = out[:len(in)]
	for i, v := range in {
		out[i] = transformColour(v, m)
	}
}

// ApplyMultipliers sets out to the residuals r of an image w wide after the colour
// transform m.
func ApplyMultipliers(c *pool.Pool, w int, r []uint32, m *Multipliers, out []uint32) {
	c.Spans(len(r)/w, rowsAtOnce, func(from, to int) {
		for y := from; y < to; y++ {
			for tx := range m.Columns {
				lo, hi := y*w+tx<<m.Bits, y*w+min(w, (tx+1)<<m.Bits)
				transformColourRow(out[lo:hi], r[lo:hi], m.Element[y>>m.Bits*m.Columns+tx])
			}
		}
	})
}

// MultiplierCosts is what each value of red-to-blue, green-to-blue and green-to-red
// costs, in 1/256 bit.
type MultiplierCosts [3][256]uint16

// ColourSteps are how far multipliers move, in turn: see ChooseMultipliers. The first reaches
// half a unit of green (RFC 9649, 3.5.2 has 32 for a whole one), the last is the least there
// is. The history has no measurement of other steps.
var ColourSteps = []int{16, 8, 4, 2, 1}

// ChooseMultipliers improves the multipliers m of each tile, starting from the present ones.
// They cost what own says, and as literals the residuals r after the transform in every
// skip-th row of the tile. First green-to-red moves by each of the steps in turn, once down
// or, where that saves nothing, up. Then green-to-blue and red-to-blue move together, by each
// of the steps in turn at most twice to the best of the four neighbours at that distance.
// Pixels whose length is not 0 are not counted; length may be nil.
func ChooseMultipliers(c *pool.Pool, w, h int, r []uint32, skip int, steps []int, own *MultiplierCosts, g *entropy.CostTables, length []uint16, m *Multipliers) {
	var blocks []byteCosts
	if hasVBMI {
		blocks = newByteCosts(g)
	}
	c.Spans(len(m.Element), 1, func(q, _ int) {
		s := samples.Get().(*tileSample)
		defer samples.Put(s)
		s.take(w, h, r, m.Bits, q%m.Columns, q/m.Columns, skip, g, length, blocks)
		e := m.Element[q]
		e = s.searchRed(e, steps, own)
		m.Element[q] = s.searchBlue(e, steps, own)
	})
}

// tileSample is the residuals of a tile, or some rows of them, by runs that lie in the
// same group; or the same in vectors.
type tileSample struct {
	px      []uint32
	runs    []sampleRun
	vectors []sampleVector
	skip    uint32
}

type sampleRun struct {
	end   int // in px
	table *entropy.LiteralCosts
}

// samples are those that nobody uses. Their contents do not matter.
var samples = sync.Pool{New: func() any { return new(tileSample) }}

// take goes through the tiles of groups in a tile, one after the other, so that
// runs are long. Where blocks has the costs of the groups, it makes vectors.
func (s *tileSample) take(w, h int, r []uint32, bits, tx, ty, skip int, g *entropy.CostTables, length []uint16, blocks []byteCosts) {
	s.px, s.runs, s.vectors, s.skip = s.px[:0], s.runs[:0], s.vectors[:0], uint32(skip)
	x1, y1 := min(w, (tx+1)<<bits), min(h, (ty+1)<<bits)
	side := 1 << bits
	if g.Entropy.Bits > 0 {
		side = min(side, 1<<g.Entropy.Bits)
	}
	y0 := ty << bits
	for top := y0; top < y1; top += side {
		for x := tx << bits; x < x1; x += side {
			end := min(x1, x+side)
			k := g.GroupAt(x, top)
			for y := y0 + (top-y0+skip-1)/skip*skip; y < min(y1, top+side); y += skip {
				line := r[y*w+x : y*w+end]
				l := masked(length, y*w+x, end-x)
				switch {
				case l == nil && blocks != nil:
					s.add(line, &blocks[k])
				case l == nil:
					s.px = append(s.px, line...)
				default:
					for i, v := range line {
						if l[i] != 0 {
							continue
						}
						if blocks != nil {
							s.add(line[i:i+1], &blocks[k])
						} else {
							s.px = append(s.px, v)
						}
					}
				}
			}
			if blocks != nil {
				continue
			}
			t := g.LiteralsAt(x, top)
			if n := len(s.runs); n > 0 && s.runs[n-1].table == t {
				s.runs[n-1].end = len(s.px)
			} else {
				s.runs = append(s.runs, sampleRun{len(s.px), t})
			}
		}
	}
}

// red is what all red residuals cost with green-to-red a, in 1/256 bit.
func (s *tileSample) red(a int, own *MultiplierCosts) uint32 {
	var sum uint32
	if len(s.vectors) > 0 {
		sum = redCost(s.vectors, a)
	} else {
		sum = s.cost(uint32(uint8(a)), format.RedAt)
	}
	return sum*s.skip + uint32(own[2][uint8(a)])
}

// blue is what all blue residuals cost with green-to-blue a and red-to-blue b.
func (s *tileSample) blue(a, b int, own *MultiplierCosts) uint32 {
	var sum uint32
	if len(s.vectors) > 0 {
		sum = blueCost(s.vectors, a, b)
	} else {
		sum = s.cost(uint32(uint8(a))<<8|uint32(uint8(b))<<16, format.BlueAt)
	}
	return sum*s.skip + uint32(own[1][uint8(a)]) + uint32(own[0][uint8(b)])
}

// cost is what the residuals cost, after the transform, in the channel whose symbols begin
// at RedAt or BlueAt.
func (s *tileSample) cost(m uint32, at int) (sum uint32) {
	from := 0
	for _, run := range s.runs {
		sum += channelCost(s.px[from:run.end], m, run.table, at)
		from = run.end
	}
	return sum
}

// channelCostGo is what red or blue costs after the transform with multipliers m.
func channelCostGo(px []uint32, m uint32, t *entropy.LiteralCosts, at int) (sum uint32) {
	shift := 0
	if at == format.RedAt {
		shift = 16
	}
	for _, v := range px {
		sum += uint32(t[at+int(transformColour(v, m)>>shift&255)])
	}
	return sum
}

func isMultiplier(v int) bool { return v >= -128 && v <= 127 }

func (s *tileSample) searchRed(e uint32, steps []int, own *MultiplierCosts) uint32 {
	a := int(int8(e))
	best := s.red(a, own)
	for _, d := range steps {
		for _, v := range [2]int{a - d, a + d} {
			if !isMultiplier(v) {
				continue
			}
			if sum := s.red(v, own); sum < best {
				best, a = sum, v
				break
			}
		}
	}
	return e&0xffffff00 | uint32(uint8(a))
}

func (s *tileSample) searchBlue(e uint32, steps []int, own *MultiplierCosts) uint32 {
	a, b := int(int8(e>>8)), int(int8(e>>16))
	best := s.blue(a, b, own)
	for _, d := range steps {
		for range 2 {
			a0, b0 := a, b
			for _, v := range [4][2]int{{a0 - d, b0}, {a0 + d, b0}, {a0, b0 - d}, {a0, b0 + d}} {
				if !isMultiplier(v[0]) || !isMultiplier(v[1]) {
					continue
				}
				if sum := s.blue(v[0], v[1], own); sum < best {
					best, a, b = sum, v[0], v[1]
				}
			}
			if a == a0 && b == b0 {
				break
			}
		}
	}
	return e&0xff0000ff | uint32(uint8(b))<<16 | uint32(uint8(a))<<8
}

// WithoutGreen returns p with green subtracted from red and blue of every pixel (RFC
// 9649, 4.3).
func WithoutGreen(c *pool.Pool, p format.Pixels) format.Pixels {
	out := format.Pixels{W: p.W, H: p.H, ARGB: make([]uint32, len(p.ARGB))}
	c.Spans(len(p.ARGB), 1<<16, func(lo, hi int) {
		to := out.ARGB[lo:hi]
		for i, v := range p.ARGB[lo:hi] {
			to[i] = SubtractGreenFrom(v)
		}
	})
	return out
}

func SubtractGreenFrom(v uint32) uint32 {
	rb := (0x01000100 + v&0x00ff00ff - v>>8&255*0x00010001) & 0x00ff00ff
	return v&0xff00ff00 | rb
}
