package search

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// Keys that are made together count what keys one by one do.
func TestAnalyseBothWays(t *testing.T) {
	if !hasAVX512 {
		t.Skip("SKIPPED: this processor has no AVX-512")
	}
	defer func() { hasAVX512 = true }()
	r := rand.New(rand.NewPCG(31, 32))
	for round := range 400 {
		p := format.Pixels{W: 1 + r.IntN(70), H: 1 + r.IntN(9)}
		p.ARGB = make([]uint32, p.W*p.H)
		colours := 1 + r.IntN(1+round)
		for i := range p.ARGB {
			p.ARGB[i] = uint32(r.IntN(colours)) * 0x01020305
			if i >= 40 && r.IntN(3) == 0 { // a part that repeats
				copy(p.ARGB[max(0, i-8):i+1], p.ARGB[i-40:])
			}
		}
		hasAVX512 = true
		got := fmt.Sprint(Analyse(p, 0))
		hasAVX512 = false
		if want := fmt.Sprint(Analyse(p, 0)); got != want {
			t.Fatalf("%d x %d pixels: %s, want %s", p.W, p.H, got, want)
		}
	}
}

// Some rows say of an image what all do, wherever they are sure.
func TestIsPhotoByRows(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	seen := map[[2]bool]int{}
	for range 2000 {
		p := format.Pixels{W: 1 + r.IntN(120), H: 1 + r.IntN(90)}
		p.ARGB = make([]uint32, p.W*p.H)
		colours, run := 1+r.IntN(1+r.IntN(5000)), 1+r.IntN(3)
		for i := range p.ARGB {
			p.ARGB[i] = uint32(r.IntN(colours)) * 0x01020305
			if i > p.W && r.IntN(run) > 0 {
				p.ARGB[i] = p.ARGB[i-[]int{1, p.W}[r.IntN(2)]]
			}
		}
		most := 1 + r.IntN(2000)
		rows := SampledRows(p.W, p.H, most)
		if rows == nil {
			continue
		}
		part := format.Pixels{W: p.W, H: len(rows)}
		for _, y := range rows {
			part.ARGB = append(part.ARGB, p.ARGB[y*p.W:][:p.W]...)
		}
		a := Analyse(p, most)
		photo, sure := IsPhotoBy(part)
		if seen[[2]bool{photo, sure}]++; sure && photo != a.IsPhoto() {
			t.Fatalf("%d x %d pixels, %d rows: %v, want %v", p.W, p.H, len(rows), photo, !photo)
		}
	}
	for _, how := range [][2]bool{{true, true}, {true, false}, {false, true}} {
		if seen[how] < 20 {
			t.Errorf("images by photo and sure: %v", seen)
		}
	}
}
