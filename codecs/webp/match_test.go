package webp

import (
	"math/rand/v2"
	"testing"
)

func TestDistanceCodesStandForDistances(t *testing.T) {
	for _, w := range []int{1, 2, 3, 7, 8, 9, 16, 100, 16383} {
		codes := newDistanceCodes(w)
		for d := 1; d < 9*w+20; d++ {
			code := int(codes.code(d))
			got := code - 120
			if code <= 120 {
				got = nearDistance(code, w)
			}
			if got != d {
				t.Fatalf("width %d: distance %d has code %d, which stands for %d", w, d, code, got)
			}
			for lower := 1; lower < min(code, 121); lower++ {
				if nearDistance(lower, w) == d {
					t.Fatalf("width %d: distance %d has code %d, not %d", w, d, code, lower)
				}
			}
		}
	}
}

func TestCandidatesAreCopies(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, shape := range shapes {
		p := drawn(r, shape[0], shape[1], 5)
		n := len(p.argb)
		m := newMatcher(p, 24, 16)
		f := newFinder(m, n, 64)
		fresh := func(i int) []candidate { return newFinder(m, n, 64).at(i) }
		for _, i := range append(r.Perm(n), r.Perm(n)...) {
			if r.IntN(2) == 0 {
				f.at(max(0, i-1))
			}
			got := f.at(i)
			want := fresh(i)
			if len(got) != len(want) {
				t.Fatalf("%dx%d: position %d: %v, and %v by itself", p.w, p.h, i, got, want)
			}
			for k, c := range got {
				if c != want[k] {
					t.Fatalf("%dx%d: position %d: %v, and %v by itself", p.w, p.h, i, got, want)
				}
				d := int(c.code()) - 120
				if c.code() <= 120 {
					d = nearDistance(int(c.code()), p.w)
				}
				if d > i || i+int(c.length()) > n {
					t.Fatalf("%dx%d: position %d: %v leaves the picture", p.w, p.h, i, c)
				}
				for j := i; j < i+int(c.length()); j++ {
					if p.argb[j] != p.argb[j-d] {
						t.Fatalf("%dx%d: position %d: %v differs at %d", p.w, p.h, i, c, j-i)
					}
				}
			}
		}
	}
}
