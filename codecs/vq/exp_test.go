package vq

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

func TestExperiment(t *testing.T) {
	opts := []string{}
	if s := os.Getenv("VQOPT"); s != "" {
		opts = append(opts, s)
	}
	o, err := Codec{}.Options(opts)
	if err != nil {
		t.Fatal(err)
	}
	var p3, i3 float64
	var pa, ia float64
	for n := 1; n <= 12; n++ {
		m, ok := kodak(t, n)
		if !ok {
			t.Skip()
		}
		if os.Getenv("RGB") == "" {
			m = grey(m)
		}
		t0 := time.Now()
		e := Codec{}.Encode(context.Background(), nil, []*raster.Image{m}, o)
		t1 := time.Since(t0)
		if e[0].Err != nil {
			t.Fatal(e[0].Err)
		}
		t0 = time.Now()
		d := Codec{}.Decode(context.Background(), nil, [][]byte{e[0].Data}, nil)
		t2 := time.Since(t0)
		if d[0].Err != nil {
			t.Fatal(d[0].Err)
		}
		psnr, _ := raster.PSNR(m, d[0].Image)
		h, _ := parseHeader(e[0].Data)
		px := float64(m.Width * m.Height)
		bpp := float64(h.tableSize) * 8 / px
		fmt.Printf("%02d psnr %.3f index %.4f book %.4f total %.4f bpp  enc %v dec %v\n", n, psnr, bpp, float64(h.bookSize)*8/px, float64(len(e[0].Data))*8/px, t1.Round(time.Millisecond), t2.Round(time.Millisecond))
		if n == 1 || n == 5 || n == 8 {
			p3 += psnr / 3
			i3 += bpp / 3
		}
		pa += psnr / 12
		ia += bpp / 12
	}
	fmt.Printf("1,5,8: %.3f dB %.4f bpp; all: %.3f dB %.4f bpp\n", p3, i3, pa, ia)
	_ = codec.Field{}
}
