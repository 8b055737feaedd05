//go:build cuda && cgo

package vq

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// BenchmarkCardEncode is whole files with a codebook for each image, the defaults and
// others, beside the CPU on all cores, and how the time of the batches divides.
func BenchmarkCardEncode(b *testing.B) {
	dev := gputest.Device(b, nil)
	cases := []struct {
		what  string
		batch []*raster.Image
	}{
		{"96 x 512 x 512 grey", landscapes(96, 512, 512, 1)},
		{"240 x 768 x 512 RGB", landscapes(240, 768, 512, 3)},
		{"8192 x 4096 grey", []*raster.Image{landscape(8192, 4096)}},
	}
	for b.Loop() {
		for _, c := range cases {
			for _, o := range []*Options{mustOptions(b), mustOptions(b, "n=1024", "index=raw")} {
				var files [2][]codec.Encoded
				encode := func(i int, dev *gpu.Device) func() {
					return func() {
						files[i] = Codec{}.Encode(context.Background(), codec.Run{Device: dev}, codec.Items(c.batch...), o)
					}
				}
				slow, quick := fastest(2, encode(0, nil)), fastest(4, encode(1, dev))
				for i := range c.batch {
					if files[0][i].Err != nil || !bytes.Equal(files[0][i].Data, files[1][i].Data) {
						b.Fatalf("%s, %s: picture %d: other bytes on the card (%v, %v)", c.what, o, i, files[0][i].Err, files[1][i].Err)
					}
				}
				fmt.Printf("%s, %s: %.1f ms on %d cores, %.1f ms on %s, %.1f times\n", c.what, o,
					slow.Seconds()*1e3, runtime.GOMAXPROCS(0), quick.Seconds()*1e3, dev.Name(), slow.Seconds()/quick.Seconds())
				b.ReportMetric(slow.Seconds()/quick.Seconds(), "x-cpu")
				stages(b, dev, c.batch, o)
			}
		}
	}
}

// landscapes are images that are parts of one.
func landscapes(count, w, h, channels int) []*raster.Image {
	whole := landscape(w, h*count)
	var list []*raster.Image
	for i := range count {
		m := raster.New(w, h, 1, channels, 8)
		for j, v := range whole.Pix[i*w*h:][:w*h] {
			for c := range channels {
				m.Pix[j*channels+c] = clip(int(v) + c*int(v)/8 + 3*c*(j/w%40-20)/2)
			}
		}
		list = append(list, m)
	}
	return list
}

func ascending(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// stages prints how long one batch of a call takes in each of its stages, alone on the
// card, and the making of its files.
func stages(b *testing.B, dev *gpu.Device, images []*raster.Image, o *Options) {
	batches := batching(o).Divide(ascending(len(images)), func(i int) int { return images[i].Size() })
	list := images[:len(batches[0])]
	var took [5]time.Duration
	for range 3 {
		var g *batch
		onLane(b, dev, func(d *deviceSteps) error {
			g = d.newBatch(list, o)
			for i, step := range []func(context.Context) error{g.makeBlocks, g.findBooks, g.assign, g.code} {
				begin := time.Now()
				if err := step(context.Background()); err != nil {
					return err
				}
				took[i] = time.Since(begin)
			}
			return nil
		})
		begin := time.Now()
		known := g.analyses()
		workers := pool.New()
		workers.Each(len(known), func(i int) {
			if _, err := assemble(context.Background(), workers, known[i]); err != nil {
				b.Error(err)
			}
		})
		took[4] = time.Since(begin)
	}
	passes(b, dev, list, o)
	fmt.Printf("  a batch of %d pictures: to the card %.2f ms, training %.2f, indices %.2f, streams or tables %.2f, files %.2f\n",
		len(list), took[0].Seconds()*1e3, took[1].Seconds()*1e3, took[2].Seconds()*1e3, took[3].Seconds()*1e3, took[4].Seconds()*1e3)
}

// passes prints what the parts of a batch's training take on the device.
func passes(b *testing.B, dev *gpu.Device, list []*raster.Image, o *Options) {
	onLane(b, dev, func(d *deviceSteps) error {
		g := d.newBatch(list, o)
		if err := g.makeBlocks(context.Background()); err != nil {
			return err
		}
		var jobs []*trainingJob
		for _, s := range g.sets {
			jobs = append(jobs, &trainingJob{blocks: g.at(s), m: s.m, n: s.n})
		}
		t, err := newTrainer(d, o.block, jobs)
		if err != nil {
			return err
		}
		start, err := d.stream.Time(func() error { return t.seed(context.Background()) })
		if err != nil {
			return err
		}
		fmt.Printf("  on the card: seed %.3f ms", start.Seconds()*1e3)
		for _, part := range []struct {
			name string
			f    func() error
		}{
			{"search", func() error { return t.search(t.most) }}, {"gather", func() error { return t.gather(t.most) }},
			{"centre", func() error { return t.centre(t.most) }}, {"halves", func() error { return t.halves(t.most) }},
			{"nearest", func() error { return t.nearest(t.most) }}, {"order", func() error { return t.order(t.most, true) }},
			{"shift", func() error { return t.shift(t.most, 48, 12) }},
		} {
			took, err := d.stream.Time(part.f)
			if err != nil {
				return err
			}
			fmt.Printf(", %s %.3f", part.name, took.Seconds()*1e3)
		}
		fmt.Println()
		return nil
	})
}
