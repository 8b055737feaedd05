package tiff

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Planes of all lengths around the kernels' vectors become the pixels that the definition has, with nothing written
// behind them.
func TestInterleave(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, on := range []bool{false, true} {
		defer setVector(on)()
		for n := range 70 {
			for count := 2; count <= 6; count++ {
				for _, sample := range []int{1, 2} {
					for _, swap := range []bool{false, sample == 2} {
						planes := make([][]byte, count)
						for c := range planes {
							planes[c] = make([]byte, n*sample+rng.IntN(3))
							for i := range planes[c] {
								planes[c][i] = byte(rng.Uint32())
							}
						}
						var want []byte
						for i := range n {
							for _, plane := range planes {
								s := plane[i*sample:][:sample]
								if swap {
									s = []byte{s[1], s[0]}
								}
								want = append(want, s...)
							}
						}
						want = append(want, 0xa5)
						got := bytes.Repeat([]byte{0xa5}, len(want))
						NewPlanes(count, sample, swap).Interleave(got[:len(got)-1], planes)
						if !bytes.Equal(got, want) {
							t.Fatalf("kernels %v: %d planes of %d samples of %d bytes, swapped %v: %x, want %x", on, count, n, sample, swap, got, want)
						}
					}
				}
			}
		}
	}
}
