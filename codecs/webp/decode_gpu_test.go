//go:build cuda && cgo

package webp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/imageio"
)

// codedFiles are files of the encoder, files of streams that no encoder makes, the Kodak images, and of each of the small
// ones some with a flipped bit.
func codedFiles(t testing.TB) (files [][]byte) {
	t.Helper()
	for i, e := range (Codec{}).Encode(context.Background(), codec.Run{}, codec.Items(mixedImages(60)...), nil) {
		if e.Err != nil {
			t.Fatalf("image %d: %v", i, e.Err)
		}
		files = append(files, e.Data)
	}
	for seed := range uint64(codectest.Rounds(400)) {
		s, _ := randomStream(rand.New(rand.NewPCG(77, seed)))
		data, err := (&file{width: s.Width, height: s.Height, alpha: true, bitstream: s.Write(testimages.Pools[0])}).write()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, whole := range files {
		damaged := bytes.Clone(whole)
		damaged[20+r.IntN(len(damaged)-20)] ^= 1 << r.IntN(8)
		files = append(files, damaged)
	}
	return append(files, kodakFiles(t)...)
}

// kodakFiles are the Kodak images as files, if they are there.
func kodakFiles(t testing.TB) (files [][]byte) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(sharedData("kodak"), "*.png"))
	if len(names) == 0 {
		t.Logf("NO KODAK PICTURES in %s", sharedData("kodak"))
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := imageio.Decode(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, encoded(t, m, "effort=6"))
	}
	return files
}

func decodeOn(ctx context.Context, dev *gpu.Device, files [][]byte, alloc func(int) []byte) []codec.Decoded {
	return decodeFor(ctx, codec.Run{Device: dev, Alloc: alloc}, files)
}

// decodeFor is decodeOn for a run.
func decodeFor(ctx context.Context, run codec.Run, files [][]byte) []codec.Decoded {
	out := make([]codec.Decoded, len(files))
	d := &deviceDecoder{ctx: ctx, run: run, cores: pool.New(), files: files, out: out, always: true}
	d.decode()
	return out
}

// A device compares the images of files with others.
func TestDeviceCompares(t *testing.T) {
	dev := gputest.Device(t, nil)
	files := codedFiles(t)
	want := Codec{}.Decode(t.Context(), codec.Run{}, files, nil)
	compared, taken := codectest.Compared(t, want, func(originals []codec.Original) []codec.Decoded {
		return decodeFor(t.Context(), codec.Run{Device: dev, Originals: originals}, files)
	})
	if compared > taken || compared < taken*3/4 || taken < 10 { // cores decode some, as golang.org/x/image does
		t.Errorf("%d of %d files were compared, the device takes %d", compared, len(files), taken)
	}
}

// A device decodes files of all kinds, and refuses damaged ones, as the CPU does.
func TestDeviceDecodes(t *testing.T) {
	dev := gputest.Device(t, nil)
	files := codedFiles(t)
	want := Codec{}.Decode(t.Context(), codec.Run{}, files, nil)
	failed := 0
	for i := range want {
		if want[i].Err != nil {
			failed++
		}
	}
	if failed == 0 || failed == len(files) {
		t.Fatalf("%d of %d files are damaged for the CPU", failed, len(files))
	}
	codectest.SameDecoded(t, want, decodeOn(t.Context(), dev, files, nil))
	codectest.SameDecoded(t, want, Codec{}.Decode(t.Context(), codec.Run{Device: dev}, files, nil))
	for _, n := range []int{1, 2, 7} {
		codectest.SameDecoded(t, want[:n], decodeOn(t.Context(), dev, files[:n], nil))
	}
	// Into pinned memory of the caller's.
	var hosts []*gpu.Host
	defer func() {
		for _, h := range hosts {
			h.Free()
		}
	}()
	lend := make(chan struct{}, 1)
	codectest.SameDecoded(t, want, decodeOn(t.Context(), dev, files, func(n int) []byte {
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
}

// With little memory batches are divided, and the CPU decodes what does not fit at all.
func TestDeviceDecodesInLittleMemory(t *testing.T) {
	files := codedFiles(t)
	want := Codec{}.Decode(t.Context(), codec.Run{}, files, nil)
	for memory := int64(20 << 10); memory < 32<<20; memory *= 5 {
		dev := gputest.Device(t, &gpu.Options{Lanes: 1, Memory: memory})
		codectest.SameDecoded(t, want, decodeOn(t.Context(), dev, files, nil))
	}
}

// A context that has ended is the error of every file.
func TestDeviceDecodingEndsWithItsContext(t *testing.T) {
	dev := gputest.Device(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i, d := range decodeOn(ctx, dev, codedFiles(t)[:40], nil) {
		if !errors.Is(d.Err, context.Canceled) {
			t.Errorf("file %d: %v", i, d.Err)
		}
	}
}

// BenchmarkCardDecode decodes the Kodak images in batches on a device, and on all cores.
func BenchmarkCardDecode(b *testing.B) {
	dev := gputest.Device(b, nil)
	// Without those that golang.org/x/image decodes as well.
	kodak := slices.DeleteFunc(kodakFiles(b), func(data []byte) bool {
		f, err := open(data)
		return err != nil || foreign(f.bitstream)
	})
	if len(kodak) == 0 {
		b.Skip("NOT MEASURED without Kodak images")
	}
	for _, n := range []int{1, 16, 64, 256} {
		files := make([][]byte, n)
		pixels := 0
		for i := range files {
			files[i] = kodak[i%len(kodak)]
		}
		for _, d := range (Codec{}).Decode(b.Context(), codec.Run{}, files, nil) {
			pixels += d.Image.Pixels()
		}
		for _, at := range []struct {
			name string
			run  func()
		}{
			{"device", func() { decodeOn(b.Context(), dev, files, nil) }},
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
