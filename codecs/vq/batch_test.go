//go:build cuda && cgo

package vq

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// mixedImages is images of all kinds for one batch: 1x1, fewer blocks than codewords, flat,
// grey and RGB, volumes, and some that are sampled for small codebooks.
func mixedImages() []*raster.Image {
	var list []*raster.Image
	for i, size := range [][2]int{{1, 1}, {5, 3}, {64, 48}, {33, 129}, {200, 150}, {7, 400}, {1, 90}, {256, 256}, {301, 99}} {
		list = append(list, scene(size[0], size[1], 1+i%3/2, 1), scene(size[0], size[1], 1, 3))
	}
	flat := raster.New(300, 200, 1, 3, 8)
	for i := range flat.Pix {
		flat.Pix[i] = 77
	}
	return append(list, flat, noise(4, 222, 111, 3))
}

// Images of all sizes and kinds in one batch give the bytes that each gives on the CPU.
func TestBatch(t *testing.T) {
	dev := gputest.Device(t, nil)
	batch := mixedImages()
	for _, pairs := range [][]string{
		nil, {"index=raw"}, {"n=2", "chroma-n=3"}, {"n=17", "chroma=444", "block=2x2"}, {"train=split", "block=4x2"},
		{"n=1000", "chroma-n=20", "block=8x8", "passes=1"}, {"n=60", "train=split", "passes=30"},
	} {
		o := mustOptions(t, pairs...)
		want := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(batch...), o)
		got := Codec{}.Encode(context.Background(), codec.Run{Device: dev}, codec.Items(batch...), o)
		for i := range want {
			if want[i].Err != nil || got[i].Err != nil || !bytes.Equal(got[i].Data, want[i].Data) {
				t.Errorf("%q: picture %d, %s: other bytes (%v, %v)", o, i, batch[i].Shape, want[i].Err, got[i].Err)
			}
		}
	}
}

// A device makes the digests of what its files decode to, of all images that have enough samples.
func TestDigestsOnCard(t *testing.T) {
	dev := gputest.Device(t, nil)
	batch := mixedImages()
	enough := 0
	for _, m := range batch {
		if len(m.Pix) >= 128 {
			enough++
		}
	}
	for _, pairs := range [][]string{nil, {"index=raw"}, {"n=2", "chroma-n=3"}, {"n=17", "chroma=444", "block=2x2"}, {"n=1000", "chroma-n=20", "block=8x8", "passes=1"}} {
		if n := codectest.Digests(t, dev, Codec{}, batch, mustOptions(t, pairs...), nil); n != enough {
			t.Errorf("%q: digests of %d pictures, want %d", pairs, n, enough)
		}
	}
	o := mustOptions(t, sharedSet...)
	asset, err := Codec{}.Train(t.Context(), codec.Run{}, batch, o)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := o.WithAsset(asset)
	if err != nil {
		t.Fatal(err)
	}
	assets := func(context.Context, string) ([]byte, error) { return asset, nil }
	if n := codectest.Digests(t, dev, Codec{}, batch, shared, assets); n != enough {
		t.Errorf("a shared codebook: digests of %d pictures, want %d", n, enough)
	}
	few := gputest.Device(t, &gpu.Options{Lanes: 1, Memory: 4 << 20})
	codectest.Digests(t, few, Codec{}, batch, nil, nil)
}

// A batch whose context ends hands the error to every image.
func TestBatchEndsWithItsContext(t *testing.T) {
	dev := gputest.Device(t, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("enough")
	cancel(stop)
	for i, e := range (Codec{}).Encode(ctx, codec.Run{Device: dev}, codec.Items(mixedImages()...), nil) {
		if e.Data != nil || !errors.Is(e.Err, stop) && !errors.Is(e.Err, context.Canceled) {
			t.Errorf("picture %d: %d bytes, error %v", i, len(e.Data), e.Err)
		}
	}
	for i, e := range (Codec{}).Encode(context.Background(), codec.Run{Device: dev}, codec.Items(mixedImages()...), nil) {
		if e.Err != nil {
			t.Errorf("picture %d of the next batch: %v", i, e.Err)
		}
	}
}

// A context that ends in the middle of the work leaves images that are whole and
// images with its error.
func TestBatchIsCutShort(t *testing.T) {
	dev := gputest.Device(t, nil)
	batch := mixedImages()
	want := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(batch...), nil)
	for _, after := range []time.Duration{200 * time.Microsecond, time.Millisecond, 3 * time.Millisecond, 8 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(context.Background(), after)
		for i, e := range (Codec{}).Encode(ctx, codec.Run{Device: dev}, codec.Items(batch...), nil) {
			if e.Err == nil && !bytes.Equal(e.Data, want[i].Data) || e.Err != nil && !errors.Is(e.Err, context.DeadlineExceeded) {
				t.Errorf("after %v: picture %d: %d bytes, error %v", after, i, len(e.Data), e.Err)
			}
		}
		cancel()
	}
}

// A device with too little memory takes smaller batches, and leaves to the CPU what does not
// even fit alone, whatever the step that finds no room; the bytes stay the same.
func TestLittleMemory(t *testing.T) {
	batch := mixedImages()
	for i := range 12 {
		batch = append(batch, scene(300+10*i, 200, 1, 1+2*(i%2)))
	}
	want := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(batch...), nil)
	for memory := int64(30 << 10); memory < 64<<20; memory += memory/2 + 1111 {
		dev := gputest.Device(t, &gpu.Options{Lanes: 1, Memory: memory})
		for i, e := range (Codec{}).Encode(context.Background(), codec.Run{Device: dev}, codec.Items(batch...), nil) {
			if e.Err != nil || !bytes.Equal(e.Data, want[i].Data) {
				t.Errorf("%d bytes: picture %d: other bytes (%v)", memory, i, e.Err)
			}
		}
	}
}
