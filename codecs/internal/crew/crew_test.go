package crew

import (
	"fmt"
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
