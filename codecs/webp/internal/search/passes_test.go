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
		gain, most := make([]int64, 1+r.IntN(40)), make([]int64, 0, 40)
		var want []int
		for k := range gain {
			gain[k] = int64(r.IntN(1+r.IntN(30))) - 10
			most = append(most, gain[k]+int64(r.IntN(12)))
			if gain[k] > 0 {
				want = append(want, k)
			}
		}
		slices.SortStableFunc(want, func(a, b int) int { return cmp.Compare(gain[b], gain[a]) })
		n := r.IntN(len(gain) + 1)
		want = want[:min(n, len(want))]
		if got := largestGains(most, n, func(k int) int64 { return gain[k] }); !slices.Equal(got, want) {
			t.Fatalf("the %d largest of %v: %v, want %v", n, gain, got, want)
		}
	}
}
