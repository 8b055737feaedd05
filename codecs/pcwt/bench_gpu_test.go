//go:build cuda && cgo

package pcwt

import (
	"context"
	"fmt"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/wavelettree"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// The benchmarks on a device print tables. They take the Kodak images where they are at hand, and otherwise make theirs.

// kodakPictures is images of the Kodak suite in grey or RGB, over and over.
func kodakPictures(b testing.TB, n, channels int) []picture {
	var kinds []picture
	for i := 1; i <= 12; i++ {
		f, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", "kodak", fmt.Sprintf("%02d.png", i)))
		if err != nil {
			continue
		}
		m, err := png.Decode(f)
		f.Close()
		if err != nil {
			b.Fatal(err)
		}
		p := picture{width: m.Bounds().Dx(), height: m.Bounds().Dy(), channels: channels, bits: 8, colour: channels == 3}
		for y := range p.height {
			for x := range p.width {
				r, g, bl, _ := m.At(x, y).RGBA()
				if channels == 3 {
					p.pix = append(p.pix, byte(r>>8), byte(g>>8), byte(bl>>8))
				} else {
					p.pix = append(p.pix, byte((299*(r>>8)+587*(g>>8)+114*(bl>>8)+500)/1000))
				}
			}
		}
		kinds = append(kinds, p)
	}
	if kinds == nil {
		b.Log("no Kodak images in ../shared/data: images of slopes, edges and grain")
		kinds = []picture{landscape(768, 512, channels)}
	}
	list := make([]picture, n)
	for i := range list {
		list[i] = kinds[i%len(kinds)]
	}
	return list
}

// landscape is slopes, edges and grain.
func landscape(width, height, channels int) picture {
	p := picture{width: width, height: height, channels: channels, bits: 8, colour: channels == 3, pix: make([]byte, width*height*channels)}
	pool.New().Each(height, func(y int) {
		r := rand.New(rand.NewPCG(uint64(y), 5))
		for x := range width {
			v := 128 + 60*math.Sin(float64(x)/97+float64(y)/31) + 40*math.Sin(float64(x*y)/9000)
			if (x/50+y/70)%5 == 0 {
				v += 50
			}
			for c := range channels {
				p.pix[(y*width+x)*channels+c] = byte(min(255, max(0, int(v)+10*c+r.IntN(16))))
			}
		}
	})
	return p
}

// BenchmarkCardTrees is profile 0, from and to host memory, beside the paper's 201 Mpx/s (table 5.2, a GTX 570).
func BenchmarkCardTrees(b *testing.B) {
	dev := gputest.Device(b, nil)
	const paper = 201e6
	for b.Loop() {
		fmt.Printf("\nprofile 0, host to host, on %s\n%-24s %10s %10s %8s %8s\n", dev.Name(), "", "encode", "decode", "", "")
		fmt.Printf("%-24s %10s %10s %8s %8s\n", "pictures", "Gsamples/s", "Gsamples/s", "of paper", "ratio")
		for _, c := range []struct {
			name  string
			list  []picture
			batch int
		}{
			{"1536 x Kodak grey", kodakPictures(b, 1536, 1), 128},
			{"512 x Kodak RGB", kodakPictures(b, 512, 3), 43},
			{"1 x Kodak grey", kodakPictures(b, 1, 1), 1},
			{"4 x 8192 x 8192 grey", []picture{landscape(8192, 8192, 1), landscape(8192, 8192, 1), landscape(8192, 8192, 1), landscape(8192, 8192, 1)}, 1},
		} {
			treesOnCard(b, dev, c.name, c.list, c.batch, paper)
		}
	}
}

func treesOnCard(b *testing.B, dev *gpu.Device, name string, list []picture, batch int, paper float64) {
	workers := pool.New()
	files := make([][]byte, len(list))
	back := make([]picture, len(list))
	samples, size := 0, 0
	for i, p := range list {
		samples += len(p.pix)
		back[i] = p
		back[i].pix = make([]byte, len(p.pix))
	}
	run := func(f func(d *deviceSteps, items []int) error) time.Duration {
		var batches [][]int
		for i := range list {
			if i%batch == 0 {
				batches = append(batches, nil)
			}
			batches[len(batches)-1] = append(batches[len(batches)-1], i)
		}
		best := time.Hour
		for range 4 {
			start := time.Now()
			dev.Run(context.Background(), batches, gpu.Work{
				Device: func(l *gpu.Lane, items []int) error { return f(newDeviceSteps(l, workers), items) },
				CPU:    func([]int) { b.Error("no memory") },
				Failed: func(_ []int, err error) { b.Error(err) },
			})
			best = min(best, time.Since(start))
		}
		return best
	}
	encode := run(func(d *deviceSteps, items []int) error {
		var params []wavelettree.Params
		for _, i := range items {
			params = append(params, wavelettree.DefaultParams(list[i].width, list[i].height))
		}
		out, err := d.encodeTrees(context.Background(), list[items[0]:items[len(items)-1]+1], params)
		for j, data := range out {
			files[items[j]] = data
		}
		return err
	})
	if b.Failed() {
		return
	}
	decode := run(func(d *deviceSteps, items []int) error {
		from, to := items[0], items[len(items)-1]+1
		damage, err := d.decodeTrees(context.Background(), back[from:to], files[from:to])
		for _, e := range damage {
			if err == nil {
				err = e
			}
		}
		return err
	})
	for i := range files {
		size += len(files[i])
	}
	rate := func(t time.Duration) float64 { return float64(samples) / t.Seconds() }
	fmt.Printf("%-24s %10.2f %10.2f %8.1f %8.3f\n", name, rate(encode)/1e9, rate(decode)/1e9, rate(encode)/paper, float64(size)/float64(samples))
}
