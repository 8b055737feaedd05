package backref

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
)

func TestCandidatesAreCopies(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, shape := range testimages.Shapes {
		p := testimages.Drawn(r, shape[0], shape[1], 5)
		n := len(p.ARGB)
		m := NewMatcher(p, 24, 16)
		f := NewFinder(m, n, 64)
		fresh := func(i int) []Candidate { return NewFinder(m, n, 64).At(i) }
		for _, i := range append(r.Perm(n), r.Perm(n)...) {
			if r.IntN(2) == 0 {
				f.At(max(0, i-1))
			}
			got := f.At(i)
			want := fresh(i)
			if len(got) != len(want) {
				t.Fatalf("%dx%d: position %d: %v, and %v by itself", p.W, p.H, i, got, want)
			}
			for k, c := range got {
				if c != want[k] {
					t.Fatalf("%dx%d: position %d: %v, and %v by itself", p.W, p.H, i, got, want)
				}
				d := int(c.code()) - 120
				if c.code() <= 120 {
					d = format.NearDistance(int(c.code()), p.W)
				}
				if d > i || i+int(c.length()) > n {
					t.Fatalf("%dx%d: position %d: %v leaves the picture", p.W, p.H, i, c)
				}
				for j := i; j < i+int(c.length()); j++ {
					if p.ARGB[j] != p.ARGB[j-d] {
						t.Fatalf("%dx%d: position %d: %v differs at %d", p.W, p.H, i, c, j-i)
					}
				}
			}
		}
	}
}

// A matcher that knows which near pixels are the same finds what it finds by looking at them.
func TestCandidatesOfSmallImages(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, shape := range testimages.Shapes {
		for _, colours := range []int{1, 2, 14} {
			p := testimages.Drawn(r, shape[0], shape[1], colours)
			n := len(p.ARGB)
			m := NewMatcher(p, 24, 16)
			plain := *m
			plain.same = nil
			a, b := NewFinder(m, n, 256), NewFinder(&plain, n, 256)
			for i := range n {
				if got, want := a.At(i), b.At(i); !slices.Equal(got, want) {
					t.Fatalf("%dx%d, %d colours: position %d: %v, want %v", p.W, p.H, colours, i, got, want)
				}
			}
		}
	}
}

func TestEqualBefore(t *testing.T) {
	if !vectors {
		t.Skip("SKIPPED: no AVX2 here")
	}
	r := rand.New(rand.NewPCG(7, 8))
	for n := range 70 {
		argb := make([]uint32, n)
		for i := range argb {
			argb[i] = r.Uint32N(3)
		}
		for _, d := range []int{1, 2, 7, 8, 9, 33} {
			for from := d; from <= min(n, d+9); from++ {
				got, want := make([]uint32, n), make([]uint32, n)
				for i := range got {
					got[i] = r.Uint32N(4)
				}
				copy(want, got)
				equalBefore(got, argb, from, d, 4)
				equalBeforeGo(want, argb, from, d, 4)
				if !slices.Equal(got, want) {
					t.Fatalf("%d pixels from %d at distance %d: %d, want %d", n, from, d, got, want)
				}
			}
		}
	}
}

func TestRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for _, n := range []int{0, 1, 2, 3, 50, maxRun, maxRun + 1, maxRun + 2, 3 * maxRun} {
		for _, kept := range []int{0, 2, 1 << 14} {
			argb := make([]uint32, n)
			for i := range argb {
				if argb[i] = r.Uint32(); i > 0 && r.IntN(kept+1) > 0 {
					argb[i] = argb[i-1]
				}
			}
			for i, got := range runs16(argb) {
				want := 0
				for i+want+1 < n && argb[i+want+1] == argb[i] && want < maxRun {
					want++
				}
				if int(got) != want {
					t.Fatalf("%d pixels: %d equal pixel %d, want %d", n, got, i, want)
				}
			}
		}
	}
}
