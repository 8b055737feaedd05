package search

import (
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

func TestLeastBitsAreABound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		hist := make([]uint32, format.CacheAt)
		spread, most := 1+r.IntN(200), 1+r.IntN(20)
		for _, p := range format.Alphabets(len(hist)) {
			for range r.IntN(spread) {
				hist[p[0]+r.IntN(min(spread, p[1]-p[0]))] = r.Uint32() >> (12 + r.IntN(most))
			}
		}
		if bits, least := bitstream.NewGroupCodes(hist).Bits, leastBits(hist); least > bits {
			t.Fatalf("%v: at least %d bits, made in %d", hist, least, bits)
		}
	}
	// Codes of powers of two are as short as ideal ones.
	hist := make([]uint32, format.CacheAt)
	for i := range 256 {
		hist[format.RedAt+i] = 1 << 20
	}
	if bits, least := bitstream.NewGroupCodes(hist).Bits, leastBits(hist); least > bits || bits > least+least/1000 {
		t.Fatalf("at least %d bits of equal counts, made in %d", least, bits)
	}
}
