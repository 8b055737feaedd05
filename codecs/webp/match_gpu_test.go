//go:build cuda && cgo

package webp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// matched is an image and how its candidates are looked for.
type matched struct {
	p     pixels
	f     referencePlan
	bands []*band
}

// periodic repeats a few random pixels.
func periodic(r *rand.Rand, w, h, period int) pixels {
	p := pixels{w, h, make([]uint32, w*h)}
	for i := range p.argb {
		if i < period {
			p.argb[i] = r.Uint32N(3) * 0x00400102
		} else {
			p.argb[i] = p.argb[i-period]
		}
	}
	return p
}

// someBands divides an image anywhere.
func someBands(r *rand.Rand, n int) (list []*band) {
	for at := 0; at < n; {
		end := min(n, at+1+r.IntN(n+n/4+1))
		list = append(list, &band{lo: at, hi: end})
		at = end
	}
	return list
}

// matchedImages are images of all kinds and shapes.
func matchedImages(r *rand.Rand) (list []*matched) {
	add := func(p pixels) {
		f := referencePlans[r.IntN(len(referencePlans))]
		if r.IntN(4) == 0 {
			f.stopLength = maxLength
		}
		bands := someBands(r, len(p.argb))
		if r.IntN(3) == 0 {
			bands = newBands(p)
		}
		list = append(list, &matched{p, f, bands})
	}
	for _, s := range append(shapes, [2]int{31, 1}, [2]int{32, 1}, [2]int{1, 33}) {
		add(drawn(r, s[0], s[1], 1+r.IntN(5)))
	}
	for _, period := range []int{1, 2, 31, 32, 33, 700, 2101, 5000} {
		add(periodic(r, 1+r.IntN(200), 150, period))
	}
	for range 20 {
		add(drawn(r, 1+r.IntN(150), 1+r.IntN(150), 1+r.IntN(9)))
		add(loadImage(pools[0], oddImage(r), true))
	}
	add(drawn(r, 16383, 1, 3))
	add(drawn(r, 1, 16383, 3))
	return list
}

// Candidates, links and hits from a card are those of Go at every position, of batches of
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
				p := drawn(r, 1+r.IntN(1000), 300, min(colours, 3000))
				if colours == 1<<30 {
					for i := range p.argb {
						p.argb[i] = r.Uint32()
					}
				}
				list = append(list, &matched{p, referencePlans[6], someBands(r, len(p.argb))})
			}
			p := periodic(r, 501, 1000, 100000)
			list = append(list, &matched{p, referencePlans[8], newBands(p)})
		}
		errs := make([]error, len(list))
		err := dev.Do(t.Context(), func(l *gpu.Lane) error {
			return newCard(l).encode(make([]*raster.Image, len(list)), &defaults, func(d steps, i int) {
				errs[i] = list[i].lockstep(d)
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, err := range errs {
			if err != nil {
				t.Errorf("batch %d, picture %d, %d x %d: %v", first, i, list[i].p.w, list[i].p.h, err)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d batches on %s", batches, dev.Name())
}

func (m *matched) lockstep(d steps) error {
	made, err := d.referenceSearch(m.p, nil)
	if err != nil {
		return err
	}
	c := made.(*deviceReferenceSearch)
	n := len(m.p.argb)
	want := newMatcher(m.p, m.f.nearCodes, m.f.depth)
	s := c.search(m.f, m.bands)
	if c.err != nil {
		return c.err
	}
	got := gpu.View[uint32](c.do(&request{step: stepFetch, want: roundUp(s.memory.Size), fetch: []*gpu.Buffer{s.memory}})[s.prev:])[:n]
	prev := make([]uint32, n)
	for i, v := range want.prev {
		prev[i] = uint32(v + 1)
	}
	if err := differ("prev", got, prev); err != nil {
		return err
	}
	c.give(s, m.bands)
	for _, b := range m.bands {
		find := newFinder(want, b.hi, m.f.stopLength)
		for i := b.lo; i < b.hi; i++ {
			if err := differ(fmt.Sprintf("near %d, depth %d, stop %d: position %d", m.f.nearCodes, m.f.depth, m.f.stopLength, i), b.at(i), find.at(i)); err != nil {
				return err
			}
		}
	}
	if err := differ("hits", c.hits(), cacheHits(m.p.argb)); err != nil {
		return err
	}
	return c.failed()
}

// graphics are the images of a data set, drawn ones where it is absent.
func graphics(b *testing.B) (list []pixels) {
	for _, m := range drawings(b) {
		list = append(list, withoutGreen(pools[0], loadImage(pools[0], m, true)))
	}
	r := rand.New(rand.NewPCG(32, 1))
	for len(list) < 8 {
		list = append(list, drawn(r, 800, 600, 30))
	}
	return list
}

// shelves is an image of others in rows, each time in other colours.
func shelves(list []pixels, w, h int) pixels {
	const height = 500
	out := pixels{w, h, make([]uint32, w*h)}
	k := 0
	for y := 0; y < h; y += height {
		for x := 0; x < w; k++ {
			p := list[k%len(list)]
			for row := range min(p.h, height, h-y) {
				to := out.argb[(y+row)*w+x:][:min(p.w, w-x)]
				for i, v := range p.argb[row*p.w:][:len(to)] {
					to[i] = v ^ uint32(k/len(list))*0x00030507
				}
			}
			x += p.w
		}
	}
	return out
}

// BenchmarkCardCandidates prints what candidates and cache hits of graphics take on a
// card, by kernel, and on one core.
func BenchmarkCardCandidates(b *testing.B) {
	dev := gputest.Device(b, nil)
	list := graphics(b)
	var many []pixels
	for i := range 256 {
		from := list[i%len(list)]
		p := pixels{w: min(from.w, 256), h: min(from.h, 256)}
		for y := range p.h {
			for _, v := range from.argb[y*from.w:][:p.w] {
				p.argb = append(p.argb, v^uint32(i/len(list))*0x00030507)
			}
		}
		many = append(many, p)
	}
	for b.Loop() {
		for _, effort := range []int{1, 6, 9} {
			cardCandidates(b, dev, "5120 x 5000", []pixels{shelves(list, 5120, 5000)}, effort)
			cardCandidates(b, dev, "256 pictures", many, effort)
		}
		flat := pixels{5120, 5000, make([]uint32, 5120*5000)}
		cardCandidates(b, dev, "5120 x 5000 of one colour", []pixels{flat}, 9)
		r := rand.New(rand.NewPCG(32, 2))
		cardCandidates(b, dev, "5120 x 5000 of period 100000", []pixels{periodic(r, 5120, 5000, 100000)}, 9)
	}
}

func cardCandidates(b *testing.B, dev *gpu.Device, what string, list []pixels, effort int) {
	f := referencePlans[effort]
	n := 0
	for _, p := range list {
		n += len(p.argb)
	}
	found := make([]int, len(list))
	took := map[string]time.Duration{}
	var order []string
	card := func(l *gpu.Lane) error {
		d := newCard(l)
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
			made, err := v.referenceSearch(list[i], nil)
			if err != nil {
				b.Error(err)
				return
			}
			made.hits()
			found[i] = len(made.bands(f)[0].found.list)
			made.release()
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
		p.h = min(p.h, 1+1<<21/p.w)
		p.argb = p.argb[:p.w*p.h]
		pixels += len(p.argb)
		m := newMatcher(p, f.nearCodes, f.depth)
		for _, band := range newBands(p) {
			find := newFinder(m, band.hi, f.stopLength)
			for i := band.lo; i < band.hi; i++ {
				find.at(i)
			}
		}
		candidates += time.Since(start)
		start = time.Now()
		cacheHits(p.argb)
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
