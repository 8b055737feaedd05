package entropy

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

func TestLog2IsWithinItsBoundOverTheRange(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	check := func(v uint64) {
		t.Helper()
		// Above 2^53 float64 rounds v, by far less than the bound.
		if got, want := float64(log2(v)), math.Log2(float64(v))*65536; math.Abs(got-want) > 1.25 {
			t.Fatalf("log2(%d) = %v, want %.2f", v, got, want)
		}
	}
	for v := uint64(1); v < 1<<18; v++ {
		check(v)
	}
	for n := 18; n < 64; n++ {
		check(1 << n)
		check(1<<n - 1)
		check(1<<n + 1)
		for range 1000 {
			check(1<<n | r.Uint64()>>(64-n))
		}
	}
	check(math.MaxUint64)
}

func TestLog2DoesNotFall(t *testing.T) {
	last := uint32(0)
	for v := uint64(1); v < 1<<18; v++ {
		if l := log2(v); l < last {
			t.Fatalf("log2(%d) = %d < %d", v, l, last)
		} else {
			last = l
		}
	}
}

func TestEntropyIsTheSumOfIdealCodes(t *testing.T) {
	for _, c := range []struct {
		counts []uint32
		bits   float64
	}{
		{nil, 0},
		{[]uint32{0, 0}, 0},
		{[]uint32{7}, 0},
		{[]uint32{1, 1}, 2},
		{[]uint32{2, 1, 1}, 6},
		{[]uint32{1 << 30, 1 << 30, 1 << 30, 1 << 30}, 1 << 33},
	} {
		if got := float64(IdealBits(c.counts)) / 65536; math.Abs(got-c.bits) > 1e-4*(1+c.bits) {
			t.Errorf("entropy(%v) = %v, want %v", c.counts, got, c.bits)
		}
	}
}

func TestIdealCosts(t *testing.T) {
	hist, out := make([]uint32, format.CacheAt), make([]uint16, format.CacheAt)
	hist[format.RedAt+3], hist[format.RedAt+4], hist[format.RedAt+255] = 2, 1, 1
	IdealCosts(hist, out)
	for s, want := range map[int]uint16{format.RedAt + 3: 256, format.RedAt + 4: 512, format.RedAt + 255: 512, format.RedAt: 512 + 406} {
		if out[s] != want {
			t.Errorf("symbol %d costs %d, want %d", s, out[s], want)
		}
	}
	hist[format.RedAt+3] = math.MaxUint32
	IdealCosts(hist, out)
	if out[format.RedAt] != MaxCost {
		t.Errorf("an unseen symbol of 2^32 costs %d, want %d", out[format.RedAt], MaxCost)
	}
}

func TestCodeCostsAreTheLengthsOfTheCode(t *testing.T) {
	hist, out := make([]uint32, format.CacheAt), make([]uint16, format.CacheAt)
	hist[format.GreenAt], hist[format.GreenAt+1], hist[format.GreenAt+2] = 5, 2, 2
	hist[format.AlphaAt+255] = 9
	CodeCosts(hist, out)
	for s, want := range map[int]uint16{format.GreenAt: 256, format.GreenAt + 1: 512, format.GreenAt + 2: 512, format.AlphaAt + 255: 0} {
		if out[s] != want {
			t.Errorf("symbol %d costs %d, want %d", s, out[s], want)
		}
	}
	if out[format.GreenAt+3] < 512 {
		t.Errorf("an unseen symbol costs %d, less than the longest code", out[format.GreenAt+3])
	}
}
