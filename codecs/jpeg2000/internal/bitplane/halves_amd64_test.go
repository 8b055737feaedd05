package bitplane

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Coefficients divided by two are the same with the assembly and without it, and nothing beside their rows is written.
func TestHalvesInAssembly(t *testing.T) {
	defer func(old bool) { useAVX2 = old }(useAVX2)
	if !useAVX2 {
		t.Skip("THIS MACHINE HAS NO AVX2")
	}
	r := rand.New(rand.NewPCG(4, 0))
	for _, size := range [][2]int{{1, 1}, {7, 4}, {8, 4}, {9, 5}, {16, 3}, {17, 8}, {31, 13}, {32, 32}, {64, 64}, {65, 63}} {
		w, h := size[0], size[1]
		d := &decoder{data: make([]int32, w*(h+3)/4*4*2)}
		for i := range d.data {
			d.data[i] = int32(r.Uint32()) >> r.IntN(32)
		}
		copy(d.data, []int32{0, 1, -1, 2, -2, 3, -3, math.MaxInt32, math.MinInt32, math.MinInt32 + 1})
		var got [2][]int32
		for i := range got {
			useAVX2 = i == 0
			got[i] = slices.Repeat([]int32{7}, (w+5)*h)
			d.halvesTo(got[i][:(w+5)*(h-1)+w], w+5, w, h, 0)
		}
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%d x %d: others with assembly", w, h)
		}
	}
}
