package webp

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRecolourIsUndoneByTheDecoder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for range 200000 {
		v, m := r.Uint32(), opaqueBlack|r.Uint32()>>8
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
	for _, size := range sizes {
		p := texture(r, size[0], size[1], true)
		for bits := 2; bits < 7; bits++ {
			_, m := somePricing(r, &p, bits, false)
			for _, c := range pools {
				out := make([]uint32, len(p.argb))
				applyMultipliers(c, p.w, p.argb, m, out)
				for i, v := range out {
					e := m.element[i/p.w>>bits*m.columns+i%p.w>>bits]
					if colourInverse(v, e) != p.argb[i] {
						t.Fatalf("%dx%d, tiles of %d: pixel %d does not come back", p.w, p.h, 1<<bits, i)
					}
				}
			}
		}
	}
}

func TestColoursFollowsTheLeastPrice(t *testing.T) { eachWay(t, coloursFollowsTheLeastPrice) }

func coloursFollowsTheLeastPrice(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, size := range sizes {
		p := texture(r, size[0], size[1], true)
		for bits := 3; bits < 6; bits++ {
			for _, skip := range []int{1, 2, 16} {
				for _, length := range masks(r, p.w*p.h) {
					g, start := somePricing(r, &p, bits-1, false)
					start = &multipliers{bits, tiles(p.w, bits), start.element[:tiles(p.w, bits)*tiles(p.h, bits)]}
					var own multiplierCosts
					for i := range own {
						for j := range own[i] {
							own[i][j] = uint16(r.IntN(4000))
						}
					}
					want := slices.Clone(start.element)
					for q := range want {
						want[q] = followPrice(&p, q, skip, &own, g, length, start)
					}
					for _, c := range pools {
						m := *start
						m.element = slices.Clone(start.element)
						chooseMultipliers(c, p.w, p.h, p.argb, skip, colourSteps, &own, g, length, &m)
						if !slices.Equal(m.element, want) {
							t.Fatalf("%dx%d, tiles of %d:\n%08x, want\n%08x", p.w, p.h, 1<<bits, m.element, want)
						}
					}
				}
			}
		}
	}
}

// followPrice does what colours says, with whole sums over the pixels of the tile.
func followPrice(p *pixels, q, skip int, own *multiplierCosts, g *costTables, length []uint16, m *multipliers) uint32 {
	price := func(e uint32, channel int) int {
		sum := 0
		for y := q / m.columns << m.bits; y < min(p.h, (q/m.columns+1)<<m.bits); y += skip {
			for x := q % m.columns << m.bits; x < min(p.w, (q%m.columns+1)<<m.bits); x++ {
				if length != nil && length[y*p.w+x] != 0 {
					continue
				}
				table := g.table(int(g.entropy.group[y>>g.entropy.bits*g.columns+x>>g.entropy.bits]))
				c := split(transformColour(p.argb[y*p.w+x], e))
				sum += skip * int(table[[4]int{alphaAt, redAt, greenAt, blueAt}[channel]+c[channel]])
			}
		}
		if channel == 1 {
			return sum + int(own[2][e&255])
		}
		return sum + int(own[1][e>>8&255]) + int(own[0][e>>16&255])
	}
	element := func(r2b, g2b, g2r int) uint32 { return argb{255, r2b, g2b, g2r}.join() }
	c := split(m.element[q])
	a, b, d := signed(c[3]), signed(c[2]), signed(c[1])
	for _, step := range colourSteps {
		for _, v := range []int{a - step, a + step} {
			if v >= -128 && v < 128 && price(element(d, b, v), 1) < price(element(d, b, a), 1) {
				a = v
				break
			}
		}
	}
	for _, step := range colourSteps {
		for range 2 {
			b0, d0 := b, d
			for _, v := range [][2]int{{b0 - step, d0}, {b0 + step, d0}, {b0, d0 - step}, {b0, d0 + step}} {
				if min(v[0], v[1]) >= -128 && max(v[0], v[1]) < 128 && price(element(v[1], v[0], a), 3) < price(element(d, b, a), 3) {
					b, d = v[0], v[1]
				}
			}
		}
	}
	return element(d, b, a)
}
