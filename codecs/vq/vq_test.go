package vq

import (
	"context"
	"testing"

	"github.com/pelmill/pelmill/raster"
)

func TestQuality(t *testing.T) {
	for _, c := range []struct {
		n     int
		floor float64
	}{{1, 26.4}, {5, 25.1}, {8, 24.2}} {
		m, ok := kodak(t, c.n)
		if !ok {
			t.Skip("SKIPPED: ../shared/data/kodak is absent")
		}
		m = grey(m)
		e := Codec{}.Encode(context.Background(), nil, []*raster.Image{m}, nil)
		if e[0].Err != nil {
			t.Fatal(e[0].Err)
		}
		d := Codec{}.Decode(context.Background(), nil, [][]byte{e[0].Data}, nil)
		if d[0].Err != nil {
			t.Fatal(d[0].Err)
		}
		psnr, err := raster.PSNR(m, d[0].Image)
		if err != nil || psnr < c.floor {
			t.Errorf("kodak %d: %.2f dB, %v, want %.2f", c.n, psnr, err, c.floor)
		}
	}
}
