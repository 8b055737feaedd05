package webp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// matched is an image and how its candidates are looked for.
type matched struct {
	p     format.Pixels
	f     backref.ReferencePlan
	bands []*backref.Band
}

// periodic repeats a few random pixels.
func periodic(r *rand.Rand, w, h, period int) format.Pixels {
	p := format.Pixels{W: w, H: h, ARGB: make([]uint32, w*h)}
	for i := range p.ARGB {
		if i < period {
			p.ARGB[i] = r.Uint32N(3) * 0x00400102
		} else {
			p.ARGB[i] = p.ARGB[i-period]
		}
	}
	return p
}

// someBands divides an image anywhere.
func someBands(r *rand.Rand, n int) (list []*backref.Band) {
	for at := 0; at < n; {
		end := min(n, at+1+r.IntN(n+n/4+1))
		list = append(list, &backref.Band{Lo: at, Hi: end})
		at = end
	}
	return list
}

// matchedImages are images of all kinds and shapes.
func matchedImages(r *rand.Rand) (list []*matched) {
	add := func(p format.Pixels) {
		f := backref.ReferencePlans[r.IntN(len(backref.ReferencePlans))]
		if r.IntN(4) == 0 {
			f.StopLength = format.MaxLength
		}
		bands := someBands(r, len(p.ARGB))
		if r.IntN(3) == 0 {
			bands = backref.NewBands(p)
		}
		list = append(list, &matched{p, f, bands})
	}
	for _, s := range append(testimages.Shapes, [2]int{31, 1}, [2]int{32, 1}, [2]int{1, 33}) {
		add(testimages.Drawn(r, s[0], s[1], 1+r.IntN(5)))
	}
	for _, period := range []int{1, 2, 31, 32, 33, 700, 2101, 5000} {
		add(periodic(r, 1+r.IntN(200), 150, period))
	}
	for range 20 {
		add(testimages.Drawn(r, 1+r.IntN(150), 1+r.IntN(150), 1+r.IntN(9)))
		add(loaded(testimages.Pools[0], oddImage(r), true))
	}
	add(testimages.Drawn(r, 16383, 1, 3))
	add(testimages.Drawn(r, 1, 16383, 3))
	return list
}

// Candidates, links and hits from a device are those of Go at every position, of batches of
// images, each searched with its own numbers.
func TestLockstepCandidates(t *testing.T) {
	dev := gputest.Device(t, nil)
	batches := 12
	if testing.Short() {
		batches = 1
	}
	for first := range batches {
		r := rand.New(rand.NewPCG(31, uint64(first)))
		list := matchedImages(r)
		if testing.Short() {
			list = list[:20]
		}
		if first == 1 {
			// Images of several chunks, that begin and end anywhere.
			for _, colours := range []int{1, 2, 7, 3000, 1 << 30} {
				p := testimages.Drawn(r, 1+r.IntN(1000), 300, min(colours, 3000))
				if colours == 1<<30 {
					for i := range p.ARGB {
						p.ARGB[i] = r.Uint32()
					}
				}
				list = append(list, &matched{p, backref.ReferencePlans[6], someBands(r, len(p.ARGB))})
			}
			p := periodic(r, 501, 1000, 100000)
			list = append(list, &matched{p, backref.ReferencePlans[8], backref.NewBands(p)})
		}
		errs := make([]error, len(list))
		err := dev.Do(t.Context(), func(l *gpu.Lane) error {
			return newBatch(l, pool.Shared(runtime.GOMAXPROCS(0))).encode(make([]*raster.Image, len(list)), &defaults, func(d steps, i int) {
				errs[i] = list[i].lockstep(d)
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, err := range errs {
			if err != nil {
				t.Errorf("batch %d, picture %d, %d x %d: %v", first, i, list[i].p.W, list[i].p.H, err)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d batches on %s", batches, dev.Name())
}

func (m *matched) lockstep(d search.Steps) error {
	made, err := d.ReferenceSearch(m.p, nil)
	if err != nil {
		return err
	}
	c := made.(*deviceReferenceSearch)
	n := len(m.p.ARGB)
	want := backref.NewMatcher(m.p, m.f.NearCodes, m.f.Depth)
	s := c.findChains(m.f, m.bands)
	if c.err != nil {
		return c.err
	}
	got := gpu.View[uint32](c.do(&request{step: stepFetch, result: 4 * n, fetch: []region{{s.memory, s.prev, 4 * n}}}))
	prev := make([]uint32, n)
	for i, v := range want.Prev {
		prev[i] = uint32(v + 1)
	}
	if err := differ("prev", got, prev); err != nil {
		return err
	}
	c.readCandidates(s, m.bands)
	for _, b := range m.bands {
		find := backref.NewFinder(want, b.Hi, m.f.StopLength)
		for i := b.Lo; i < b.Hi; i++ {
			if err := differ(fmt.Sprintf("near %d, depth %d, stop %d: position %d", m.f.NearCodes, m.f.Depth, m.f.StopLength, i), b.At(i), find.At(i)); err != nil {
				return err
			}
		}
	}
	if err := differ("hits", c.Hits(), backref.CacheHits(m.p.ARGB)); err != nil {
		return err
	}
	return c.Failed()
}

// graphics are the images of a data set, drawn ones where it is absent.
func graphics(b *testing.B) (list []format.Pixels) {
	for _, m := range drawings(b) {
		list = append(list, transform.WithoutGreen(testimages.Pools[0], loaded(testimages.Pools[0], m, true)))
	}
	r := rand.New(rand.NewPCG(32, 1))
	for len(list) < 8 {
		list = append(list, testimages.Drawn(r, 800, 600, 30))
	}
	return list
}

// shelves is an image of others in rows, each time in other colours.
func shelves(list []format.Pixels, w, h int) format.Pixels {
	const height = 500
	out := format.Pixels{W: w, H: h, ARGB: make([]uint32, w*h)}
	k := 0
	for y := 0; y < h; y += height {
		for x := 0; x < w; k++ {
			p := list[k%len(list)]
			for row := range min(p.H, height, h-y) {
				to := out.ARGB[(y+row)*w+x:][:min(p.W, w-x)]
				for i, v := range p.ARGB[row*p.W:][:len(to)] {
					to[i] = v ^ uint32(k/len(list))*0x00030507
				}
			}
			x += p.W
		}
	}
	return out
}

// BenchmarkCardCandidates prints what candidates and cache hits of graphics take on a
// device, by kernel, and on one core.
func BenchmarkCardCandidates(b *testing.B) {
	dev := gputest.Device(b, nil)
	list := graphics(b)
	var many []format.Pixels
	for i := range 256 {
		from := list[i%len(list)]
		p := format.Pixels{W: min(from.W, 256), H: min(from.H, 256)}
		for y := range p.H {
			for _, v := range from.ARGB[y*from.W:][:p.W] {
				p.ARGB = append(p.ARGB, v^uint32(i/len(list))*0x00030507)
			}
		}
		many = append(many, p)
	}
	for b.Loop() {
		for _, effort := range []int{1, 6, 9} {
			cardCandidates(b, dev, "5120 x 5000", []format.Pixels{shelves(list, 5120, 5000)}, effort)
			cardCandidates(b, dev, "256 pictures", many, effort)
		}
		flat := format.Pixels{W: 5120, H: 5000, ARGB: make([]uint32, 5120*5000)}
		cardCandidates(b, dev, "5120 x 5000 of one colour", []format.Pixels{flat}, 9)
		r := rand.New(rand.NewPCG(32, 2))
		cardCandidates(b, dev, "5120 x 5000 of period 100000", []format.Pixels{periodic(r, 5120, 5000, 100000)}, 9)
	}
}

func cardCandidates(b *testing.B, dev *gpu.Device, what string, list []format.Pixels, effort int) {
	f := backref.ReferencePlans[effort]
	n := 0
	for _, p := range list {
		n += len(p.ARGB)
	}
	found := make([]int, len(list))
	took := map[string]time.Duration{}
	var order []string
	card := func(l *gpu.Lane) error {
		d := newBatch(l, pool.Shared(runtime.GOMAXPROCS(0)))
		last := time.Now()
		d.kernels = true
		d.note = func(what string) {
			if took[what] == 0 {
				order = append(order, what)
			}
			took[what] += time.Since(last)
			last = time.Now()
		}
		return d.encode(make([]*raster.Image, len(list)), &defaults, func(v steps, i int) {
			made, err := v.ReferenceSearch(list[i], nil)
			if err != nil {
				b.Error(err)
				return
			}
			made.Hits()
			found[i] = len(made.Bands(f)[0].Found.List)
			made.Release()
		})
	}
	for range 2 { // the first time takes memory
		clear(took)
		order = nil
		if err := dev.Do(context.Background(), card); err != nil {
			b.Fatal(err)
		}
	}
	all := 0
	for _, k := range found {
		all += k
	}
	// Of the CPU the first 2 million pixels or more are enough.
	pixels, start := 0, time.Now()
	var candidates, hits time.Duration
	for i := 0; i < len(list) && pixels < 1<<21; i++ {
		p := list[i]
		p.H = min(p.H, 1+1<<21/p.W)
		p.ARGB = p.ARGB[:p.W*p.H]
		pixels += len(p.ARGB)
		m := backref.NewMatcher(p, f.NearCodes, f.Depth)
		for _, band := range backref.NewBands(p) {
			find := backref.NewFinder(m, band.Hi, f.StopLength)
			for i := band.Lo; i < band.Hi; i++ {
				find.At(i)
			}
		}
		candidates += time.Since(start)
		start = time.Now()
		backref.CacheHits(p.ARGB)
		hits += time.Since(start)
		start = time.Now()
	}
	per := func(d time.Duration, n int) float64 { return float64(d.Nanoseconds()) / float64(n) }
	fmt.Printf("%s, %.1f Mpx, effort %d, %.2f candidates a pixel; ns a pixel on %s:", what, float64(n)/1e6, effort, float64(all)/float64(n), dev.Name())
	sum := time.Duration(0)
	for _, what := range order {
		sum += took[what]
		fmt.Printf(" %s %.3f,", what, per(took[what], n))
	}
	fmt.Printf(" in all %.2f; on one core: candidates %.0f, hits %.1f\n", per(sum, n), per(candidates, pixels), per(hits, pixels))
}
