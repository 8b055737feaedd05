package jpeg2000

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// The samples and components of any number of pixels are those that Go makes, also where
// components are beyond all that samples give.
func TestRGB8IsTheTransformOfTheStandard(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 100 {
		var c, want [3][]int32
		for i := range c {
			c[i], want[i] = make([]int32, n), make([]int32, n)
		}
		src := make([]byte, 3*n)
		for i := range src {
			src[i] = byte(rng.Uint32())
		}
		forwardRGB8(c[0], c[1], c[2], src)
		forwardRGB8Go(want[0], want[1], want[2], src)
		for i := range c {
			if !slices.Equal(c[i], want[i]) {
				t.Fatalf("%d pixels, component %d: %v, want %v", n, i, c[i], want[i])
			}
		}
		got, back := make([]byte, 3*n), make([]byte, 3*n)
		if inverseRGB8(got, c[0], c[1], c[2]); !bytes.Equal(got, src) {
			t.Fatalf("%d pixels do not come back: %v, want %v", n, got, src)
		}
		for i := range c {
			for j := range c[i] {
				c[i][j] = int32(rng.Uint32()) >> (2 + rng.IntN(28))
			}
		}
		inverseRGB8(got, c[0], c[1], c[2])
		if inverseRGB8Go(back, c[0], c[1], c[2]); !bytes.Equal(got, back) {
			t.Fatalf("%d pixels of any components: %v, want %v", n, got, back)
		}
	}
}
