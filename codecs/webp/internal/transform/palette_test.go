package transform

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
)

func TestOrdersArePermutations(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 2, 3, 16, 17, 200} {
		p := testimages.Drawn(r, 61, 47, n)
		palette := PaletteOf(p.ARGB)
		for how := ByValue; how <= ByNeighbours; how++ {
			got := OrderPalette(p, palette, how)
			slices.Sort(got)
			if !slices.Equal(got, palette) {
				t.Errorf("%d colours, order %d: not the palette", n, how)
			}
		}
	}
}

func TestPalettesHaveAtMost256Colours(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 256: 256, 257: 0} {
		var argb []uint32
		for i := range 1000 {
			argb = append(argb, uint32(i%n)*0x01020304)
		}
		if got := PaletteOf(argb); len(got) != want {
			t.Errorf("%d colours: palette of %d, want %d", n, len(got), want)
		}
	}
}

func TestIndicesAreBundled(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{1, 2, 3, 4, 5, 16, 17, 256} {
		for _, w := range []int{1, 2, 7, 8, 9, 33} {
			p := testimages.Drawn(r, w, 5, n)
			palette := PaletteOf(p.ARGB)
			out := IndexPixels(p, palette)
			b := bundleBits(len(palette))
			per, depth := 1<<b, 8>>b
			for y := range p.H {
				for x := range p.W {
					v := out.ARGB[y*out.W+x/per] >> 8 & 255 >> (x % per * depth) & (1<<depth - 1)
					if palette[v] != p.ARGB[y*w+x] {
						t.Fatalf("%d colours, width %d: pixel (%d, %d) has index %d", n, w, x, y, v)
					}
				}
			}
		}
	}
}
