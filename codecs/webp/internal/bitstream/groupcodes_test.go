package bitstream

import (
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
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
