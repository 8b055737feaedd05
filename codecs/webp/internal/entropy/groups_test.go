package entropy

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
)

func TestHistogramsCountWhatTheStreamWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for _, size := range testimages.Sizes {
		p := testimages.Texture(r, size[0], size[1], true)
		for _, how := range []format.Parse{{}, testimages.SomeParse(r, len(p.ARGB))} {
			for _, bits := range []int{0, 2, 3, 5} {
				g := format.EntropyImage{Bits: bits, Groups: 1, Group: nil}
				if bits > 0 {
					g = format.EntropyImage{Bits: bits, Groups: 5, Group: make([]uint16, format.Tiles(p.W, bits)*format.Tiles(p.H, bits))}
					for i := range g.Group {
						g.Group[i] = uint16(r.IntN(5))
					}
				}
				s := &bitstream.Stream{Pixels: p, Parse: how, Entropy: g}
				want := slices.Concat(s.Histograms(testimages.Pools[0])...)
				for _, c := range testimages.Pools {
					if got := Histograms(c, &p, &how, false, g); !slices.Equal(got, want) {
						t.Fatalf("%dx%d, tiles of %d: the counts differ", p.W, p.H, 1<<bits)
					}
				}
			}
		}
	}
}

func TestCostsOfOpaqueImagesLeaveAlphaOut(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	p := testimages.Texture(r, 33, 31, false)
	table := make([]uint16, format.CacheAt)
	for i := range table[format.RedAt:] {
		table[format.RedAt+i] = uint16(r.IntN(MaxCost))
	}
	want := TileCosts(testimages.Pools[0], &p, &format.Parse{}, false, 3, table)
	for i := range format.RedAt {
		table[i] = MaxCost
	}
	if got := TileCosts(testimages.Pools[0], &p, &format.Parse{}, true, 3, table); !slices.Equal(got, want) {
		t.Errorf("%d, want %d", got, want)
	}
}

func TestHistogramsOfOpaqueImagesLeaveAlphaOut(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	p := testimages.Texture(r, 33, 31, false)
	all, opaque := Histograms(testimages.Pools[0], &p, &format.Parse{}, false, format.EntropyImage{}), Histograms(testimages.Pools[0], &p, &format.Parse{}, true, format.EntropyImage{})
	if !slices.Equal(all[format.RedAt:], opaque[format.RedAt:]) {
		t.Error("other counts differ")
	}
	if slices.Max(opaque[:format.RedAt]) != 0 {
		t.Error("alpha is counted")
	}
}

// tileCost is the cost of a tile from the histogram of it alone.
func tileCost(p *format.Pixels, how *format.Parse, bits, q int, table []uint16) uint32 {
	of := make([]uint16, format.Tiles(p.W, bits)*format.Tiles(p.H, bits))
	of[q] = 1
	sum := uint32(0)
	for s, n := range Histograms(testimages.Pools[0], p, how, false, format.EntropyImage{Bits: bits, Groups: 2, Group: of})[how.Symbols():] {
		sum += n * uint32(table[s])
	}
	return sum
}

func TestTileCostsAddUpTheSymbolsOfATile(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 3))
	for _, size := range testimages.Sizes {
		p := testimages.Texture(r, size[0], size[1], true)
		for _, how := range []format.Parse{{}, testimages.SomeParse(r, len(p.ARGB))} {
			table := make([]uint16, how.Symbols())
			for i := range table {
				table[i] = uint16(r.IntN(MaxCost))
			}
			for _, c := range testimages.Pools {
				for q, got := range TileCosts(c, &p, &how, false, 3, table) {
					if want := tileCost(&p, &how, 3, q, table); got != want {
						t.Fatalf("%dx%d: tile %d costs %d, want %d", p.W, p.H, q, got, want)
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
	for _, size := range testimages.Sizes {
		p := testimages.Texture(r, size[0], size[1], true)
		for _, how := range []format.Parse{{}, testimages.SomeParse(r, len(p.ARGB))} {
			g := &CostTables{
				Entropy: format.EntropyImage{Bits: bits, Groups: 5, Group: make([]uint16, format.Tiles(p.W, bits)*format.Tiles(p.H, bits))},
				Columns: format.Tiles(p.W, bits),
				Symbols: how.Symbols(),
			}
			for i := range g.Entropy.Group {
				g.Entropy.Group[i] = uint16(r.IntN(5))
			}
			g.Costs = make([]uint16, 5*g.Symbols)
			for i := range g.Costs {
				g.Costs[i] = uint16(r.IntN(MaxCost))
			}
			own := []uint32{100, 3000, 0, 50, Closed}
			from := slices.Clone(g.Entropy.Group)
			for _, near := range []int{0, 1, 2} {
				for _, c := range testimages.Pools {
					copy(g.Entropy.Group, from)
					regrets := AssignGroups(c, &p, &how, g, own, near)
					wantRegrets := make([]uint64, 5)
					for q, got := range g.Entropy.Group {
						if from[q] == 4 {
							if got != 4 {
								t.Fatalf("%dx%d, near %d: tile %d leaves its closed group", p.W, p.H, near, q)
							}
							continue
						}
						want, best, second := 0, ^uint32(0), ^uint32(0)
						for k := range 5 {
							if near > 0 && (k < int(from[q])-near || k > int(from[q])+near) {
								continue
							}
							if s := own[k] + tileCost(&p, &how, bits, q, g.Table(k)); s < best {
								want, best, second = k, s, best
							} else {
								second = min(second, s)
							}
						}
						if int(got) != want {
							t.Fatalf("%dx%d, near %d: tile %d moves to %d, want %d", p.W, p.H, near, q, got, want)
						}
						wantRegrets[want] += uint64(min(second-best, NoGroup))
					}
					if !slices.Equal(regrets, wantRegrets) {
						t.Fatalf("%dx%d, near %d: regrets %d, want %d", p.W, p.H, near, regrets, wantRegrets)
					}
				}
			}
		}
	}
}

func TestStartGroupsAreOfOneSizeAndOrderedByPrice(t *testing.T) {
	costs := []uint32{5, 1, 5, 9, 2, 5}
	if got, want := StartGroups(costs, make([]bool, 6), 3), []uint16{1, 0, 1, 2, 0, 2}; got.Groups != 3 || !slices.Equal(got.Group, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := StartGroups(costs, []bool{false, true, false, false, true, false}, 2), []uint16{0, 2, 0, 1, 2, 1}; got.Groups != 3 || !slices.Equal(got.Group, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTilesAreSortedByPriceAndThenByPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range codectest.Rounds(300) {
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

// A tile has the same symbols both ways, and opaque images the same counts but for alpha.
func TestSymbolsOfOpaqueTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 6))
	kept := vectors
	defer func() { vectors = kept }()
	for _, size := range testimages.Sizes {
		p := testimages.Texture(r, size[0], size[1], false)
		for _, bits := range []int{2, 3, 4} {
			g := format.EntropyImage{Bits: bits, Groups: 5, Group: make([]uint16, format.Tiles(p.W, bits)*format.Tiles(p.H, bits))}
			for i := range g.Group {
				g.Group[i] = uint16(r.IntN(5))
			}
			for tile := range g.Group {
				var lists [2][]uint16
				for i, way := range []bool{kept, false} {
					vectors = way
					lists[i] = tileSymbols([]uint16{7}, &p, &format.Parse{}, true, bits, tile%format.Tiles(p.W, bits), tile/format.Tiles(p.W, bits))
					slices.Sort(lists[i][1:])
				}
				if !slices.Equal(lists[0], lists[1]) {
					t.Fatalf("%dx%d, tile %d of %d: other symbols", p.W, p.H, tile, 1<<bits)
				}
			}
			want, got := Histograms(testimages.Pools[0], &p, &format.Parse{}, false, g), Histograms(testimages.Pools[0], &p, &format.Parse{}, true, g)
			for k := range g.Groups {
				clear(want[k*format.CacheAt:][:format.RedAt])
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%dx%d, tiles of %d: other counts", p.W, p.H, 1<<bits)
			}
		}
	}
}

func TestMovedHistograms(t *testing.T) { bothWays(t, movedHistograms) }

func movedHistograms(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	const groups = 5
	for _, size := range append(testimages.Sizes, [2]int{97, 61}) {
		for _, alpha := range []bool{false, true} {
			p := testimages.Texture(r, size[0], size[1], alpha)
			for _, how := range []format.Parse{{}, testimages.SomeParse(r, len(p.ARGB))} {
				for _, bits := range []int{2, 3, 5} {
					g := format.EntropyImage{Bits: bits, Groups: groups, Group: make([]uint16, format.Tiles(p.W, bits)*format.Tiles(p.H, bits))}
					for i := range g.Group {
						g.Group[i] = uint16(r.IntN(groups))
					}
					for _, c := range testimages.Pools {
						for _, share := range []int{1, 2, 5, 20, 1 << 20} {
							counts, before := Histograms(c, &p, &how, !alpha, g), slices.Clone(g.Group)
							moves := 0
							for i, k := range g.Group {
								if r.IntN(share) == 0 {
									g.Group[i] = uint16(r.IntN(groups))
								}
								if g.Group[i] != k {
									moves++
								}
							}
							got, ok := MovedHistograms(c, &p, &how, !alpha, g, before, counts)
							if ok != (3*moves <= len(before)) {
								t.Fatalf("%dx%d: %d of %d tiles moved, and it says %v", p.W, p.H, moves, len(before), ok)
							}
							if want := Histograms(c, &p, &how, !alpha, g); ok && !slices.Equal(got, want) {
								t.Fatalf("%dx%d, tiles of 2^%d: other counts where %d tiles moved", p.W, p.H, bits, moves)
							}
						}
					}
				}
			}
		}
	}
}
