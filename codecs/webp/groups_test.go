package webp

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestHistogramsCountWhatTheStreamWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for _, size := range sizes {
		p := texture(r, size[0], size[1], true)
		for _, how := range []parse{{}, someParse(r, len(p.argb))} {
			for _, bits := range []int{0, 2, 3, 5} {
				g := entropyImage{bits, 1, nil}
				if bits > 0 {
					g = entropyImage{bits, 5, make([]uint16, tiles(p.w, bits)*tiles(p.h, bits))}
					for i := range g.group {
						g.group[i] = uint16(r.IntN(5))
					}
				}
				s := &stream{pixels: p, parse: how, entropy: g}
				want := slices.Concat(s.histograms(pools[0])...)
				for _, c := range pools {
					if got := histograms(c, &p, &how, false, g); !slices.Equal(got, want) {
						t.Fatalf("%dx%d, tiles of %d: the counts differ", p.w, p.h, 1<<bits)
					}
				}
			}
		}
	}
}

func TestPricesOfOpaqueImagesLeaveAlphaOut(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	p := texture(r, 33, 31, false)
	table := make([]uint16, cacheAt)
	for i := range table[redAt:] {
		table[redAt+i] = uint16(r.IntN(maxCost))
	}
	want := tileCosts(pools[0], &p, &parse{}, false, 3, table)
	for i := range redAt {
		table[i] = maxCost
	}
	if got := tileCosts(pools[0], &p, &parse{}, true, 3, table); !slices.Equal(got, want) {
		t.Errorf("%d, want %d", got, want)
	}
}

func TestHistogramsOfOpaqueImagesLeaveAlphaOut(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	p := texture(r, 33, 31, false)
	all, opaque := histograms(pools[0], &p, &parse{}, false, entropyImage{}), histograms(pools[0], &p, &parse{}, true, entropyImage{})
	if !slices.Equal(all[redAt:], opaque[redAt:]) {
		t.Error("other counts differ")
	}
	if slices.Max(opaque[:redAt]) != 0 {
		t.Error("alpha is counted")
	}
}

// tilePrice is the price of a tile from the histogram of it alone.
func tilePrice(p *pixels, how *parse, bits, q int, table []uint16) uint32 {
	of := make([]uint16, tiles(p.w, bits)*tiles(p.h, bits))
	of[q] = 1
	sum := uint32(0)
	for s, n := range histograms(pools[0], p, how, false, entropyImage{bits, 2, of})[how.symbols():] {
		sum += n * uint32(table[s])
	}
	return sum
}

func TestTilePricesAddUpTheSymbolsOfATile(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 3))
	for _, size := range sizes {
		p := texture(r, size[0], size[1], true)
		for _, how := range []parse{{}, someParse(r, len(p.argb))} {
			table := make([]uint16, how.symbols())
			for i := range table {
				table[i] = uint16(r.IntN(maxCost))
			}
			for _, c := range pools {
				for q, got := range tileCosts(c, &p, &how, false, 3, table) {
					if want := tilePrice(&p, &how, 3, q, table); got != want {
						t.Fatalf("%dx%d: tile %d costs %d, want %d", p.w, p.h, q, got, want)
					}
				}
			}
		}
	}
}

func TestAssignTakesTheCheapestGroupThatIsNear(t *testing.T) {
	bothWays(t, assignTakesTheCheapestGroupThatIsNear)
}

func assignTakesTheCheapestGroupThatIsNear(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const bits = 3
	for _, size := range sizes {
		p := texture(r, size[0], size[1], true)
		for _, how := range []parse{{}, someParse(r, len(p.argb))} {
			g := &costTables{
				entropy: entropyImage{bits, 5, make([]uint16, tiles(p.w, bits)*tiles(p.h, bits))},
				columns: tiles(p.w, bits),
				symbols: how.symbols(),
			}
			for i := range g.entropy.group {
				g.entropy.group[i] = uint16(r.IntN(5))
			}
			g.costs = make([]uint16, 5*g.symbols)
			for i := range g.costs {
				g.costs[i] = uint16(r.IntN(maxCost))
			}
			own := []uint32{100, 3000, 0, 50, closed}
			from := slices.Clone(g.entropy.group)
			for _, near := range []int{0, 1, 2} {
				for _, c := range pools {
					copy(g.entropy.group, from)
					regrets := assignGroups(c, &p, &how, g, own, near)
					wantRegrets := make([]uint64, 5)
					for q, got := range g.entropy.group {
						if from[q] == 4 {
							if got != 4 {
								t.Fatalf("%dx%d, near %d: tile %d leaves its closed group", p.w, p.h, near, q)
							}
							continue
						}
						want, best, second := 0, ^uint32(0), ^uint32(0)
						for k := range 5 {
							if near > 0 && (k < int(from[q])-near || k > int(from[q])+near) {
								continue
							}
							if s := own[k] + tilePrice(&p, &how, bits, q, g.table(k)); s < best {
								want, best, second = k, s, best
							} else {
								second = min(second, s)
							}
						}
						if int(got) != want {
							t.Fatalf("%dx%d, near %d: tile %d moves to %d, want %d", p.w, p.h, near, q, got, want)
						}
						wantRegrets[want] += uint64(min(second-best, noGroup))
					}
					if !slices.Equal(regrets, wantRegrets) {
						t.Fatalf("%dx%d, near %d: regrets %d, want %d", p.w, p.h, near, regrets, wantRegrets)
					}
				}
			}
		}
	}
}

func TestStartGroupsAreOfOneSizeAndOrderedByPrice(t *testing.T) {
	prices := []uint32{5, 1, 5, 9, 2, 5}
	if got, want := startGroups(prices, make([]bool, 6), 3), []uint16{1, 0, 1, 2, 0, 2}; got.groups != 3 || !slices.Equal(got.group, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := startGroups(prices, []bool{false, true, false, false, true, false}, 2), []uint16{0, 2, 0, 1, 2, 1}; got.groups != 3 || !slices.Equal(got.group, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestRenumberKeepsTheOrderOfFirstAppearance(t *testing.T) {
	g := entropyImage{2, 7, []uint16{4, 4, 0, 6, 0, 4}}
	g.renumber()
	if want := []uint16{0, 0, 1, 2, 1, 0}; g.groups != 3 || !slices.Equal(g.group, want) {
		t.Errorf("%d groups %v, want 3 %v", g.groups, g.group, want)
	}
}

func TestTilesAreSortedByPriceAndThenByPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 300 {
		list := make([]uint64, n)
		for i := range list {
			list[i] = uint64(r.Uint32()>>r.IntN(32))<<32 | uint64(i)
		}
		want := slices.Sorted(slices.Values(list))
		if got := sortedByCost(list); !slices.Equal(got, want) {
			t.Fatalf("%d tiles: %x, want %x", n, got, want)
		}
	}
}

// bothWays runs a test with vector instructions, if there are any, and without.
func bothWays(t *testing.T, test func(t *testing.T)) {
	if vectors {
		t.Run("avx2", test)
		vectors = false
		defer func() { vectors = true }()
	}
	t.Run("go", test)
}
