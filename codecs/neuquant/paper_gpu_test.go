//go:build cuda && cgo

package neuquant

import (
	"fmt"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// BenchmarkCardPaper prints the paper's Table 1 for images of 2 to 6 megapixels, as in
// its figure 2: seconds a pixel from pixels to indices, one image at a time and in a
// batch. Sequential is this codec on one core. As in the paper all pixels are trained on;
// the second table has the default options.
func BenchmarkCardPaper(b *testing.B) {
	dev := gputest.Device(b, &gpu.Options{Lanes: 3, Pinned: 12 << 30})
	src := sources(b)
	sizes := [][2]int{{1920, 1080}, {2048, 1536}, {2560, 1600}, {2560, 2048}, {3072, 2048}}
	for b.Loop() {
		for _, o := range []*Options{{sample: 1}, {sample: 10, refine: 6}} {
			fmt.Printf("\nTable 1: Average Timings, Parallel vs. Sequential; sample=%d refine=%d\nTime Per Pixel (seconds)\n| pixels | Sequential | Parallel, alone | Speedup | Parallel, batch of 96 | Speedup |\n", o.sample, o.refine)
			var sum [3]float64
			for i, s := range sizes {
				t := paperRow(b, dev, src, i, s[0], s[1], o)
				fmt.Printf("| %d | %.4e | %.4e | %.4f | %.4e | %.4f |\n", s[0]*s[1], t[0], t[1], t[0]/t[1], t[2], t[0]/t[2])
				for j := range sum {
					sum[j] += t[j] / float64(len(sizes))
				}
			}
			fmt.Printf("| Average | %.4e | %.4e | %.4f | %.4e | %.4f |\n", sum[0], sum[1], sum[0]/sum[1], sum[2], sum[0]/sum[2])
		}
	}
}

// paperRow is seconds a pixel: on one core, on a device alone, on a device in a batch.
func paperRow(b *testing.B, dev *gpu.Device, src []*raster.Image, seed, w, h int, o *Options) (out [3]float64) {
	const n = 96
	locked, err := dev.Host(n * w * h * 3)
	if err != nil {
		b.Fatal(err)
	}
	defer locked.Free()
	list := make([]problem, n)
	pool.New().Each(n, func(i int) {
		list[i] = problem{samples: locked.Bytes[i*w*h*3:][: w*h*3 : w*h*3], entries: 256, opaque: true, mapped: true}
		mosaic(src, seed+i, w, list[i].samples)
	})
	perPixel := func(t time.Duration, images int) float64 { return t.Seconds() / float64(images*w*h) }
	out[0] = perPixel(fastest(1, func() { solveAll(b, cpuSteps{pool.Of(1)}, list[:1], o) }), 1)
	out[1] = perPixel(fastest(2, func() { solveAll(b, &deviceSteps{device: dev, pool: pool.New()}, list[:1], o) }), 1)
	out[2] = perPixel(fastest(2, func() { solveAll(b, &deviceSteps{device: dev, pool: pool.New(), most: n / 3}, list, o) }), n)
	return out
}

// mosaic fills an image with others, side by side.
func mosaic(src []*raster.Image, seed, w int, pix []byte) {
	for i := range len(pix) / (3 * w) {
		for x := 0; x < w; x += side {
			m := src[(seed+x/side*5+i/side*7)%len(src)]
			copy(pix[3*(i*w+x):3*(i*w+min(w, x+side))], m.Pix[3*(i%side*m.Width+seed*31%max(1, m.Width-side)):])
		}
	}
}
