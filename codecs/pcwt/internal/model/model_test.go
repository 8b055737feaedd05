package model

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
)

// TestKernels compares the kernels with Go on random cells of small and of great numbers.
func TestKernels(t *testing.T) {
	if !hasAVX2 {
		t.Skip("no AVX2")
	}
	defer func() { hasAVX2 = true }()
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 12 {
		side := 64 << (round % 3)
		w, h := 1+r.IntN(2*side), 1+r.IntN(2*side)
		n := &Neighbours{Own: randomLevel(r, w, h, round)}
		if r.IntN(3) > 0 {
			n.Parent = randomLevel(r, (w+1)/2, (h+1)/2, round)
		}
		if k := r.IntN(3); k > 0 {
			n.Before = randomLevel(r, w, h, round)
			if k > 1 {
				n.Second = randomLevel(r, w, h, round)
			}
		}
		set := constants.Format(n.earlier(), r.IntN(3) == 0)
		qmin := uint(r.IntN(3))
		a, b := NewTile(side), NewTile(side)
		for band := range constants.Bands {
			hasAVX2 = true
			a.Start(n, 0, 0, r.IntN(3), set, qmin)
			hasAVX2 = false
			b.Start(n, 0, 0, a.level, set, qmin)
			if !slices.Equal(a.texture, b.texture) || !slices.Equal(a.direction, b.direction) {
				t.Fatalf("%dx%d: other textures", w, h)
			}
			for before := range band + 1 {
				_, rows := a.Band(before)
				b.Band(before)
				for y := range rows {
					for parity := range 2 {
						hasAVX2 = true
						count := a.HalfRow(y, parity)
						hasAVX2 = false
						b.HalfRow(y, parity)
						if !slices.Equal(a.Predictions[:count], b.Predictions[:count]) || !slices.Equal(a.Fractions[:count], b.Fractions[:count]) ||
							!slices.Equal(a.Contexts[:count], b.Contexts[:count]) {
							t.Fatalf("%dx%d: row %d, parity %d of band %d: other results\n%v\n%v\n%v\n%v", w, h, y, parity, before, a.Predictions[:count], b.Predictions[:count], a.Contexts[:count], b.Contexts[:count])
						}
						c, e := randomCells(r, count, round), randomCells(r, count, round)
						a.Put(y, parity, c, e)
						b.Put(y, parity, c, e)
					}
				}
				if rows > 0 {
					a.EndBand()
					b.EndBand()
				}
			}
		}
	}
}

func randomCells(r *rand.Rand, n, round int) []int16 {
	out := make([]int16, n)
	for i := range out {
		switch round % 4 {
		case 0:
			out[i] = int16(r.IntN(20) - 10)
		case 1:
			out[i] = int16(r.IntN(1000)-500) * int16(r.IntN(2))
		case 2:
			out[i] = int16(r.Uint32())
		}
	}
	return out
}

func randomLevel(r *rand.Rand, w, h, round int) *Level {
	l := NewLevel(2*w, 2*h)
	l.LL = randomCells(r, len(l.LL), round)
	for b := range l.Bands {
		l.Bands[b].C = randomCells(r, len(l.Bands[b].C), round)
		l.Bands[b].E = randomCells(r, len(l.Bands[b].E), round)
	}
	return l
}
