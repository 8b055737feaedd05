//go:build cuda && cgo

package vq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// codedFiles are files of images of all kinds with all blocks, plain tables and shared codebooks among them, the Kodak images, and of
// each some with a flipped bit. The asset is the shared codebook.
func codedFiles(t testing.TB) (files [][]byte, asset []byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(8, 9))
	options := func(pairs ...string) codec.Options {
		o, err := Codec{}.Options(pairs)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	asset, err := Codec{}.Train(t.Context(), codec.Run{}, []*raster.Image{scene(300, 200, 1, 3)}, options(sharedSet...))
	if err != nil {
		t.Fatal(err)
	}
	add := func(m *raster.Image, o codec.Options) {
		e := Codec{}.Encode(t.Context(), codec.Run{}, codec.Items(m), o)[0]
		if e.Err != nil {
			t.Fatalf("%s, %q: %v", m.Shape, o, e.Err)
		}
		files = append(files, e.Data)
	}
	for range codectest.Rounds(300) {
		m := randomImage(r, 1+2*r.IntN(2))
		pairs := []string{"block=" + []string{"2x2", "4x2", "4x4", "8x8"}[r.IntN(4)], fmt.Sprint("n=", 2+r.IntN(1+r.IntN(600))), "passes=2"}
		switch r.IntN(5) {
		case 0:
			pairs = append(pairs, "index=raw")
		case 1:
			pairs = append(pairs, "chroma=444")
		}
		add(m, options(pairs...))
	}
	shared, err := options(sharedSet...).(*Options).WithAsset(asset)
	if err != nil {
		t.Fatal(err)
	}
	add(scene(301, 199, 1, 3), shared)
	add(scene(64, 48, 1, 1), shared)
	add(scene(512, 512, 1, 1), options())
	add(scene(100, 1500, 2, 3), options("n=4096", "block=2x2", "passes=1"))
	for n := 1; n <= 24 && !testing.Short(); n++ {
		if m, ok := kodak(t, n); ok {
			add(m, options())
		}
	}
	for _, whole := range files {
		damaged := bytes.Clone(whole)
		damaged[r.IntN(len(damaged))] ^= 1 << r.IntN(8)
		files = append(files, damaged)
		damaged = bytes.Clone(whole) // with the checksum that goes with it
		if h, err := parseHeader(damaged); err == nil && h.tableSize > 0 {
			index := damaged[len(damaged)-4-int(h.tableSize):][:h.tableSize]
			index[r.IntN(len(index))] ^= 1 << r.IntN(8)
			sum := checksum(index)
			copy(damaged[len(damaged)-4:], []byte{byte(sum), byte(sum >> 8), byte(sum >> 16), byte(sum >> 24)})
			files = append(files, damaged)
		}
	}
	return files, asset
}

func decodeOn(ctx context.Context, dev *gpu.Device, files [][]byte, asset []byte, alloc func(int) []byte) []codec.Decoded {
	run := codec.Run{Device: dev, Alloc: alloc}
	d := &fileDecoder{
		ctx: ctx, run: run, cores: run.Cores(), out: make([]codec.Decoded, len(files)), opened: make([]*openedFile, len(files)), always: true,
		shared: &sharedBooks{assets: func(context.Context, string) ([]byte, error) { return asset, nil }, known: make(map[string]*bookPair)},
	}
	d.decode(files)
	return d.out
}

// A device decodes files of all kinds, and refuses damaged ones, as the CPU does: many at once and few, into memory of the caller's,
// and where its own memory is short.
func TestDeviceDecodes(t *testing.T) {
	dev := gputest.Device(t, nil)
	files, asset := codedFiles(t)
	want := decodeOn(t.Context(), nil, files, asset, nil)
	failed := 0
	for i := range want {
		if want[i].Err != nil {
			failed++
		}
	}
	if failed == 0 || failed == len(files) {
		t.Fatalf("%d of %d files are damaged for the CPU", failed, len(files))
	}
	codectest.SameDecoded(t, want, decodeOn(t.Context(), dev, files, asset, nil))
	for _, n := range []int{1, 2, 7} {
		codectest.SameDecoded(t, want[:n], decodeOn(t.Context(), dev, files[:n], asset, nil))
	}
	var hosts []*gpu.Host
	defer func() {
		for _, h := range hosts {
			h.Free()
		}
	}()
	lend := make(chan struct{}, 1)
	codectest.SameDecoded(t, want, decodeOn(t.Context(), dev, files, asset, func(n int) []byte {
		lend <- struct{}{}
		defer func() { <-lend }()
		h, err := dev.Host(n)
		if err != nil {
			t.Error(err)
			return nil
		}
		hosts = append(hosts, h)
		return h.Bytes
	}))
	for memory := int64(20 << 10); memory < 64<<20; memory *= 5 {
		dev := gputest.Device(t, &gpu.Options{Lanes: 1, Memory: memory})
		codectest.SameDecoded(t, want, decodeOn(t.Context(), dev, files, asset, nil))
	}
}

// A context that has ended is the error of every file.
func TestDeviceDecodingEndsWithItsContext(t *testing.T) {
	dev := gputest.Device(t, nil)
	files, asset := codedFiles(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i, d := range decodeOn(ctx, dev, files[:20], asset, nil) {
		if !errors.Is(d.Err, context.Canceled) {
			t.Errorf("file %d: %v", i, d.Err)
		}
	}
}

// BenchmarkCardDecodeFiles decodes the Kodak images in batches on a device, and on all cores.
func BenchmarkCardDecodeFiles(b *testing.B) {
	dev := gputest.Device(b, nil)
	var kodaks [][]byte
	o, err := Codec{}.Options(nil)
	if err != nil {
		b.Fatal(err)
	}
	for n := 1; n <= 24; n++ {
		if m, ok := kodak(b, n); ok {
			kodaks = append(kodaks, Codec{}.Encode(b.Context(), codec.Run{}, codec.Items(m), o)[0].Data)
		}
	}
	if len(kodaks) == 0 {
		b.Skip("NOT MEASURED without Kodak images")
	}
	for _, n := range []int{1, 16, 64, 256} {
		files := make([][]byte, n)
		pixels := 0
		for i := range files {
			files[i] = kodaks[i%len(kodaks)]
		}
		for _, d := range (Codec{}).Decode(b.Context(), codec.Run{}, files, nil) {
			pixels += d.Image.Pixels()
		}
		for _, at := range []struct {
			name string
			run  func()
		}{
			{"device", func() { decodeOn(b.Context(), dev, files, nil, nil) }},
			{"cores", func() { Codec{}.Decode(b.Context(), codec.Run{}, files, nil) }},
		} {
			b.Run(fmt.Sprintf("%s/files=%d", at.name, n), func(b *testing.B) {
				for b.Loop() {
					at.run()
				}
				s := b.Elapsed().Seconds() / float64(b.N)
				b.ReportMetric(float64(pixels)/s/1e6, "Mpx/s")
				b.ReportMetric(s*1e9/float64(pixels/n), "ns/px-of-one")
			})
		}
	}
}
