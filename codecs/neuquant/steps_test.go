package neuquant

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/pool"
)

// kinds of colours that problems are made of.
var kinds = []string{"flat", "two", "gradient", "noise", "clusters", "corners"}

// colours makes n colours of a kind; opaque, or premultiplied with alpha 1 to 254.
func colours(rng *rand.Rand, kind string, n int, opaque bool) []uint32 {
	of := func(r, g, b, a int) uint32 {
		if opaque {
			a = 255
		} else {
			a = min(max(a, 1), 254)
			r, g, b = r*a/255, g*a/255, b*a/255
		}
		return uint32(r | g<<8 | b<<16 | a<<24)
	}
	any := func() uint32 { return of(rng.IntN(256), rng.IntN(256), rng.IntN(256), rng.IntN(256)) }
	out := make([]uint32, n)
	fixed := []uint32{any(), any(), any(), any(), any()}
	for i := range out {
		switch kind {
		case "flat":
			out[i] = fixed[0]
		case "two":
			out[i] = fixed[rng.IntN(100)/93]
		case "gradient":
			out[i] = of(i*255/n, 255-i*255/n, i*13%256, i*7%256)
		case "noise":
			out[i] = any()
		case "clusters":
			c := refUnpack(fixed[rng.IntN(len(fixed))])
			near := func(v int) int { return min(max(v+rng.IntN(17)-8, 0), 255) }
			out[i] = of(near(c[0]), near(c[1]), near(c[2]), c[3])
		case "corners":
			out[i] = of(255*rng.IntN(2), 255*rng.IntN(2), 255*rng.IntN(2), 1+253*rng.IntN(2))
		}
	}
	return out
}

// asSamples is an opaque problem with its colours as an image has them.
func asSamples(p problem) problem {
	for _, v := range p.values {
		p.samples = append(p.samples, byte(v), byte(v>>8), byte(v>>16))
	}
	p.values = nil
	return p
}

// someProblems are of every kind and around every size where something changes.
func someProblems(rng *rand.Rand) (list []problem) {
	sizes := []int{1, 2, 3, 31, 500, 501, 502, 503, 504, 505, 509, 510, 1497, 2047, 2049, 4721}
	oneOf := 10
	if testing.Short() {
		oneOf = 40
	}
	for _, kind := range kinds {
		for _, n := range sizes {
			for _, k := range []int{1, 2, 3, 15, 16, 17, 100, 255, 256} {
				if rng.IntN(oneOf) > 0 {
					continue
				}
				p := problem{entries: k, opaque: rng.IntN(2) == 0, mapped: true}
				p.values = colours(rng, kind, n, p.opaque)
				if p.opaque && rng.IntN(2) == 0 {
					p = asSamples(p)
				}
				list = append(list, p)
			}
		}
	}
	return list
}

func (p *problem) String() string {
	return fmt.Sprintf("%d colours, %d entries, opaque %t, samples %t", p.n(), p.entries, p.opaque, p.samples != nil)
}

// manners are the options that change what a device does.
var manners = []Options{
	{sample: 1}, {sample: 10, refine: 6}, {sample: 30, refine: 32}, {sample: 7, refine: 1},
}

func TestSolveIsTheReference(t *testing.T) { eachWay(t, testSolve) }

func testSolve(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i, o := range manners {
		d := cpuSteps{pool.Of(1 + i%3)}
		list := someProblems(rng)
		got := d.solve(context.Background(), list, &o)
		d.pool.Each(len(list), func(i int) {
			entries, index := refSolve(&list[i], &o)
			if got[i].err != nil {
				t.Errorf("%v: %v", &list[i], got[i].err)
			}
			if !slices.Equal(got[i].entries, entries) {
				t.Errorf("%v, %+v: other entries than the reference's", &list[i], o)
			} else if !slices.Equal(got[i].index, index) {
				t.Errorf("%v, %+v: other indices than the reference's", &list[i], o)
			}
		})
	}
}

func TestTrainIsTheReference(t *testing.T) { eachWay(t, testTrain) }

func testTrain(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, p := range someProblems(rng) {
		if p.entries == 1 {
			continue
		}
		for _, sample := range []int{1, 10} {
			want := refPack(refTrain(refColours(&p), p.entries, sample, p.opaque))
			if got := train(&p, sample); !slices.Equal(got, want) {
				t.Errorf("%v, sample %d: %08x, want %08x", &p, sample, got, want)
			}
		}
	}
}

// A frequency that wins all the time gets as far as numbers go.
func TestTrainFlatForLong(t *testing.T) { eachWay(t, testTrainFlat) }

func testTrainFlat(t *testing.T) {
	for _, k := range []int{2, 3, 17} {
		p := problem{entries: k, opaque: true, values: slices.Repeat([]uint32{0xff102030}, 20000)}
		want := refPack(refTrain(refColours(&p), k, 1, true))
		if got := train(&p, 1); !slices.Equal(got, want) {
			t.Errorf("%d entries: %08x, want %08x", k, got, want)
		}
	}
}

// eachWay runs f with the vector kernels, where there are any, and without.
func eachWay(t *testing.T, f func(t *testing.T)) {
	defer func(has bool) { hasAVX2 = has }(hasAVX2)
	if hasAVX2 {
		t.Run("avx2", f)
	}
	hasAVX2 = false
	t.Run("go", f)
}

// Samples become colours, however many there are, and nothing is written behind them.
func TestUnpack(t *testing.T) {
	eachWay(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(31, 32))
		for n := range 100 {
			p := problem{samples: make([]byte, 3*n), opaque: true}
			for i := range p.samples {
				p.samples[i] = byte(rng.Uint32())
			}
			out := make([]uint32, n+1)
			unpack(out[:n], p.samples)
			for i := range n {
				if out[i] != p.at(i) {
					t.Fatalf("colour %d of %d is %08x, want %08x", i, n, out[i], p.at(i))
				}
			}
			if out[n] != 0 {
				t.Fatalf("%d colours: %08x behind them", n, out[n])
			}
		}
	})
}

func TestTwoIsTheReference(t *testing.T) {
	eachWay(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 10))
		for _, kind := range kinds {
			for _, k := range []int{2, 3, 7, 8, 9, 255, 256} {
				entries, v := colours(rng, kind, k, false), colours(rng, "noise", 100, true)
				v = append(v, 0, 0xffffffff, entries[k-1])
				keys, seconds := make([]uint32, len(v)), make([]uint32, len(v))
				newFinder(entries).two(v, keys, seconds)
				for i := range v {
					at, d1, d2 := refNearest(refUnpack(v[i]), refColours(&problem{values: entries}))
					if keys[i] != uint32(d1<<indexBits|at) || seconds[i]>>indexBits != uint32(d2) {
						t.Fatalf("%s, %d entries, %08x: keys %d and %d, want entry %d at %d, then %d", kind, k, v[i], keys[i], seconds[i], at, d1, d2)
					}
				}
			}
		}
	})
}

// Many colours are sorted into bins by several goroutines.
func TestCollectIsTheReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, kind := range []string{"clusters", "noise"} {
		for _, opaque := range []bool{true, false} {
			if testing.Short() && opaque != (kind == "noise") {
				continue
			}
			p := problem{values: colours(rng, kind, 3<<18+5, opaque), opaque: opaque}
			want := refBins(refColours(&p), opaque)
			h := collect(pool.Of(3), &p)
			if len(h.bins) != len(want) {
				t.Fatalf("%s: %d bins, want %d", kind, len(h.bins), len(want))
			}
			for i, w := range want {
				b := h.bins[i]
				sum := [4]int{int(b.sum[0]), int(b.sum[1]), int(b.sum[2]), int(b.sum[3])}
				if int(h.number[i]) != w.number || int(b.w) != w.w || sum != w.sum || refUnpack(h.colour[i]) != w.c {
					t.Fatalf("%s: bin %d is %d, %+v, want %+v", kind, i, h.number[i], b, w)
				}
			}
			if got, _ := p.needs(); opaque && got != h.distinct() {
				t.Errorf("%s: %d colours, want %d", kind, h.distinct(), got)
			}
		}
	}
}

// Colours that occur again and again are looked up in a table.
func TestMapIsTheReference(t *testing.T) {
	eachWay(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		for _, kind := range kinds {
			for _, k := range []int{2, 3, 15, 64, 255, 256} {
				if testing.Short() && k&1 != 0 {
					continue
				}
				for _, opaque := range []bool{true, false} {
					v := colours(rng, kind, 1500, opaque)
					p := problem{values: slices.Concat(v, v, v[:7]), entries: k, opaque: opaque}
					c := pool.Of(2)
					entries := train(&p, 10)
					for _, h := range []*histogram{collect(c, &p), nil} {
						out, err := mapTo(context.Background(), c, &p, entries, h)
						if err != nil {
							t.Fatal(err)
						}
						list := refColours(&problem{values: entries})
						for i, v := range p.values[:1500] {
							want, _, _ := refNearest(refUnpack(v), list)
							if int(out[i]) != want {
								t.Fatalf("%s, %d entries, opaque %t: colour %08x goes to entry %d, want %d", kind, k, opaque, v, out[i], want)
							}
						}
						if !slices.Equal(out[:1507], out[1500:]) {
							t.Fatalf("%s, %d entries, opaque %t: equal colours go to different entries", kind, k, opaque)
						}
					}
				}
			}
		}
	})
}

func TestSolveEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := problem{entries: 2, opaque: true, values: []uint32{0xff000000, 0xff000001, 0xff000002}}
	if s := (cpuSteps{pool.Of(1)}).solve(ctx, []problem{p}, &defaults); s[0].err != context.Canceled {
		t.Errorf("error %v", s[0].err)
	}
}

// Problems are divided into batches of like size.
func TestBatchesOfProblemsHaveLikeSizes(t *testing.T) {
	d := new(deviceSteps)
	for n, want := range map[int]int{0: 1, 1: 1, 64: 64, 65: 33, 300: 60, 384: 64, 1200: 200, 4096: 512, 4097: 456} {
		if got := d.batching(n).Items; got != want {
			t.Errorf("%d problems: batches of %d, want %d", n, got, want)
		}
	}
}

// A device deflates where the cores, which have other work, would take longer than it by far.
func TestWhoParses(t *testing.T) {
	d := &deviceSteps{pool: pool.Of(16)}
	for _, c := range []struct {
		streams, bytes int
		want           bool
	}{{1, 400000, false}, {11, 400000, false}, {12, 400000, true}, {300, 100, true}} {
		list, items := make([][]byte, c.streams), make([]int, c.streams)
		for i := range list {
			list[i], items[i] = make([]byte, c.bytes), i
		}
		if got := d.worthParsing(list, items); got != c.want {
			t.Errorf("%d streams of %d bytes: %v", c.streams, c.bytes, got)
		}
	}
}
