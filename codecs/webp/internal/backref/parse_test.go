package backref

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
)

// replay decodes a parse the slow way: it reads literals from p and everything else from
// what it has already.
func replay(t *testing.T, p format.Pixels, q *format.Parse) []uint32 {
	t.Helper()
	var out []uint32
	cache := make([]uint32, 1<<q.CacheBits)
	add := func(v uint32) {
		out = append(out, v)
		if q.CacheBits > 0 {
			cache[v*0x1e35a7bd>>(32-q.CacheBits)] = v
		}
	}
	for len(out) < len(p.ARGB) {
		i := len(out)
		switch l := q.Length[i]; l {
		case 0:
			add(p.ARGB[i])
		case format.Cached:
			if q.CacheBits == 0 {
				t.Fatalf("pixel %d is in a cache that there is not", i)
			}
			add(cache[q.Value[i]])
		case format.Covered:
			t.Fatalf("pixel %d is in no copy", i)
		default:
			d := int(q.Value[i]) - 120
			if d <= 0 {
				d = format.NearDistance(int(q.Value[i]), p.W)
			}
			for k := range int(l) {
				if k > 0 && q.Length[i+k] != format.Covered {
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
	for _, shape := range append(testimages.Shapes, [2]int{16383, 1}, [2]int{1, 16383}, [2]int{700, 200}) {
		for _, colours := range []int{1, 2, 40, 3000} {
			if testing.Short() && (colours == 1 || colours == 40) {
				continue
			}
			p := testimages.Drawn(r, shape[0], shape[1], colours)
			for effort, f := range ReferencePlans {
				if effort > 1 && len(p.ARGB) > 10000 && effort != 6 {
					continue
				}
				s := &bitstream.Stream{Width: p.W, Height: p.H, Pixels: p}
				NewParser(NewMemoryReferenceSearch(p), f).whole(s, f, 3)
				if got := replay(t, p, &s.Parse); !slices.Equal(got, p.ARGB) {
					t.Fatalf("%dx%d, %d colours, effort %d: the parse gives another picture", p.W, p.H, colours, effort)
				}
			}
		}
	}
}

func TestBandsMakeThePixels(t *testing.T) {
	w, h := 1500, 1700
	p := format.Pixels{W: w, H: h, ARGB: make([]uint32, w*h)}
	for i := range p.ARGB {
		p.ARGB[i] = uint32(i/7) * 0x01030507
		if i%3000 < 1700 {
			p.ARGB[i] = format.OpaqueBlack
		}
	}
	f := ReferencePlans[2]
	if testing.Short() {
		f = ReferencePlans[0]
	}
	var first format.Parse
	for _, c := range testimages.Pools {
		v := &MemoryReferenceSearch{Pool: c, P: p}
		q := NewParser(v, f)
		if len(q.Bands) < 2 {
			t.Fatalf("%d bands", len(q.Bands))
		}
		s := &bitstream.Stream{Width: w, Height: h, Pixels: p}
		q.whole(s, f, 5)
		if first.Length == nil {
			first = s.Parse
		}
		if !slices.Equal(s.Parse.Length, first.Length) || !slices.Equal(s.Parse.Value, first.Value) {
			t.Fatalf("another parse by %d goroutines", c.Size())
		}
	}
	if !slices.Equal(replay(t, p, &first), p.ARGB) {
		t.Fatal("the parse gives another picture")
	}
}
