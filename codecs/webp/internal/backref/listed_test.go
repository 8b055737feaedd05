package backref

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
)

// sameParse compares two parses of p as far as decoders and later parses see them.
func sameParse(a, b *format.Parse) error {
	if a.CacheBits != b.CacheBits {
		return fmt.Errorf("cache of %d bits, want %d", a.CacheBits, b.CacheBits)
	}
	for i, l := range b.Length {
		if a.Length[i] != l || l != 0 && l != format.Covered && a.Value[i] != b.Value[i] {
			return fmt.Errorf("pixel %d: length %d, value %d, want %d, %d", i, a.Length[i], a.Value[i], l, b.Value[i])
		}
	}
	return nil
}

// uneven is an image of few colours without any order, some of them much more frequent than others: most candidates are short.
func uneven(r *rand.Rand, w, h, colours int) format.Pixels {
	p := format.Pixels{W: w, H: h, ARGB: make([]uint32, w*h)}
	for i := range p.ARGB {
		p.ARGB[i] = format.OpaqueBlack | uint32(r.IntN(1+r.IntN(colours)))<<8
	}
	return p
}

// Parses of listed candidates are those that look for candidates as they go.
func TestListedParses(t *testing.T) {
	defer func(v bool) { windows = v }(windows)
	r := rand.New(rand.NewPCG(11, 12))
	for _, shape := range append(testimages.Shapes, [2]int{16, 1}, [2]int{17, 1}, [2]int{96, 64}, [2]int{311, 217}) {
		for _, colours := range []int{1, 2, 14, 300} {
			for _, p := range []format.Pixels{testimages.Drawn(r, shape[0], shape[1], colours), uneven(r, shape[0], shape[1], colours)} {
				plain := NewParser(NewMemoryReferenceSearch(p), smallPlan)
				want := &bitstream.Stream{Pixels: p}
				plain.whole(want, smallPlan, 0)
				for _, windows = range []bool{false, windows} {
					q := NewParser(NewMemoryReferenceSearch(p), smallPlan)
					if q.Bands[0].listed = q.Bands[0].lists(q.Hits, nil); q.Bands[0].listed == nil {
						t.Logf("%dx%d, %d colours: too many candidates", p.W, p.H, colours)
						continue
					}
					s := &bitstream.Stream{Pixels: p}
					q.whole(s, smallPlan, 0)
					if err := sameParse(&s.Parse, &want.Parse); err != nil {
						t.Fatalf("%dx%d, %d colours, in vectors %v: %v", p.W, p.H, colours, windows, err)
					}
				}
			}
		}
	}
}

// A window goes as far in vectors as without, and leaves the same costs and steps, for any costs.
func TestWindow(t *testing.T) {
	if !windows {
		t.Skip("SKIPPED: no AVX-512 here")
	}
	r := rand.New(rand.NewPCG(13, 14))
	for _, n := range []int{16, 17, 18, 33, 500, 4000} {
		for _, colours := range []int{2, 5, 14} {
			p := uneven(r, n, 1, colours)
			q := NewParser(NewMemoryReferenceSearch(p), smallPlan)
			l := q.Bands[0].lists(q.Hits, nil)
			var length [format.MaxLength + 1]uint16
			for i := range length {
				length[i] = uint16(r.IntN(1 << 13))
			}
			for i := range l.literals {
				l.literals[i] = r.Uint32N(1 << 14)
			}
			for i := range l.distances {
				l.distances[i] = r.Uint32N(1 << 14)
			}
			for i := range l.cost {
				l.cost[i] = noCost
				if r.IntN(4) == 0 {
					l.cost[i] = costStart + r.Uint32N(1<<15)
				}
			}
			for i := range l.step {
				l.step[i] = r.Uint32()
			}
			base := r.IntN(n)
			i := base + r.IntN(n-base)
			end := i + r.IntN(n-i+1)
			l.cost[i-base] = costStart
			cost, step := slices.Clone(l.cost), slices.Clone(l.step)
			got := l.window(i, base, end, &length)
			gotCost, gotStep := l.cost, l.step
			l.cost, l.step = cost, step
			if want := l.windowGo(i, base, end, &length); got != want {
				t.Fatalf("from %d to %d, want %d", i, got, want)
			}
			// Costs of positions that are done matter no longer.
			if from := got - base; !slices.Equal(gotCost[from:], l.cost[from:]) || !slices.Equal(gotStep, l.step) {
				t.Fatalf("%d pixels from %d to %d: other costs or steps", n, i, end)
			}
		}
	}
}

// The candidates of listed are those of Finder.At, in vectors and without, also where their memory must grow again and again.
func TestNearCandidates(t *testing.T) {
	defer func(v bool) { windows = v }(windows)
	r := rand.New(rand.NewPCG(15, 16))
	for _, shape := range append(testimages.Shapes, [2]int{16, 1}, [2]int{17, 1}, [2]int{2, 500}, [2]int{96, 64}, [2]int{311, 217}) {
		for _, colours := range []int{1, 2, 3, 14, 300} {
			for _, p := range []format.Pixels{testimages.Drawn(r, shape[0], shape[1], colours), uneven(r, shape[0], shape[1], colours)} {
				for _, windows = range []bool{false, windows} {
					q := NewParser(NewMemoryReferenceSearch(p), smallPlan)
					b := q.Bands[0]
					listedMemory.Put(&listed{memory: make([]Candidate, 1+r.IntN(50))})
					l := b.lists(q.Hits, nil)
					if l == nil {
						t.Fatalf("%dx%d, %d colours: not listed", p.W, p.H, colours)
					}
					for i := range p.ARGB {
						want := b.find.At(i)
						if got := l.of(i); !slices.Equal(got, want) {
							t.Fatalf("%dx%d, %d colours, in vectors %v: position %d: %v, want %v", p.W, p.H, colours, windows, i, got, want)
						}
						ends := uint32(0)
						for _, c := range want {
							ends |= 1 << (min(c.length(), windowPixels+1) - 1)
						}
						b.listed = nil
						c, gain := b.bestGain(i, q.Hits)
						if got := (listedGain{c, int32(gain)}); l.ends[i] != ends || l.best[i] != got {
							t.Fatalf("%dx%d, %d colours, in vectors %v: position %d: ends %b, best %v, want %b, %v", p.W, p.H, colours, windows, i, l.ends[i], l.best[i], ends, got)
						}
					}
					l.release()
				}
			}
		}
	}
}

func TestPrefixSymbol(t *testing.T) {
	for v := uint32(1); v < 1<<20; v = v + 1 + v/64 {
		if want, _, _ := format.Prefix(v); uint32(prefixSymbol(v)) != want {
			t.Fatalf("%d: %d, want %d", v, prefixSymbol(v), want)
		}
	}
}
