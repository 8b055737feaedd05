//go:build cuda && cgo

package pcwt

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// paperRow is a row of tables 5.1 and 5.2 of the paper: compression ratio and times in milliseconds on a GTX 570, with files on disk, and
// those of JPEG XR on its host.
type paperRow struct {
	name                          string
	width, height                 int
	ratio, compress, decompress   float64
	xrRatio, xrCompress, xrDecode float64
}

// The paper divides its images into four classes of five.
var paperRows = []paperRow{
	{"M2to5_01", 2133, 2133, 6.24, 41, 66, 6.78, 106, 117}, {"M2to5_02", 2048, 2500, 3.20, 44, 96, 3.66, 152, 167},
	{"M2to5_03", 1800, 1643, 3.15, 39, 59, 3.39, 97, 102}, {"M2to5_04", 1600, 1322, 2.48, 40, 47, 2.61, 76, 78},
	{"M2to5_05", 1728, 1638, 2.87, 40, 57, 2.97, 98, 100},
	{"M5to10_01", 2876, 2894, 2.83, 62, 170, 3.36, 274, 271}, {"M5to10_02", 2048, 2500, 3.20, 45, 95, 3.66, 151, 165},
	{"M5to10_03", 3744, 1640, 4.35, 51, 102, 4.17, 173, 180}, {"M5to10_04", 2241, 2492, 1.95, 55, 135, 2.01, 212, 211},
	{"M5to10_05", 2400, 3020, 3.82, 53, 129, 4.71, 198, 215},
	{"M10to20_01", 4280, 3520, 2.70, 81, 299, 2.99, 519, 534}, {"M10to20_02", 5352, 3000, 3.60, 94, 292, 4.41, 464, 453},
	{"M10to20_03", 4000, 3000, 2.28, 70, 268, 2.43, 459, 451}, {"M10to20_04", 3543, 3543, 4.06, 72, 212, 4.07, 352, 366},
	{"M10to20_05", 3047, 3386, 3.08, 68, 202, 3.09, 348, 335},
	{"M_L20M_01", 6144, 4990, 1.36, 195, 940, 1.37, 1211, 1186}, {"M_L20M_02", 6098, 4404, 4.85, 136, 459, 5.85, 692, 681},
	{"M_L20M_03", 7024, 5532, 1.59, 234, 1241, 1.61, 1510, 1507}, {"M_L20M_04", 6000, 5290, 1.79, 176, 962, 1.68, 1239, 1244},
	{"M_L20M_05", 6070, 4104, 2.50, 124, 604, 2.77, 936, 938},
}

// BenchmarkCardPaper is tables 5.2 and 5.3 of the paper, with profile 0 on images of its sizes: its own images are not at hand, so ours have
// slopes, edges and grain, and other ratios. Each image alone, from and to host memory.
func BenchmarkCardPaper(b *testing.B) {
	dev := gputest.Device(b, nil)
	o, err := Codec{}.Options([]string{"profile=0"})
	if err != nil {
		b.Fatal(err)
	}
	run := codec.Run{Device: dev, Pool: pool.New()}
	for b.Loop() {
		fmt.Printf("\nTable 5.2, profile 0 on %s; in brackets the paper's PCWT and JPEG XR\n%-11s %6s %28s %28s\n", dev.Name(), "", "CR", "Comp Time (ms)", "Decomp Time (ms)")
		var sums [4][4]float64 // of a class, pixels x time: ours and of JPEG XR, compression and decompression
		for i, row := range paperRows {
			images := imagesOf(b, dev, []picture{landscape(row.width, row.height, 1)})
			size, compress, decompress := timesAlone(b, run, images, o)
			ratio := float64(images[0].Size()) / float64(size)
			fmt.Printf("%-11s %6.2f %8.2f (%6.0f, %7.0f) %9.2f (%6.0f, %7.0f)\n", row.name, ratio, compress, row.compress, row.xrCompress, decompress, row.decompress, row.xrDecode)
			pixels := float64(row.width * row.height)
			for k, v := range [4]float64{compress, row.xrCompress, decompress, row.xrDecode} {
				sums[i/5][k] += pixels * v
			}
		}
		fmt.Printf("\nTable 5.3, weighted acceleration against the paper's times of JPEG XR\n%-10s %12s %14s\n", "", "compression", "decompression")
		for i, name := range []string{"2~5 MP", "5~10 MP", "10~20 MP", "> 20 MP"} {
			fmt.Printf("%-10s %12.0f %14.0f\n", name, sums[i][1]/sums[i][0], sums[i][3]/sums[i][2])
		}
	}
}

// timesAlone is the size of an image's file, and the least times in milliseconds.
func timesAlone(b *testing.B, run codec.Run, images []*raster.Image, o codec.Options) (size int, compress, decompress float64) {
	best := func(f func() error) float64 {
		least := time.Hour
		for range 5 {
			start := time.Now()
			if err := f(); err != nil {
				b.Fatal(err)
			}
			least = min(least, time.Since(start))
		}
		return float64(least.Microseconds()) / 1000
	}
	var file []byte
	compress = best(func() error {
		e := Codec{}.Encode(context.Background(), run, codec.Items(images...), o)[0]
		file = e.Data
		return e.Err
	})
	decompress = best(func() error { return Codec{}.Decode(context.Background(), run, [][]byte{file}, nil)[0].Err })
	return len(file), compress, decompress
}
