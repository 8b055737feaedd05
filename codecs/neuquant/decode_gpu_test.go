//go:build cuda && cgo

package neuquant

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// codedFiles are PNG and GIF files of images with many colours and few, with alpha and without, and of each one with a flipped bit.
func codedFiles(t testing.TB) (files [][]byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(12, 13))
	for range codectest.Rounds(200) {
		m := raster.New(1+r.IntN(120), 1+r.IntN(90), 1, []int{1, 3, 4}[r.IntN(3)], 8)
		step := 1 << r.IntN(8)
		for i := range m.Pix {
			m.Pix[i] = byte(i/(1+r.IntN(3))) &^ byte(step-1)
		}
		pairs := []string{"sample=10"}
		if r.IntN(4) == 0 && m.Channels == 3 {
			pairs = append(pairs, "format=gif")
		}
		o, err := Codec{}.Options(pairs)
		if err != nil {
			t.Fatal(err)
		}
		e := Codec{}.Encode(t.Context(), codec.Run{}, codec.Items(m), o)[0]
		if e.Err != nil {
			t.Fatalf("%s: %v", m.Shape, e.Err)
		}
		files = append(files, e.Data)
	}
	for _, m := range devicePhotos(t) {
		files = append(files, Codec{}.Encode(t.Context(), codec.Run{}, codec.Items(m), nil)[0].Data)
	}
	for _, whole := range files {
		damaged := bytes.Clone(whole)
		damaged[r.IntN(len(damaged))] ^= 1 << r.IntN(8)
		files = append(files, damaged)
	}
	return files
}

func decodeOn(ctx context.Context, dev *gpu.Device, files [][]byte) []codec.Decoded {
	run := codec.Run{Device: dev}
	d := &deviceDecoder{ctx: ctx, run: run, cores: run.Cores(), files: files, out: make([]codec.Decoded, len(files)), always: true}
	d.decode()
	return d.out
}

// A device decodes files of all kinds, and refuses damaged ones, as the CPU does: many at once and few, and where its memory is short.
func TestDeviceDecodes(t *testing.T) {
	dev := gputest.Device(t, nil)
	files := codedFiles(t)
	want := Codec{}.Decode(t.Context(), codec.Run{}, files, nil)
	codectest.SameDecoded(t, want, decodeOn(t.Context(), dev, files))
	codectest.SameDecoded(t, want, Codec{}.Decode(t.Context(), codec.Run{Device: dev}, files, nil))
	for _, n := range []int{1, 2, 7} {
		codectest.SameDecoded(t, want[:n], decodeOn(t.Context(), dev, files[:n]))
	}
	for memory := int64(20 << 10); memory < 32<<20; memory *= 5 {
		dev := gputest.Device(t, &gpu.Options{Lanes: 1, Memory: memory})
		codectest.SameDecoded(t, want, decodeOn(t.Context(), dev, files))
	}
}

// A context that has ended is the error of every file.
func TestDeviceDecodingEndsWithItsContext(t *testing.T) {
	dev := gputest.Device(t, nil)
	files := codedFiles(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i, d := range decodeOn(ctx, dev, files[:20]) {
		if !errors.Is(d.Err, context.Canceled) {
			t.Errorf("file %d: %v", i, d.Err)
		}
	}
}
