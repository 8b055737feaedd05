package bitplane_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane/bitplanetest"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// Code-blocks of all styles, whole, cut, damaged and random, are decoded as the reference decodes
// them.
func TestDamagedBlocks(t *testing.T) {
	each := 60
	if testing.Short() {
		each = 8
	}
	for style := range codestream.BlockStyle(64) {
		for n := range each {
			b := bitplanetest.Block(rand.New(rand.NewPCG(uint64(style), uint64(n))), style, 64)
			got := make([]int32, b.Width*b.Height)
			if err := bitplane.Decode(got, b.Width, b); err != nil {
				t.Fatalf("style %#x, block %d: %v", style, n, err)
			}
			if want := referenceDecode(b, 1); !slices.Equal(got, want) {
				t.Fatalf("style %#x, block %d, %dx%d, %d bit-planes: not decoded as the reference does", style, n, b.Width, b.Height, b.Planes-b.ZeroPlanes)
			}
		}
	}
}
