package jpeg2000

import (
	"fmt"
	"image"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// BenchmarkCardHTWithLoss prints how fast High Throughput files are made for each goal, and
// decoded, on a card and with all cores of the CPU.
func BenchmarkCardHTWithLoss(b *testing.B) {
	dev := gputest.Device(b, nil)
	const n, w, h = 24, 3840, 2160
	var images []*raster.Image
	for i := range n {
		if i >= 4 {
			images = append(images, images[i-4])
			continue
		}
		images = append(images, benchImage(b, i, w, h))
	}
	for _, goal := range []string{"wavelet=9/7", "quality=75", "psnr=40", "bpp=2"} {
		o, err := Codec{}.Options([]string{"mode=ht", "container=j2c", goal})
		if err != nil {
			b.Fatal(err)
		}
		for _, run := range []codec.Run{{Device: dev}, {}} {
			what, some, times := "CPU", images[:2], 1
			if run.Device != nil {
				what, some, times = dev.Name(), images, 3
			}
			encode, decode := time.Hour, time.Hour
			for range times {
				var files [][]byte
				start := time.Now()
				for _, e := range (Codec{}).Encode(b.Context(), run, codec.Items(some...), o) {
					files = append(files, e.Data)
				}
				encode = min(encode, time.Since(start))
				start = time.Now()
				Codec{}.Decode(b.Context(), run, files, nil)
				decode = min(decode, time.Since(start))
			}
			pixels := float64(len(some) * w * h)
			fmt.Printf("%2d x %d x %d RGB, HT, %-11s, %-11s: encode %6.2f Gpx/s, decode %6.2f Gpx/s\n", len(some), w, h, goal, what,
				pixels/encode.Seconds()/1e9, pixels/decode.Seconds()/1e9)
		}
	}
}

// BenchmarkCardViews prints how long views take on a card and with all cores of the CPU:
// where a card is slower, views are the CPU's.
func BenchmarkCardViews(b *testing.B) {
	dev := gputest.Device(b, nil)
	before := leastView
	defer func() { leastView = before }()
	leastView.part1, leastView.ht = 0, 0
	for _, mode := range []string{"part1", "ht"} {
		file := encoded(b, benchImage(b, 0, 3840, 2160), "mode="+mode, "effort=fast")
		for _, n := range []int{1, 16} {
			files := make([][]byte, n)
			for i := range files {
				files[i] = file
			}
			for _, view := range []codec.View{{Reduce: 1}, {Reduce: 3}, {Region: image.Rect(0, 0, 1920, 1080)}} {
				text := ""
				for _, run := range []codec.Run{{Device: dev}, {}} {
					took := time.Hour
					for range 2 {
						start := time.Now()
						Codec{}.DecodeView(b.Context(), run, files, nil, view)
						took = min(took, time.Since(start))
					}
					text += fmt.Sprintf(" %8.1f ms", took.Seconds()*1e3)
				}
				fmt.Printf("%2d views of 3840 x 2160, %-5s, reduce %d, region %v: card and CPU%s\n", n, mode, view.Reduce, view.Region, text)
			}
		}
	}
}
