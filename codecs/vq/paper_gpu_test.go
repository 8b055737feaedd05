//go:build cuda && cgo

package vq

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// BenchmarkCardPaper prints the paper's Tables I to IV for grey 512 x 512 crops: the
// encoder finds the index table, the decoder the image, both host to host. The CPU
// is Algorithm 1 and 2 as they stand, on one core, and this codec on all cores.
func BenchmarkCardPaper(b *testing.B) {
	dev := gputest.Device(b, nil)
	var names []string
	var list []*raster.Image
	for n := 1; n <= 24; n++ {
		if m, ok := kodak(b, n); ok {
			names, list = append(names, fmt.Sprintf("kodim%02d", n)), append(list, crop(grey(m)))
		}
	}
	if list == nil {
		whole := landscape(512, 512*11)
		for i := range 11 {
			m := raster.New(512, 512, 1, 1, 8)
			copy(m.Pix, whole.Pix[i*len(m.Pix):])
			names, list = append(names, fmt.Sprintf("landscape%d", i)), append(list, m)
		}
	}
	pin(b, dev, list)
	sizes := []int{128, 256, 512, 1024}
	var books []*codebook
	err := dev.Do(context.Background(), func(l *gpu.Lane) error {
		workers := pool.New()
		for _, n := range sizes {
			o := &Options{block: shape{4, 4}, n: n, start: startKMeans, passes: 16}
			var all []byte
			for _, m := range list {
				all = append(all, cpuSteps{workers}.blocks(newHeader(m, o), m)[0].samples...)
			}
			list, err := newDeviceSteps(l, workers).train(context.Background(), [][]byte{all}, o)
			if err != nil {
				return err
			}
			books = append(books, list[0])
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := paperTables(dev, names, list, sizes, books); err != nil {
			b.Fatal(err)
		}
	}
}

// crop is the upper left 512 x 512 of an image, turned where it is upright.
func crop(m *raster.Image) *raster.Image {
	out := raster.New(512, 512, 1, 1, 8)
	for y := range 512 {
		copy(out.Pix[512*y:512*(y+1)], m.Pix[m.Width*y:])
	}
	return out
}

func paperTables(dev *gpu.Device, names []string, list []*raster.Image, sizes []int, books []*codebook) error {
	const ways = 3 // the paper's algorithm on one core, this codec's CPU path, the device
	encode := make([][][ways]float64, len(list))
	decode := make([][ways]float64, len(sizes))
	one, all := pool.Of(1), pool.New()
	ctx := context.Background()
	milliseconds := func(t time.Duration) float64 { return t.Seconds() * 1e3 }
	for i, m := range list {
		for j, book := range books {
			o := &Options{block: shape{4, 4}, raw: true, books: &bookPair{luma: book}}
			a := make([]byte, len(m.Pix))
			blocks(one, plane{512, 512, m.Pix}, book.shape, a)
			table := make([]uint16, len(a)/16)
			var failed error
			on := func(dev *gpu.Device) func() {
				return func() {
					err := onOne(ctx, dev, all, func(s steps) error {
						_, err := s.analyse(ctx, []*raster.Image{m}, o)
						return err
					})
					failed = errors.Join(failed, err)
				}
			}
			e := [ways]float64{
				milliseconds(fastest(1, func() { searchPlain(one, a, book.words, 16, table) })),
				milliseconds(fastest(5, on(nil))),
				milliseconds(fastest(9, on(dev))),
			}
			encode[i] = append(encode[i], e)
			h := newHeader(m, o)
			out := raster.New(512, 512, 1, 1, 8)
			expandOn := func(dev *gpu.Device) func() {
				return func() {
					failed = errors.Join(failed, onOne(ctx, dev, all, func(s steps) error {
						return s.expand(ctx, h, o.books, [][]uint16{table}, out)
					}))
				}
			}
			for w, t := range []time.Duration{
				fastest(3, func() { expandPlain(table, book.words, out.Pix) }), fastest(5, expandOn(nil)), fastest(9, expandOn(dev)),
			} {
				decode[j][w] += milliseconds(t) / float64(len(list))
			}
			if failed != nil {
				return failed
			}
		}
	}
	average := make([][ways]float64, len(sizes))
	line := func(name string, values func(j int) float64) {
		fmt.Printf("%-14s", name)
		for j := range sizes {
			fmt.Printf(" %10.3f", values(j))
		}
		fmt.Println()
	}
	for w, title := range []string{"Table I: CPU VQ encoder, Algorithm 1 on one core, ms", "Table I, this codec on all cores, ms", "Table II: GPU VQ encoder, ms"} {
		fmt.Printf("\n%s\n%-14s", title, "Image")
		for _, n := range sizes {
			fmt.Printf(" %10d", n)
		}
		fmt.Println()
		for i, name := range names {
			line(name, func(j int) float64 {
				average[j][w] += encode[i][j][w] / float64(len(list))
				return encode[i][j][w]
			})
		}
		line("Average", func(j int) float64 { return average[j][w] })
	}
	fmt.Printf("\nTable III: VQ decoder, ms\n")
	line("CPU, Alg. 2", func(j int) float64 { return decode[j][0] })
	line("CPU, codec", func(j int) float64 { return decode[j][1] })
	line("GPU", func(j int) float64 { return decode[j][2] })
	fmt.Printf("\nTable IV: speed-up of the GPU\n")
	line("VQ encoder", func(j int) float64 { return average[j][0] / average[j][2] })
	line("  over codec", func(j int) float64 { return average[j][1] / average[j][2] })
	line("VQ decoder", func(j int) float64 { return decode[j][0] / decode[j][2] })
	line("  over codec", func(j int) float64 { return decode[j][1] / decode[j][2] })
	return nil
}

// expandPlain is Algorithm 2 as it stands, for 512 x 512 and 4x4 blocks.
func expandPlain(table []uint16, words, out []byte) {
	for r := range 128 {
		for c := range 128 {
			x := int(table[128*r+c])
			for k := range 16 {
				out[(4*r+k/4)*512+4*c+k%4] = words[16*x+k]
			}
		}
	}
}
