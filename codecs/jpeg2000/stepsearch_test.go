package jpeg2000

import (
	"fmt"
	"math"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// psnr compares images of one shape, 200 where they are the same.
func psnr(a, b *raster.Image) float64 {
	sum := 0.0
	for i := range a.Samples() {
		d := float64(a.Sample(i) - b.Sample(i))
		sum += d * d
	}
	if sum == 0 {
		return 200
	}
	peak := float64(int(1)<<a.Bits - 1)
	return 10 * math.Log10(peak*peak*float64(a.Samples())/sum)
}

// With mode=ht a file takes no more than bpp says, and little less; or has a PSNR near the
// one asked for; and a higher quality has more of both.
func TestHTGoals(t *testing.T) {
	for _, s := range []raster.Shape{shape(300, 200, 3, 8, false), shape(211, 190, 1, 12, true), shape(1, 1, 1, 8, false), shape(90, 99, 2, 16, false)} {
		m := pattern(s)
		for _, bpp := range []float64{0.5, 2, 8} {
			n := len(encoded(t, m, "mode=ht", "container=j2c", fmt.Sprint("bpp=", bpp)))
			empty := len(encoded(t, m, "mode=ht", "container=j2c", "bpp=0.001"))
			budget := int(bpp * float64(m.Pixels()) / 8)
			full := len(encoded(t, m, "mode=ht", "container=j2c", "wavelet=9/7"))
			if n > max(budget, empty) || n < min(budget*96/100, full) {
				t.Errorf("%s, bpp=%g: %d bytes of %d; nothing takes %d and all %d", s, bpp, n, budget, empty, full)
			}
		}
		for _, want := range []float64{20, 35, 50, 70} {
			back, err := decodeOne(t, encoded(t, m, "mode=ht", fmt.Sprint("psnr=", want)), codec.View{})
			if err != nil {
				t.Fatal(err)
			}
			if got := psnr(m, back); m.Pixels() > 1 && (got < want-1 || got > want+2 && got < 60) {
				t.Errorf("%s, psnr=%g: %.2f dB", s, want, got)
			}
		}
		bytes, error := 0, 0.0
		for _, quality := range []int{1, 30, 60, 80, 100} {
			file := encoded(t, m, "mode=ht", fmt.Sprint("quality=", quality))
			back, err := decodeOne(t, file, codec.View{})
			if err != nil {
				t.Fatal(err)
			}
			if got := psnr(m, back); len(file) < bytes || got < error {
				t.Errorf("%s, quality=%d: %d bytes after %d, %.2f dB after %.2f", s, quality, len(file), bytes, got, error)
			} else {
				bytes, error = len(file), got
			}
		}
	}
}

// Indices have room however deep the wavelet transform and fine the step.
func TestFineSteps(t *testing.T) {
	for _, mode := range []string{"ht", "part1"} {
		for _, bits := range []int{8, 16} {
			m := pattern(shape(70, 50, 1, bits, false))
			back, err := decodeOne(t, encoded(t, m, "mode="+mode, "psnr=120", "levels=32"), codec.View{})
			if err != nil {
				t.Fatal(err)
			}
			if got := psnr(m, back); got < 95 {
				t.Errorf("%d bits: %.2f dB", bits, got)
			}
		}
	}
}

// The search finds the first index that fits, also where values are the same on long
// stretches.
func TestFitting(t *testing.T) {
	for _, value := range []func(i int) float64{
		func(i int) float64 { return math.Exp2(float64(20-i) / 7) },
		func(i int) float64 { return float64(1000 - i) },
		func(i int) float64 { return float64(1000 - i/50*50) },
		func(int) float64 { return 1e6 },
		func(int) float64 { return 0 },
	} {
		for _, limit := range []float64{1, 3, 500, 999} {
			want := 0
			for want < 300 && value(want) > limit {
				want++
			}
			for _, guess := range []int{-5, 0, 150, 299, 400} {
				calls := 0
				got := fitting(300, guess, limit, func(i int) float64 { calls++; return value(i) })
				if got != want || calls > 40 {
					t.Errorf("limit %g from %d: %d after %d looks, want %d", limit, guess, got, calls, want)
				}
			}
		}
	}
}
