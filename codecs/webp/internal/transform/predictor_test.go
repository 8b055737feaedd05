package transform

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
)

func TestResidualsAreAsInTheSpecification(t *testing.T) { eachWay(t, residualsAreAsInTheSpecification) }

func residualsAreAsInTheSpecification(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for _, size := range testimages.Sizes {
		p := testimages.Texture(r, size[0], size[1], true)
		var rows residualRows
		for y := range p.H {
			for x := 0; x < p.W; x += span {
				n := min(span, p.W-x)
				residualRow(&p, x, y, n, &rows)
				for k := range rows {
					for i := range n {
						if want := residualAt(&p, x+i, y, k); rows[k][i] != want {
							t.Fatalf("%dx%d: mode %d at (%d, %d): %08x, want %08x", p.W, p.H, k, x+i, y, rows[k][i], want)
						}
					}
				}
			}
		}
	}
}

func TestResidualsTakeTheModeOfTheTile(t *testing.T) { eachWay(t, residualsTakeTheModeOfTheTile) }

func residualsTakeTheModeOfTheTile(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, size := range testimages.Sizes {
		p := testimages.Texture(r, size[0], size[1], true)
		for bits := 2; bits < 6; bits++ {
			tw := format.Tiles(p.W, bits)
			mode := make([]uint8, tw*format.Tiles(p.H, bits))
			for i := range mode {
				mode[i] = uint8(r.IntN(ModeCount))
			}
			for _, c := range testimages.Pools {
				out := make([]uint32, p.W*p.H)
				Residuals(c, &p, bits, mode, out)
				for i, v := range out {
					x, y := i%p.W, i/p.W
					if want := residualAt(&p, x, y, int(mode[y>>bits*tw+x>>bits])); v != want {
						t.Fatalf("%dx%d, tiles of %d: (%d, %d): %08x, want %08x", p.W, p.H, 1<<bits, x, y, v, want)
					}
				}
			}
		}
	}
}

// someCosts makes random tables and groups, and multipliers, of tiles of 1<<bits.
func someCosts(r *rand.Rand, p *format.Pixels, bits int, opaque bool) (*entropy.CostTables, *Multipliers) {
	g := &entropy.CostTables{
		Entropy: format.EntropyImage{Bits: bits, Groups: 5, Group: make([]uint16, format.Tiles(p.W, bits)*format.Tiles(p.H, bits))},
		Columns: format.Tiles(p.W, bits),
		Symbols: format.CacheAt,
		Costs:   make([]uint16, 5*format.CacheAt),
		Opaque:  opaque,
	}
	for i := range g.Costs {
		g.Costs[i] = uint16(r.IntN(entropy.MaxCost + 1))
	}
	for i := range g.Entropy.Group {
		g.Entropy.Group[i] = uint16(r.IntN(5))
	}
	m := NewMultipliers(p.W, p.H, bits)
	for i := range m.Element {
		if r.IntN(4) > 0 {
			m.Element[i] = format.OpaqueBlack | r.Uint32()>>8
		}
	}
	return g, m
}

// masks returns no mask and a random one.
func masks(r *rand.Rand, n int) [][]uint16 {
	m := make([]uint16, n)
	for i := range m {
		if r.IntN(3) == 0 {
			m[i] = format.Covered
		}
	}
	return [][]uint16{nil, m}
}

func TestPredictTakesTheCheapestMode(t *testing.T) { eachWay(t, predictTakesTheCheapestMode) }

func predictTakesTheCheapestMode(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for _, size := range testimages.Sizes {
		for bits := 2; bits < 6; bits++ {
			alpha := bits%2 == 0
			p := testimages.Texture(r, size[0], size[1], alpha)
			for i := range p.ARGB { // a quarter is flat, and another opaque
				switch 4 * i / len(p.ARGB) {
				case 1:
					p.ARGB[i] = p.ARGB[0]
				case 2:
					p.ARGB[i] |= format.OpaqueBlack
				}
			}
			g, m := someCosts(r, &p, min(8, bits+r.IntN(3)), !alpha)
			var own [ModeCount]uint32
			for k := range own {
				own[k] = uint32(r.IntN(2000))
			}
			for _, m := range []*Multipliers{nil, m} {
				for _, length := range masks(r, p.W*p.H) {
					skip := 1 << r.IntN(3)
					want := cheapestModes(&p, bits, skip, &own, m, g, length)
					for _, c := range testimages.Pools {
						got := make([]uint8, len(want))
						ChooseModes(c, &p, bits, skip, &own, m, g, length, got)
						if !slices.Equal(got, want) {
							t.Fatalf("%dx%d, tiles of %d:\n%v, want\n%v", p.W, p.H, 1<<bits, got, want)
						}
					}
				}
			}
		}
	}
}

func cheapestModes(p *format.Pixels, bits, skip int, own *[ModeCount]uint32, m *Multipliers, g *entropy.CostTables, length []uint16) []uint8 {
	tw := format.Tiles(p.W, bits)
	mode := make([]uint8, tw*format.Tiles(p.H, bits))
	for q := range mode {
		best := math.MaxInt
		for k := range ModeCount {
			sum := int(own[k])
			for y := q / tw << bits; y < min(p.H, (q/tw+1)<<bits); y += skip {
				for x := q % tw << bits; x < min(p.W, (q%tw+1)<<bits); x++ {
					if length != nil && length[y*p.W+x] != 0 {
						continue
					}
					v := residualAt(p, x, y, k)
					if m != nil {
						v = transformColour(v, m.Element[y>>m.Bits*m.Columns+x>>m.Bits])
					}
					table := g.Table(int(g.Entropy.Group[y>>g.Entropy.Bits*g.Columns+x>>g.Entropy.Bits]))
					c := split(v)
					sum += skip * (int(table[format.RedAt+c[1]]) + int(table[format.GreenAt+c[2]]) + int(table[format.BlueAt+c[3]]))
					if !g.Opaque {
						sum += skip * int(table[format.AlphaAt+c[0]])
					}
				}
			}
			if sum < best {
				best, mode[q] = sum, uint8(k)
			}
		}
	}
	return mode
}
