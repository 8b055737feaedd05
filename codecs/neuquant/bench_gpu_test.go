//go:build cuda && cgo

package neuquant

import (
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// The benchmarks on a device print tables. Their images are cut from those of the Kodak
// suite where they are at hand, and else drawn. Each runs once.

// devicePhotos are the images of the Kodak suite, as far as they are at hand.
func devicePhotos(t testing.TB) (list []*raster.Image) {
	for n := 1; n <= 24; n++ {
		f, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", "kodak", fmt.Sprintf("%02d.png", n)))
		if err != nil {
			continue
		}
		p, err := png.Decode(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		rgba := image.NewNRGBA(p.Bounds())
		draw.Draw(rgba, rgba.Rect, p, rgba.Rect.Min, draw.Src)
		m := raster.New(rgba.Rect.Dx(), rgba.Rect.Dy(), 1, 3, 8)
		for i := range len(m.Pix) / 3 {
			copy(m.Pix[3*i:3*i+3], rgba.Pix[4*i:])
		}
		list = append(list, m)
	}
	return list
}

// drawn is an image of smooth slopes, edges and grain.
func drawn(seed, w, h int) *raster.Image {
	m := raster.New(w, h, 1, 3, 8)
	noise := uint32(seed*2654435761 + 1)
	for y := range h {
		for x := range w {
			v := 128 + 60*math.Sin(float64(x)/97+float64(y)/31+float64(seed)) + 40*math.Sin(float64(x*y)/9000)
			if (x/50+y/70)%5 == 0 {
				v += 50
			}
			for c := range 3 {
				noise = noise*1664525 + 1013904223
				m.Pix[3*(y*w+x)+c] = byte(min(max(v*(1-float64(c)*math.Sin(float64(x+seed)/200)/3)+float64(noise>>28), 0), 255))
			}
		}
	}
	return m
}

func sources(b *testing.B) []*raster.Image {
	list := devicePhotos(b)
	for i := len(list); i < 12; i++ {
		list = append(list, drawn(i, 768, 512))
	}
	return list
}

const side = 512 // of the images of the batch

// fillCrops fills pix with n images of side x side, all different: each source from all
// its columns or rows on, then mirrored.
func fillCrops(list []*raster.Image, n int, pix []byte) {
	pool.New().Each(n, func(i int) {
		m := list[i%len(list)]
		places := m.Width - side + m.Height - side + 1
		at := i / len(list)
		mirror := at/places%2 == 1
		x0, y0 := at%places, 0
		if m.Width == side {
			x0, y0 = 0, x0
		}
		out := pix[i*side*side*3:][:side*side*3]
		for y := range side {
			row := m.Pix[3*((y0+y)*m.Width+x0):][:3*side]
			to := out[3*side*y:][:3*side]
			if !mirror {
				copy(to, row)
				continue
			}
			for x := range side {
				copy(to[3*x:3*x+3], row[3*(side-1-x):])
			}
		}
	})
}

// cropProblems are n images in pix.
func cropProblems(n int, pix []byte) []problem {
	out := make([]problem, n)
	for i := range out {
		out[i] = problem{samples: pix[i*side*side*3:][: side*side*3 : side*side*3], entries: 256, opaque: true, mapped: true}
	}
	return out
}

func fastest(n int, f func()) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range n {
		runtime.GC()
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

func solveAll(b *testing.B, d steps, list []problem, o *Options) []solution {
	out := d.solve(context.Background(), list, o)
	for i := range out {
		if out[i].err != nil {
			b.Fatal(out[i].err)
		}
	}
	return out
}

// BenchmarkCardBatch is 4,096 images of 512 x 512 from pixels in host memory to indices
// in host memory. Limits of an H200: an image is 786,432 bytes on the link, of which
// about 50 GB/s go, 64,000 images/s. Kernels of a full card take 15.0 microseconds of an
// image for 26,214 samples, 5.2 for its bins, 6.8 for 6 passes and 8.3 for mapping,
// 28,300 images/s where none runs beside another one.
func BenchmarkCardBatch(b *testing.B) {
	const n = 4096
	src := sources(b)
	for b.Loop() {
		for _, lanes := range []int{3, 5} {
			dev := gputest.Device(b, &gpu.Options{Lanes: lanes, Pinned: 12 << 30})
			pinned, err := dev.Host(n * side * side * 3)
			if err != nil {
				b.Fatal(err)
			}
			fillCrops(src, n, pinned.Bytes)
			plain := append([]byte(nil), pinned.Bytes...)
			fmt.Printf("%d pictures of %d x %d on %s, %d lanes\n| sample | refine | pixels in | pictures of a batch | pictures/s | GB/s up |\n", n, side, side, dev.Name(), lanes)
			for _, c := range []struct {
				sample, refine int
				pinned         bool
				most           int
			}{
				{10, 6, true, 0}, {10, 6, true, 256}, {10, 6, true, 1024}, {10, 6, false, 0}, {10, 0, true, 0}, {10, 0, false, 0}, {1, 0, true, 0}, {1, 0, true, 1024},
			} {
				pix, where := plain, "memory"
				if c.pinned {
					pix, where = pinned.Bytes, "pinned memory"
				}
				d := &deviceSteps{device: dev, pool: pool.New(), most: c.most}
				list := cropProblems(n, pix)
				t := fastest(3, func() { solveAll(b, d, list, &Options{sample: c.sample, refine: c.refine}) })
				fmt.Printf("| %d | %d | %s | %d | %.0f | %.1f |\n", c.sample, c.refine, where, c.most, n/t.Seconds(), float64(len(pix))/t.Seconds()/1e9)
			}
			pinned.Free()
		}
	}
}

// shares are what the steps of one batch take when each waits for the one before.
func shares(b *testing.B, dev *gpu.Device, list []problem, o *Options, who trainer) (order []string, took map[string]time.Duration) {
	var last time.Time
	d := &deviceSteps{device: dev, pool: pool.New(), trainer: who, most: len(list)}
	d.note = func(what string) {
		now := time.Now()
		if _, ok := took[what]; !ok {
			order = append(order, what)
		}
		took[what] += now.Sub(last)
		last = now
	}
	for range 2 { // the first time memory is taken
		order, took, last = nil, map[string]time.Duration{}, time.Now()
		solveAll(b, d, list, o)
	}
	return order, took
}

// BenchmarkCardSteps is the steps of a batch of 512 images of 512 x 512, one after the
// other. The bound of mapping is 3 instructions for a pixel and an entry: at 128 lanes a
// cycle of each of 132 multiprocessors and 1.98 GHz 43 Gpx/s at 256 entries, and half of
// that where all three are of the same kind.
func BenchmarkCardSteps(b *testing.B) {
	dev := gputest.Device(b, &gpu.Options{Lanes: 1, Pinned: 8 << 30})
	src := sources(b)
	for b.Loop() {
		for _, c := range []struct{ n, sample int }{{512, 10}, {2048, 10}, {1, 10}, {1, 1}} {
			pinned, err := dev.Host(c.n * side * side * 3)
			if err != nil {
				b.Fatal(err)
			}
			fillCrops(src, c.n, pinned.Bytes)
			list := cropProblems(c.n, pinned.Bytes)
			o := &Options{sample: c.sample, refine: 6}
			order, took := shares(b, dev, list, o, trainOnDevice)
			fmt.Printf("batch of %d pictures of %d x %d, sample %d, on %s\n| step | ms | share |\n", c.n, side, side, c.sample, dev.Name())
			all := time.Duration(0)
			for _, t := range took {
				all += t
			}
			for _, what := range order {
				fmt.Printf("| %s | %.3f | %.0f %% |\n", what, ms(took[what]), 100*took[what].Seconds()/all.Seconds())
			}
			r := newRates(side*side, 256, c.sample)
			fmt.Printf("training: %.1f ns a sample of a picture; mapping: %.1f Gpx/s\n",
				float64(took["train"].Nanoseconds())/float64(r.cycles), float64(c.n*side*side)/took["map"].Seconds()/1e9)
			pinned.Free()
		}
	}
}

// BenchmarkCardDekker is the paper's work, training on every pixel and mapping, on one
// core and for a batch on a device.
func BenchmarkCardDekker(b *testing.B) {
	dev := gputest.Device(b, &gpu.Options{Lanes: 3, Pinned: 12 << 30})
	const n = 4096
	src := sources(b)
	for b.Loop() {
		pinned, err := dev.Host(n * side * side * 3)
		if err != nil {
			b.Fatal(err)
		}
		fillCrops(src, n, pinned.Bytes)
		list := cropProblems(n, pinned.Bytes)
		o := &Options{sample: 1}
		plain := fastest(1, func() { refSolve(&list[0], o) })
		const cores = 4
		fast := fastest(2, func() { solveAll(b, cpuSteps{pool.Of(1)}, list[:cores], o) }) / cores
		d := &deviceSteps{device: dev, pool: pool.New(), most: 1024}
		card := fastest(2, func() { solveAll(b, d, list, o) }) / n
		fmt.Printf("Dekker's algorithm with sample=1 refine=0, pictures of %d x %d\n| who | pictures/s | times one core's |\n", side, side)
		fmt.Printf("| reference in Go, one core | %.2f | %.2f |\n", 1/plain.Seconds(), fast.Seconds()/plain.Seconds())
		fmt.Printf("| this codec, one core | %.2f | 1 |\n", 1/fast.Seconds())
		fmt.Printf("| %s, batch of %d | %.0f | %.0f (of the reference %.0f) |\n", dev.Name(), n, 1/card.Seconds(), fast.Seconds()/card.Seconds(), plain.Seconds()/card.Seconds())
		var crops []*raster.Image
		for i := range cores {
			m := raster.New(side, side, 1, 3, 8)
			copy(m.Pix, list[i].samples)
			crops = append(crops, m)
		}
		if took, _, err := libgd(b, crops, o.sample); err != nil {
			fmt.Println("NOT COMPARED with libgd:", err)
		} else {
			took /= cores
			fmt.Printf("| libgd, one core | %.2f | %.2f (the card %.0f times) |\n", 1/took.Seconds(), fast.Seconds()/took.Seconds(), took.Seconds()/card.Seconds())
		}
		pinned.Free()
	}
}
