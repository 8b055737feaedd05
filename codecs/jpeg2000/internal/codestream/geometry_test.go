package codestream

import (
	"fmt"
	"image"
	"testing"
)

// params are those of one component with the given levels.
func params(components, levels int) *Params {
	p := &Params{Layers: 1}
	for range components {
		c := Coding{Levels: levels, BlockExp: image.Pt(6, 6), Transform: Reversible53}
		c.Quantization = Quantization{Guard: 2, Steps: make([]Step, 3*levels+1)}
		for i := range c.Quantization.Steps {
			c.Quantization.Steps[i].Exponent = 8 + i%3
		}
		p.Components = append(p.Components, c)
	}
	return p
}

// Every sample of a tile-component is in one subband, and every sample of a subband in
// one code-block of one precinct, wherever tiles begin and whatever the precincts.
func TestGeometryPartsTheSamples(t *testing.T) {
	precincts := [][]image.Point{nil, {{0, 0}, {1, 1}, {2, 3}, {4, 2}}, {{7, 7}, {6, 8}, {7, 7}, {5, 5}}}
	for _, s := range []Size{
		{Image: image.Rect(0, 0, 1, 1), Tile: image.Pt(1, 1)},
		{Image: image.Rect(0, 0, 65, 63), Tile: image.Pt(65, 63)},
		{Image: image.Rect(5, 3, 138, 97), Tile: image.Pt(40, 33), TileOrigin: image.Pt(2, 3)},
		{Image: image.Rect(1, 128, 77, 189), Tile: image.Pt(80, 70), TileOrigin: image.Pt(1, 120)},
	} {
		s.Components = []Component{{Bits: 8, Step: image.Pt(1, 1)}, {Bits: 8, Step: image.Pt(2, 3)}}
		for _, pp := range precincts {
			p := params(2, 3)
			for c := range p.Components {
				p.Components[c].Precincts = pp
				p.Components[c].BlockExp = image.Pt(3, 4)
			}
			t.Run(fmt.Sprint(s.Image, pp), func(t *testing.T) {
				covered := [2]int{}
				for i := range s.Tiles().X * s.Tiles().Y {
					for c, tc := range s.NewTile(i, p).Components {
						covered[c] += checkComponent(t, &tc)
					}
				}
				for c := range covered {
					if whole := s.ComponentBounds(s.Image, c); covered[c] != whole.Dx()*whole.Dy() {
						t.Errorf("component %d: %d samples of %v", c, covered[c], whole)
					}
				}
			})
		}
	}
}

func checkComponent(t *testing.T, tc *TileComponent) (samples int) {
	if top := tc.Resolutions[len(tc.Resolutions)-1].Bounds; top.Size() != tc.Bounds.Size() && !tc.Bounds.Empty() {
		t.Errorf("the highest resolution is %v of %v", top, tc.Bounds)
	}
	for _, r := range tc.Resolutions {
		blocks := int64(0)
		for _, b := range r.Subbands {
			seen := map[image.Point]bool{}
			for p := range r.Precincts.X * r.Precincts.Y {
				g := b.Precinct(p)
				for y := range g.Blocks.Y {
					for x := range g.Blocks.X {
						area := g.Block(x, y)
						blocks++
						if area.Empty() || !area.In(b.Bounds) {
							t.Fatalf("block %v of %v", area, b.Bounds)
						}
						for py := area.Min.Y; py < area.Max.Y; py++ {
							for px := area.Min.X; px < area.Max.X; px++ {
								if seen[image.Pt(px, py)] {
									t.Fatalf("%v lies in two blocks", image.Pt(px, py))
								}
								seen[image.Pt(px, py)] = true
							}
						}
					}
				}
			}
			if n := b.Bounds.Dx() * b.Bounds.Dy(); len(seen) != n {
				t.Errorf("resolution %d %v: blocks hold %d of %d samples", r.Index, b.Orientation, len(seen), n)
			}
			samples += b.Bounds.Dx() * b.Bounds.Dy()
		}
		if blocks != r.CodeBlocks() {
			t.Errorf("resolution %d: %d code-blocks, counted %d", r.Index, blocks, r.CodeBlocks())
		}
	}
	return samples
}

// The subbands of a line of samples are the even and the odd ones, counted on the grid
// of the component (B.5).
func TestSubbandBounds(t *testing.T) {
	for _, tt := range []struct {
		lo, hi    int
		low, high [2]int
	}{
		{0, 8, [2]int{0, 4}, [2]int{0, 4}},
		{1, 8, [2]int{1, 4}, [2]int{0, 4}},
		{3, 4, [2]int{2, 2}, [2]int{1, 2}},
		{4, 5, [2]int{2, 3}, [2]int{2, 2}},
	} {
		r := image.Rect(tt.lo, 0, tt.hi, 1)
		low, high := subbandBounds(r, LL, 1), subbandBounds(r, HL, 1)
		if got := [2]int{low.Min.X, low.Max.X}; got != tt.low {
			t.Errorf("%d to %d: low-pass %v, want %v", tt.lo, tt.hi, got, tt.low)
		}
		if got := [2]int{high.Min.X, high.Max.X}; got != tt.high {
			t.Errorf("%d to %d: high-pass %v, want %v", tt.lo, tt.hi, got, tt.high)
		}
	}
}

func TestDerivedSteps(t *testing.T) {
	c := Coding{Levels: 2, Quantization: Quantization{Style: ScalarDerived, Steps: []Step{{10, 7}}}}
	for i, want := range []int{10, 10, 10, 10, 9, 9, 9} {
		if got := c.Step(i); got != (Step{want, 7}) {
			t.Errorf("subband %d: %v, want exponent %d", i, got, want)
		}
	}
}
