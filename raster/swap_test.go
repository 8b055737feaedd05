package raster

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Words of all lengths around the kernel's blocks are swapped, into other memory and in place, and nothing behind them.
func TestSwapBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, on := range []bool{false, true} {
		defer setVector(on)()
		for n := range 300 {
			from := make([]byte, n+rng.IntN(3))
			for i := range from {
				from[i] = byte(1 << rng.IntN(8) >> rng.IntN(20))
			}
			want, all := bytes.Repeat([]byte{0xa5}, n+3), uint16(0)
			for i := 0; i+1 < n; i += 2 {
				want[i], want[i+1] = from[i+1], from[i]
				all |= uint16(from[i])<<8 | uint16(from[i+1])
			}
			got := bytes.Repeat([]byte{0xa5}, n+3)
			if any := SwapBytes(got[:n], from); any != all || !bytes.Equal(got, want) {
				t.Fatalf("kernel %v, %d bytes: %x of %04x, want %x of %04x", on, n, got, any, want, all)
			}
			if any := SwapBytes(from[:n], from); any != all || !bytes.Equal(from[:n&^1], want[:n&^1]) {
				t.Fatalf("kernel %v, %d bytes in place: %x of %04x, want %x of %04x", on, n, from, any, want, all)
			}
		}
	}
}
