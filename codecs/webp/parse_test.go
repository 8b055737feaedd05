package webp

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// replay decodes a parse the slow way: it reads literals from p and everything else from
// what it has already.
func replay(t *testing.T, p pixels, q *parse) []uint32 {
	t.Helper()
	var out []uint32
	cache := make([]uint32, 1<<q.cacheBits)
	add := func(v uint32) {
		out = append(out, v)
		if q.cacheBits > 0 {
			cache[v*0x1e35a7bd>>(32-q.cacheBits)] = v
		}
	}
	for len(out) < len(p.argb) {
		i := len(out)
		switch l := q.length[i]; l {
		case 0:
			add(p.argb[i])
		case cached:
			if q.cacheBits == 0 {
				t.Fatalf("pixel %d is in a cache that there is not", i)
			}
			add(cache[q.value[i]])
		case covered:
			t.Fatalf("pixel %d is in no copy", i)
		default:
			d := int(q.value[i]) - 120
			if d <= 0 {
				d = nearDistance(int(q.value[i]), p.w)
			}
			for k := range int(l) {
				if k > 0 && q.length[i+k] != covered {
					t.Fatalf("pixel %d of the copy at %d is not covered", k, i)
				}
				add(out[i+k-d])
			}
		}
	}
	return out
}

func TestParsesMakeThePixels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, shape := range append(shapes, [2]int{16383, 1}, [2]int{1, 16383}, [2]int{700, 200}) {
		for _, colours := range []int{1, 2, 40, 3000} {
			p := drawn(r, shape[0], shape[1], colours)
			for effort, f := range referencePlans {
				if effort > 1 && len(p.argb) > 10000 && effort != 6 {
					continue
				}
				s := &stream{width: p.w, height: p.h, pixels: p}
				newParser(newMemoryReferenceSearch(p), f).whole(s, f, 3)
				if got := replay(t, p, &s.parse); !slices.Equal(got, p.argb) {
					t.Fatalf("%dx%d, %d colours, effort %d: the parse gives another picture", p.w, p.h, colours, effort)
				}
			}
		}
	}
}

func TestBandsMakeThePixels(t *testing.T) {
	w, h := 1500, 1700
	p := pixels{w, h, make([]uint32, w*h)}
	for i := range p.argb {
		p.argb[i] = uint32(i/7) * 0x01030507
		if i%3000 < 1700 {
			p.argb[i] = opaqueBlack
		}
	}
	var first parse
	for _, c := range pools {
		v := &memoryReferenceSearch{pool: c, p: p}
		q := newParser(v, referencePlans[2])
		if len(q.bands) < 2 {
			t.Fatalf("%d bands", len(q.bands))
		}
		s := &stream{width: w, height: h, pixels: p}
		q.whole(s, referencePlans[2], 5)
		if first.length == nil {
			first = s.parse
		}
		if !slices.Equal(s.parse.length, first.length) || !slices.Equal(s.parse.value, first.value) {
			t.Fatalf("another parse by %d goroutines", c.Size())
		}
	}
	if !slices.Equal(replay(t, p, &first), p.argb) {
		t.Fatal("the parse gives another picture")
	}
}
