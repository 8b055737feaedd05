package vq

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// What a file says of the memory for decoding it is not exceeded where sixteen cores decode segments and bands at the
// same time.
func TestMemoryOnManyCores(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short, which the race detector has: under it pools forget on purpose, and models are made anew")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // so that little garbage is counted
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	for _, shape := range []raster.Shape{
		{Width: 64, Height: 64, Depth: 64, Channels: 3, Bits: 8},    // many segments
		{Width: 30000, Height: 512, Depth: 1, Channels: 3, Bits: 8}, // large bands
	} {
		m := raster.New(shape.Width, shape.Height, shape.Depth, shape.Channels, shape.Bits)
		for i := range m.Pix {
			m.Pix[i] = byte(i % 100 * (i % 100) >> 5)
		}
		o, err := Codec{}.Options(nil)
		if err != nil {
			t.Fatal(err)
		}
		e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)
		if e[0].Err != nil {
			t.Fatal(e[0].Err)
		}
		h, err := Codec{}.Header(e[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			took := heapPeak(func() { Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{e[0].Data}, nil) })
			if says := min(h.Memory, Codec{}.Memory(shape, nil, o).Decode); took > says {
				t.Errorf("%s: decoding took %d bytes, the codec says %d", shape, took, says)
			}
		}
	}
}

// heapPeak is the most that f adds to the objects of the heap, without what pools keep.
func heapPeak(f func()) int64 {
	runtime.GC()
	runtime.GC() // pools are empty behind the second one
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	now := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	before, most := now(), int64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			most = max(most, now())
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-done
	return most - before
}
