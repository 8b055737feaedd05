package pool

import (
	"fmt"
	"slices"
	"testing"
)

func TestRunsEverythingOnceAndPassesPanics(t *testing.T) {
	c := New()
	for _, n := range []int{0, 1, 2, 1000} {
		var done [1000]int
		c.Each(n, func(i int) { done[i]++ })
		for i, d := range done {
			if want := 0; i < n && d != 1 || i >= n && d != want {
				t.Fatalf("n=%d: item %d ran %d times", n, i, d)
			}
		}
	}
	for _, n := range []int{1, 64} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a panic got lost")
				}
			}()
			c.Each(n, func(i int) {
				if i == n-1 {
					panic(fmt.Sprint("item ", i))
				}
			})
		}()
	}
	if len(c.idle) != cap(c.idle)-1 {
		t.Errorf("%d of %d goroutines are idle again", len(c.idle), cap(c.idle)-1)
	}
}

func TestSetsKeepNeighboursTogether(t *testing.T) {
	sizes := []int{3, 3, 3, 9, 1, 1, 1, 1, 20, 2}
	for _, c := range []struct {
		items       []int
		most, count int
		want        [][]int
	}{
		{nil, 9, 9, nil},
		{[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 9, 3, [][]int{{0, 1, 2}, {3}, {4, 5, 6}, {7}, {8}, {9}}},
		{[]int{0, 2, 4, 9}, 7, 9, [][]int{{0, 2, 4}, {9}}},
		{[]int{8, 8}, 1, 9, [][]int{{8}, {8}}},
		{[]int{4, 5}, 100, 1, [][]int{{4}, {5}}},
	} {
		got := Sets(c.items, c.most, c.count, func(i int) int { return sizes[i] })
		if !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%v, at most %d and %d: %v, want %v", c.items, c.most, c.count, got, c.want)
		}
	}
}
