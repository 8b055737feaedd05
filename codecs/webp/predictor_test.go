package webp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestResidualsAreAsInTheSpecification(t *testing.T) { eachWay(t, residualsAreAsInTheSpecification) }

func residualsAreAsInTheSpecification(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for _, size := range sizes {
		p := texture(r, size[0], size[1], true)
		var rows residualRows
		for y := range p.h {
			for x := 0; x < p.w; x += span {
				n := min(span, p.w-x)
				residualRow(&p, x, y, n, &rows)
				for k := range rows {
					for i := range n {
						if want := residualAt(&p, x+i, y, k); rows[k][i] != want {
							t.Fatalf("%dx%d: mode %d at (%d, %d): %08x, want %08x", p.w, p.h, k, x+i, y, rows[k][i], want)
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
	for _, size := range sizes {
		p := texture(r, size[0], size[1], true)
		for bits := 2; bits < 6; bits++ {
			tw := tiles(p.w, bits)
			mode := make([]uint8, tw*tiles(p.h, bits))
			for i := range mode {
				mode[i] = uint8(r.IntN(modeCount))
			}
			for _, c := range pools {
				out := make([]uint32, p.w*p.h)
				residuals(c, &p, bits, mode, out)
				for i, v := range out {
					x, y := i%p.w, i/p.w
					if want := residualAt(&p, x, y, int(mode[y>>bits*tw+x>>bits])); v != want {
						t.Fatalf("%dx%d, tiles of %d: (%d, %d): %08x, want %08x", p.w, p.h, 1<<bits, x, y, v, want)
					}
				}
			}
		}
	}
}

// somePricing makes random tables and groups, and multipliers, of tiles of 1<<bits.
func somePricing(r *rand.Rand, p *pixels, bits int, opaque bool) (*costTables, *multipliers) {
	g := &costTables{
		entropy: entropyImage{bits, 5, make([]uint16, tiles(p.w, bits)*tiles(p.h, bits))},
		columns: tiles(p.w, bits),
		symbols: cacheAt,
		costs:   make([]uint16, 5*cacheAt),
		opaque:  opaque,
	}
	for i := range g.costs {
		g.costs[i] = uint16(r.IntN(maxCost + 1))
	}
	for i := range g.entropy.group {
		g.entropy.group[i] = uint16(r.IntN(5))
	}
	m := newMultipliers(p.w, p.h, bits)
	for i := range m.element {
		if r.IntN(4) > 0 {
			m.element[i] = opaqueBlack | r.Uint32()>>8
		}
	}
	return g, m
}

// masks returns no mask and a random one.
func masks(r *rand.Rand, n int) [][]uint16 {
	m := make([]uint16, n)
	for i := range m {
		if r.IntN(3) == 0 {
			m[i] = covered
		}
	}
	return [][]uint16{nil, m}
}

func TestPredictTakesTheCheapestMode(t *testing.T) { eachWay(t, predictTakesTheCheapestMode) }

func predictTakesTheCheapestMode(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for _, size := range sizes {
		for bits := 2; bits < 6; bits++ {
			alpha := bits%2 == 0
			p := texture(r, size[0], size[1], alpha)
			for i := range p.argb { // a quarter is flat, and another opaque
				switch 4 * i / len(p.argb) {
				case 1:
					p.argb[i] = p.argb[0]
				case 2:
					p.argb[i] |= opaqueBlack
				}
			}
			g, m := somePricing(r, &p, min(8, bits+r.IntN(3)), !alpha)
			var own [modeCount]uint32
			for k := range own {
				own[k] = uint32(r.IntN(2000))
			}
			for _, m := range []*multipliers{nil, m} {
				for _, length := range masks(r, p.w*p.h) {
					skip := 1 << r.IntN(3)
					want := cheapestModes(&p, bits, skip, &own, m, g, length)
					for _, c := range pools {
						got := make([]uint8, len(want))
						chooseModes(c, &p, bits, skip, &own, m, g, length, got)
						if !slices.Equal(got, want) {
							t.Fatalf("%dx%d, tiles of %d:\n%v, want\n%v", p.w, p.h, 1<<bits, got, want)
						}
					}
				}
			}
		}
	}
}

func cheapestModes(p *pixels, bits, skip int, own *[modeCount]uint32, m *multipliers, g *costTables, length []uint16) []uint8 {
	tw := tiles(p.w, bits)
	mode := make([]uint8, tw*tiles(p.h, bits))
	for q := range mode {
		best := math.MaxInt
		for k := range modeCount {
			sum := int(own[k])
			for y := q / tw << bits; y < min(p.h, (q/tw+1)<<bits); y += skip {
				for x := q % tw << bits; x < min(p.w, (q%tw+1)<<bits); x++ {
					if length != nil && length[y*p.w+x] != 0 {
						continue
					}
					v := residualAt(p, x, y, k)
					if m != nil {
						v = transformColour(v, m.element[y>>m.bits*m.columns+x>>m.bits])
					}
					table := g.table(int(g.entropy.group[y>>g.entropy.bits*g.columns+x>>g.entropy.bits]))
					c := split(v)
					sum += skip * (int(table[redAt+c[1]]) + int(table[greenAt+c[2]]) + int(table[blueAt+c[3]]))
					if !g.opaque {
						sum += skip * int(table[alphaAt+c[0]])
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
