package bitstream

import (
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
)

// The bits of a small image are known without writing it.
func TestSmallBits(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	for _, size := range testimages.Sizes {
		for range codectest.Rounds(20) {
			s := &Stream{Pixels: testimages.Drawn(r, size[0], size[1], 1+r.IntN(300))}
			if r.IntN(2) == 0 {
				s.Parse = testimages.SomeParse(r, len(s.Pixels.ARGB))
			}
			s.makeCodes(testimages.Pools[0])
			w := &bitWriter{}
			s.writeImage(testimages.Pools[0], w, false)
			if got := s.smallBits(); got != w.len() {
				t.Fatalf("%dx%d: %d bits, want %d", size[0], size[1], got, w.len())
			}
			if s.Parse.Length == nil && LiteralImageBits(testimages.Pools[0], s.Pixels) != w.len() {
				t.Fatalf("%dx%d literals: other bits", size[0], size[1])
			}
		}
	}
}

// Literals are counted one by one, also where all of them differ in green alone.
func TestCountLiterals(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 54))
	for _, n := range []int{0, 1, 2, 3, 4, 5, 100} {
		for _, differ := range []uint32{0, 0xff00, 0xff, 0xff0000, 0xff000000, 0xffffffff} {
			argb, same := make([]uint32, n), r.Uint32()
			var got, want [format.CacheAt]uint32
			for i := range argb {
				v := same&^differ | r.Uint32()&differ
				argb[i] = v
				for at, symbol := range map[int]uint32{format.AlphaAt: v >> 24, format.RedAt: v >> 16, format.BlueAt: v, format.GreenAt: v >> 8} {
					want[at+int(symbol&255)]++
				}
			}
			if countLiterals(argb, &got); got != want {
				t.Fatalf("%d pixels that differ in %08x: %v, want %v", n, differ, got, want)
			}
		}
	}
}
