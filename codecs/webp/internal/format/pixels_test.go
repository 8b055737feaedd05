package format

import (
	"math/rand/v2"
	"testing"
)

// slowRepeats is Repeats of an image that is not small, as its comment has it.
func slowRepeats(p Pixels) bool {
	n := 0
	for i := range p.ARGB {
		left, up := true, true
		for k := i; k > i-4; k-- {
			left = left && k > 0 && p.ARGB[k] == p.ARGB[k-1]
			up = up && k >= p.W && p.ARGB[k] == p.ARGB[k-p.W]
		}
		if left || up {
			n++
		}
	}
	return 8*n > len(p.ARGB)
}

func TestRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	answers := map[bool]int{}
	for range 100 {
		w, h := 1+r.IntN(300), 1+r.IntN(300)
		if r.IntN(5) == 0 {
			w, h = w*h, 1
		}
		p := Pixels{W: w, H: h, ARGB: make([]uint32, w*h)}
		kept := r.IntN(80)
		for i := range p.ARGB {
			switch {
			case i > 0 && r.IntN(100) < kept:
				p.ARGB[i] = p.ARGB[i-1]
			case i >= w && r.IntN(100) < kept:
				p.ARGB[i] = p.ARGB[i-w]
			default:
				p.ARGB[i] = r.Uint32N(6) * 0x40000001
			}
		}
		want := len(p.ARGB) > 1
		if len(p.ARGB) > smallImage {
			want = slowRepeats(p)
			answers[want]++
		}
		if got := p.Repeats(); got != want {
			t.Fatalf("%d x %d: %v, want %v", w, h, got, want)
		}
	}
	if answers[true] < 5 || answers[false] < 5 {
		t.Errorf("answers %v", answers)
	}
}
