package bitplane_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// Two blocks of any sizes and styles are encoded at a time as one after the other, also where one has far more
// passes or none.
func TestPair(t *testing.T) {
	p := bitplane.NewPair()
	var alone bitplane.Encoder
	for style := range codestream.BlockStyle(64) {
		for n := range 4 {
			r := rand.New(rand.NewPCG(uint64(style), uint64(n)))
			measure := n == 3
			p.First.Measure, p.Second.Measure, alone.Measure = measure, measure, measure
			var blocks [2]bitplane.Block
			for i := range blocks {
				w, h, planes := 1+r.IntN(64), 1+r.IntN(64), r.IntN(16)
				if n == 1 {
					w, h = 64, 64
				}
				samples := make([]int32, w*h)
				if planes > 0 {
					samples = coefficients(r, w*h, planes)
				}
				blocks[i] = bitplane.Block{Samples: samples, Stride: w, Width: w, Height: h, Orientation: codestream.Orientation(r.IntN(4))}
			}
			var got [2]bitplane.Coded
			got[0], got[1] = p.Encode(blocks[0], blocks[1], style)
			for i, b := range blocks {
				want := alone.Encode(b.Samples, b.Stride, b.Width, b.Height, b.Orientation, style)
				if got[i].Planes != want.Planes || !bytes.Equal(got[i].Data, want.Data) || !slices.Equal(got[i].Passes, want.Passes) {
					t.Fatalf("style %#x, block %d of %d x %d and %d x %d: other bytes", style, i, blocks[0].Width, blocks[0].Height, blocks[1].Width, blocks[1].Height)
				}
			}
		}
	}
}
