package webp

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// mixedImages is images of all kinds and sizes for one batch.
func mixedImages(n int) []*raster.Image {
	list := []*raster.Image{raster.New(1, 1, 1, 1, 8), raster.New(300, 200, 1, 3, 8), raster.New(1, 500, 1, 4, 8)}
	for i := range n {
		list = append(list, oddImage(rand.New(rand.NewPCG(5, uint64(i)))))
	}
	return list
}

// A batch whose context ends hands the error to every image, and the next one is whole.
func TestBatchEndsWithItsContext(t *testing.T) {
	dev := gputest.Device(t, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("enough")
	cancel(stop)
	batch := mixedImages(20)
	for i, e := range (Codec{}).Encode(ctx, codec.Run{Device: dev}, codec.Items(batch...), nil) {
		if e.Data != nil || !errors.Is(e.Err, stop) && !errors.Is(e.Err, context.Canceled) {
			t.Errorf("picture %d: %d bytes, error %v", i, len(e.Data), e.Err)
		}
	}
	for i, e := range (Codec{}).Encode(context.Background(), codec.Run{Device: dev}, codec.Items(batch...), nil) {
		if e.Err != nil {
			t.Errorf("picture %d of the next batch: %v", i, e.Err)
		}
	}
}

// A context that ends in the middle of the work leaves images that are whole and
// images with its error.
func TestBatchIsCutShort(t *testing.T) {
	dev := gputest.Device(t, nil)
	batch := mixedImages(40)
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
	batch := mixedImages(30)
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

// An image whose search takes long holds up no other.
func TestBatchDoesNotWaitForTheLast(t *testing.T) {
	dev := gputest.Device(t, nil)
	images := mixedImages(3)
	others := make(chan error, len(images))
	err := dev.Do(t.Context(), func(l *gpu.Lane) error {
		d := newBatch(l, pool.Shared(4))
		return d.encode(images, &defaults, func(v steps, i int) {
			if i == 0 {
				for range len(images) - 1 {
					if err := <-others; err != nil {
						t.Error(err)
					}
				}
			}
			_, err := search.Photo(t.Context(), d.pool, v, loaded(testimages.Pools[0], images[i], true), 1)
			others <- err
		})
	})
	if err := errors.Join(err, <-others); err != nil {
		t.Error(err)
	}
}

// Searches have no more goroutines than the pool, and none while they wait for the lane.
func TestSearchesShareThePool(t *testing.T) {
	const n, cores = 9, 2
	c := pool.Shared(cores)
	b := &batch{pool: c.First(), requests: make(chan *request), ended: make(chan any)}
	var now, most atomic.Int64
	var answered sync.WaitGroup
	lane := func() {
		var list []*request
		for range n {
			list = append(list, <-b.requests)
		}
		if busy, waiting := c.Load(); busy != 0 || waiting != 0 {
			t.Errorf("%d searches are at work and %d wait for a core while all wait for the lane", busy, waiting)
		}
		for _, r := range list {
			close(r.done)
		}
	}
	answered.Go(lane)
	search := func() {
		k := now.Add(1)
		for m := most.Load(); k > m && !most.CompareAndSwap(m, k); m = most.Load() {
		}
		time.Sleep(time.Millisecond)
		now.Add(-1)
	}
	ended := make(chan error)
	for range n {
		go func() {
			var err error
			c.Work(func() {
				search()
				err = b.send(new(request))
				search()
			})
			ended <- err
		}()
	}
	for range n {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	answered.Wait()
	if err := b.encode(make([]*raster.Image, n), &defaults, func(steps, int) { search() }); err != nil {
		t.Error(err)
	}
	if most.Load() > cores {
		t.Errorf("%d searches at once on %d cores", most.Load(), cores)
	}
}

// A panic in the search of one image reaches the caller, and holds up no other.
func TestBatchPanics(t *testing.T) {
	dev := gputest.Device(t, nil)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	images := mixedImages(3)
	dev.Do(t.Context(), func(l *gpu.Lane) error {
		return newBatch(l, pool.Shared(4)).encode(images, &defaults, func(d steps, i int) {
			d.PredictorSearch(loaded(testimages.Pools[0], images[i], true))
			if i == 2 {
				panic("a search")
			}
		})
	})
}
