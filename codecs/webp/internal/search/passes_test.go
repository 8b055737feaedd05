package search

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLargestGains(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		gain := make([]int64, 1+r.IntN(40))
		steps := 1 + r.IntN(3)
		bounds := make([][]int64, steps)
		var want []int
		for k := range gain {
			gain[k] = int64(r.IntN(1+r.IntN(30))) - 10
			for s := range steps - 1 {
				bounds[s] = append(bounds[s], gain[k]+int64(r.IntN(25)))
			}
			bounds[steps-1] = append(bounds[steps-1], gain[k])
			if gain[k] > 0 {
				want = append(want, k)
			}
		}
		slices.SortStableFunc(want, func(a, b int) int { return cmp.Compare(gain[b], gain[a]) })
		n := r.IntN(len(gain) + 1)
		want = want[:min(n, len(want))]
		if got := largestGains(len(gain), n, steps, func(k, step int) int64 { return bounds[step][k] }); !slices.Equal(got, want) {
			t.Fatalf("the %d largest of %v: %v, want %v", n, gain, got, want)
		}
	}
}
