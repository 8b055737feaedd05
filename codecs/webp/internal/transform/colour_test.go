package transform

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
)

func TestRecolourIsUndoneByTheDecoder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for range codectest.Rounds(200000) {
		v, m := r.Uint32(), format.OpaqueBlack|r.Uint32()>>8
		if got := colourInverse(transformColour(v, m), m); got != v {
			t.Fatalf("%08x by %08x comes back as %08x", v, m, got)
		}
	}
}

func TestTransformColoursTakesTheElementsOfTheTile(t *testing.T) {
	eachWay(t, transformColoursTakesTheElementsOfTheTile)
}

func transformColoursTakesTheElementsOfTheTile(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	for _, size := range testimages.Sizes {
		p := testimages.Texture(r, size[0], size[1], true)
		for bits := 2; bits < 7; bits++ {
			_, m := someCosts(r, &p, bits, false)
			for _, c := range testimages.Pools {
				out := make([]uint32, len(p.ARGB))
				ApplyMultipliers(c, p.W, p.ARGB, m, out)
				for i, v := range out {
					e := m.Element[i/p.W>>bits*m.Columns+i%p.W>>bits]
					if colourInverse(v, e) != p.ARGB[i] {
						t.Fatalf("%dx%d, tiles of %d: pixel %d does not come back", p.W, p.H, 1<<bits, i)
					}
				}
			}
		}
	}
}

func TestMultipliersFollowTheLeastCost(t *testing.T) { eachWay(t, multipliersFollowTheLeastCost) }

func multipliersFollowTheLeastCost(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, size := range testimages.Sizes {
		p := testimages.Texture(r, size[0], size[1], true)
		for bits := 3; bits < 6; bits++ {
			for _, skip := range []int{1, 2, 16} {
				for _, length := range masks(r, p.W*p.H) {
					g, start := someCosts(r, &p, bits-1, false)
					start = &Multipliers{bits, format.Tiles(p.W, bits), start.Element[:format.Tiles(p.W, bits)*format.Tiles(p.H, bits)]}
					var own MultiplierCosts
					for i := range own {
						for j := range own[i] {
							own[i][j] = uint16(r.IntN(4000))
						}
					}
					want := slices.Clone(start.Element)
					for q := range want {
						want[q] = followCost(&p, q, skip, &own, g, length, start)
					}
					for _, c := range testimages.Pools {
						m := *start
						m.Element = slices.Clone(start.Element)
						ChooseMultipliers(c, p.W, p.H, p.ARGB, skip, ColourSteps, &own, g, length, &m)
						if !slices.Equal(m.Element, want) {
							t.Fatalf("%dx%d, tiles of %d:\n%08x, want\n%08x", p.W, p.H, 1<<bits, m.Element, want)
						}
					}
				}
			}
		}
	}
}

// followCost does what colours says, with whole sums over the pixels of the tile.
func followCost(p *format.Pixels, q, skip int, own *MultiplierCosts, g *entropy.CostTables, length []uint16, m *Multipliers) uint32 {
	cost := func(e uint32, channel int) int {
		sum := 0
		for y := q / m.Columns << m.Bits; y < min(p.H, (q/m.Columns+1)<<m.Bits); y += skip {
			for x := q % m.Columns << m.Bits; x < min(p.W, (q%m.Columns+1)<<m.Bits); x++ {
				if length != nil && length[y*p.W+x] != 0 {
					continue
				}
				table := g.Table(int(g.Entropy.Group[y>>g.Entropy.Bits*g.Columns+x>>g.Entropy.Bits]))
				c := split(transformColour(p.ARGB[y*p.W+x], e))
				sum += skip * int(table[[4]int{format.AlphaAt, format.RedAt, format.GreenAt, format.BlueAt}[channel]+c[channel]])
			}
		}
		if channel == 1 {
			return sum + int(own[2][e&255])
		}
		return sum + int(own[1][e>>8&255]) + int(own[0][e>>16&255])
	}
	element := func(r2b, g2b, g2r int) uint32 { return argb{255, r2b, g2b, g2r}.join() }
	c := split(m.Element[q])
	a, b, d := signed(c[3]), signed(c[2]), signed(c[1])
	for _, step := range ColourSteps {
		for _, v := range []int{a - step, a + step} {
			if v >= -128 && v < 128 && cost(element(d, b, v), 1) < cost(element(d, b, a), 1) {
				a = v
				break
			}
		}
	}
	for _, step := range ColourSteps {
		for range 2 {
			b0, d0 := b, d
			for _, v := range [][2]int{{b0 - step, d0}, {b0 + step, d0}, {b0, d0 - step}, {b0, d0 + step}} {
				if min(v[0], v[1]) >= -128 && max(v[0], v[1]) < 128 && cost(element(v[1], v[0], a), 3) < cost(element(d, b, a), 3) {
					b, d = v[0], v[1]
				}
			}
		}
	}
	return element(d, b, a)
}
