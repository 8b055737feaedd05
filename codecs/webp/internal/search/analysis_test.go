package search

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// Keys that are made together count what keys one by one do.
func TestAnalyseBothWays(t *testing.T) {
	if !hasAVX512 {
		t.Skip("SKIPPED: this processor has no AVX-512")
	}
	defer func() { hasAVX512 = true }()
	r := rand.New(rand.NewPCG(31, 32))
	for round := range 400 {
		p := format.Pixels{W: 1 + r.IntN(70), H: 1 + r.IntN(9)}
		p.ARGB = make([]uint32, p.W*p.H)
		colours := 1 + r.IntN(1+round)
		for i := range p.ARGB {
			p.ARGB[i] = uint32(r.IntN(colours)) * 0x01020305
			if i >= 40 && r.IntN(3) == 0 { // a part that repeats
				copy(p.ARGB[max(0, i-8):i+1], p.ARGB[i-40:])
			}
		}
		hasAVX512 = true
		got := fmt.Sprint(Analyse(p, 0))
		hasAVX512 = false
		if want := fmt.Sprint(Analyse(p, 0)); got != want {
			t.Fatalf("%d x %d pixels: %s, want %s", p.W, p.H, got, want)
		}
	}
}
