package vq

import (
	"bytes"
	"context"
	"runtime"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

func TestQuality(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: quality of photographs, with -short")
	}
	for _, c := range []struct {
		n     int
		floor float64
	}{{1, 26.4}, {5, 25.1}, {8, 24.2}} {
		m, ok := kodak(t, c.n)
		if !ok {
			t.Skip("NOT TESTED: ../shared/data/kodak, which is no part of the project, is absent")
		}
		m = grey(m)
		e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), nil)
		if e[0].Err != nil {
			t.Fatal(e[0].Err)
		}
		d := Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{e[0].Data}, nil)
		if d[0].Err != nil {
			t.Fatal(d[0].Err)
		}
		psnr, err := raster.PSNR(m, d[0].Image)
		if err != nil || psnr < c.floor {
			t.Errorf("kodak %d: %.2f dB, %v, want %.2f", c.n, psnr, err, c.floor)
		}
	}
}

// An image that keeps several goroutines busy in every step, and has several
// segments, gives the same bytes with any number of them.
func TestLargeImageGivesTheSameBytes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	m, all := scene(1400, 1000, 1, 3), []int{1, 2, 8, 3}
	o := mustOptions(t, "block=4x2", "n=100", "passes=5")
	if testing.Short() {
		o, all = mustOptions(t, "block=4x2", "n=16", "passes=1"), []int{1, 8}
	}
	var want []byte
	for _, procs := range all {
		runtime.GOMAXPROCS(procs)
		got := mustEncode(t, m, o)
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("other bytes with %d goroutines", procs)
		}
		d, err := decodeOne(got, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := raster.PSNR(m, d); err != nil || p < 15 {
			t.Fatalf("%.2f dB with %d goroutines, %v", p, procs, err)
		}
	}
}

// A trained codebook is full, in order, and the same every time.
func TestTrainedCodebook(t *testing.T) {
	c := pool.New()
	samples := make([]byte, 0, 4*1000)
	for i := range 1000 {
		samples = append(samples, byte(i), byte(i), byte(i>>2), byte(i>>2))
	}
	b := newCPUBlocks(c, 4, samples)
	for _, how := range []start{startKMeans, startSplit} {
		first, err := train(context.Background(), b, shape{2, 2}, 16, how, 100)
		if err != nil {
			t.Fatal(err)
		}
		second, err := train(context.Background(), b, shape{2, 2}, 16, how, 100)
		if err != nil || !bytes.Equal(first.words, second.words) {
			t.Errorf("%s: training twice gives two codebooks (%v)", how, err)
		}
		if first.n() != 16 {
			t.Errorf("%s: %d codewords, want 16", how, first.n())
		}
		for i := 1; i < first.n(); i++ {
			if !before(first.word(i-1), first.word(i)) {
				t.Errorf("%s: codeword %d is out of order", how, i)
			}
		}
	}
}
