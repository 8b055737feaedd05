package backref

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
)

// greens is an image of n pixels and some colours that differ in green alone, with the other channels of base.
func greens(r *rand.Rand, n, colours int, base uint32) format.Pixels {
	p := format.Pixels{W: n, H: 1, ARGB: make([]uint32, n)}
	palette := r.Perm(256)[:colours]
	run := 1 + r.IntN(4)
	for i := range p.ARGB {
		p.ARGB[i] = base&^0xff00 | uint32(palette[r.IntN(1+r.IntN(colours))])<<8
		if i > 0 && r.IntN(run) > 0 {
			p.ARGB[i] = p.ARGB[i-1]
		}
	}
	return p
}

// The steps of a search in few colours are those of any search.
func TestFewColours(t *testing.T) {
	defer func(v bool) { vectors = v }(vectors)
	r := rand.New(rand.NewPCG(61, 62))
	var chosen [format.MaxCacheBits + 1]int
	for i := range 400 {
		n := 1 + r.IntN(1+r.IntN(3000))
		base := uint32(format.OpaqueBlack)
		if i%3 == 0 {
			base = r.Uint32() & r.Uint32() & r.Uint32()
		} else if i%7 == 0 {
			base = 0 // what caches hold at first
		}
		p := greens(r, n, 1+r.IntN(mostColours), base)
		for _, vectors = range []bool{false, vectors} {
			few, any := newFewColours(p), NewMemoryReferenceSearch(p)
			if few == nil {
				t.Fatal("not taken")
			}
			if got, want := few.Hits(), CacheHits(p.ARGB); !slices.Equal(got, want) {
				t.Fatalf("image %d, %d colours, in vectors %v: hits %v, want %v", i, len(few.colours), vectors, got, want)
			}
			for range 2 {
				a := testimages.SomeParse(r, n)
				for k, l := range a.Length {
					if l == format.Cached {
						a.Length[k], a.Value[k] = 0, 0
					}
				}
				b := format.Parse{Length: slices.Clone(a.Length), Value: slices.Clone(a.Value)}
				few.SetParse(&a)
				any.SetParse(&b)
				bits, want := few.ChooseCache(), any.ChooseCache()
				if bits != want {
					t.Fatalf("image %d, %d colours: a cache of %d bits, want %d", i, len(few.colours), bits, want)
				}
				chosen[bits]++
				bits = r.IntN(format.MaxCacheBits + 1)
				few.SetCache(bits)
				any.SetCache(bits)
				g := format.EntropyImage{}
				if r.IntN(4) == 0 {
					g = format.EntropyImage{Bits: 2, Groups: 2, Group: make([]uint16, format.Tiles(n, 2))}
					for k := range g.Group {
						g.Group[k] = uint16(r.IntN(2))
					}
				}
				got, counts := few.Histograms(g), any.Histograms(g)
				for k := range counts {
					if !slices.Equal(got[k], counts[k]) {
						t.Fatalf("image %d, %d colours, %d bits: other counts", i, len(few.colours), bits)
					}
				}
				few.finish()
				if err := sameParse(&a, &b); err != nil {
					t.Fatalf("image %d, %d colours: %v", i, len(few.colours), err)
				}
			}
			few.release()
		}
	}
	if chosen[0] == 0 || slices.Max(chosen[1:]) == 0 {
		t.Errorf("caches of %v bits were chosen", chosen)
	}
	for _, colours := range []int{mostColours + 1, 256} {
		p := format.Pixels{W: colours, H: 1, ARGB: make([]uint32, colours)}
		for i := range p.ARGB {
			p.ARGB[i] = uint32(i) << 8
		}
		if newFewColours(p) != nil {
			t.Errorf("%d colours are taken", colours)
		}
	}
	if newFewColours(format.Pixels{W: 2, H: 1, ARGB: []uint32{0, 1}}) != nil {
		t.Error("a colour that differs in blue is taken")
	}
}

// A small image is parsed as any image would be by the same plan.
func TestSmallParses(t *testing.T) {
	r := rand.New(rand.NewPCG(63, 64))
	for range 60 {
		p := greens(r, 16+r.IntN(6000), 1+r.IntN(2*mostColours), format.OpaqueBlack)
		if w := 1 + r.IntN(70); len(p.ARGB) >= w {
			p.W, p.H = w, len(p.ARGB)/w
			p.ARGB = p.ARGB[:p.W*p.H]
		}
		if len(p.ARGB) < 16 {
			continue
		}
		for _, plan := range []ReferencePlan{smallPlan, smallQuickPlan} {
			want := &bitstream.Stream{Pixels: p}
			NewParser(NewMemoryReferenceSearch(p), plan).whole(want, plan, 0)
			got := parseOne(p, plan)
			if err := sameParse(&got, &want.Parse); err != nil {
				t.Fatalf("%dx%d: %v", p.W, p.H, err)
			}
		}
	}
}

// What a parse counts while it is made is what it has in the end.
func TestCountsOfParses(t *testing.T) {
	r := rand.New(rand.NewPCG(65, 66))
	for range 60 {
		p := greens(r, 16+r.IntN(6000), 1+r.IntN(mostColours), format.OpaqueBlack)
		few := newFewColours(p)
		q := NewParser(few, smallPlan)
		b := q.Bands[0]
		if b.listed = b.lists(q.Hits, few); b.listed == nil {
			t.Fatal("too many candidates")
		}
		s := &bitstream.Stream{Pixels: p}
		check := func(step string) {
			if !few.counted {
				t.Fatalf("%s: nothing is counted", step)
			}
			got := *few.memory
			few.counted = false
			few.count()
			if want := few.memory; got.counts != want.counts || got.lengths != want.lengths || got.distances != want.distances {
				t.Fatalf("%d pixels, %s: other counts", len(p.ARGB), step)
			}
		}
		q.Start(s)
		check("greedy")
		for range 2 {
			q.parseByCosts(s, smallPlan)
			check("by costs")
			q.V.SetCache(q.V.ChooseCache())
		}
		b.listed.release()
		few.release()
	}
}
