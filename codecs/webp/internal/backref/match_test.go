package backref

import (
	"math/rand/v2"
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
