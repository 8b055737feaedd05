package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
)

// photograph is an object whose source a device may read.
func photograph() *object {
	return &object{streams: true, head: imageio.Header{Shape: raster.Shape{Width: 1000, Height: 1000, Depth: 1, Channels: 1, Bits: 8}}}
}

// readerBeside is a reader of a device that takes so long for a batch, beside cores that take 10 ms for anything.
func readerBeside(cores int, device float64) *deviceReader {
	r := newDeviceReader(&pipeline{cards: 1, cores: pool.Shared(cores), lanes: make(chan struct{}, 2), stats: (*gpu.Device)(nil).Stats})
	r.looked = time.Now().Add(-time.Second)
	r.onCore(10 * time.Millisecond)
	r.onHost(photograph(), 7*time.Millisecond)
	r.loaded, r.renewed = true, time.Now()
	r.device, r.beside = mean{device}, mean{1e-10}
	return r
}

// Cores read as long as they have the time, and where the device is no gain.
func TestTheDeviceReadsWhatCoresHaveNoTimeFor(t *testing.T) {
	const cores, many, batch = 2, 100, batchImages
	for _, c := range []struct {
		name          string
		busy, waiting int
		line          int // of those that wait; 0: all
		change        func(r *deviceReader)
		want          int
	}{
		{name: "all but those that cores read meanwhile", busy: cores, waiting: many, want: many - 4},
		{name: "cores are free", busy: 1},
		{name: "few wait", busy: cores, waiting: 4 + batch/4 - 1},
		{name: "some wait", busy: cores, waiting: 4 + batch/4, want: batch / 4},
		{name: "others wait, whose source no device reads", busy: cores, waiting: many, line: 30, want: 30},
		{name: "the device has one batch", busy: cores, waiting: many, want: many - 8, change: func(r *deviceReader) { r.taken = batch }},
		{name: "the device has all but one of its batches", busy: cores, waiting: many, want: batch, change: func(r *deviceReader) { r.taken = (readLanes - 1) * batch }},
		{name: "the device has as many as it can", busy: cores, waiting: many, change: func(r *deviceReader) { r.taken = readLanes * batch }},
		{name: "one of two cards has a batch", busy: cores, waiting: many, want: many - 6, change: func(r *deviceReader) {
			r.p.cards = 2
			r.taken = batch
		}},
		{name: "all wait for the device", busy: cores, waiting: many, change: func(r *deviceReader) {
			r.p.queued.Store(2 * batch)
			r.p.stats = func() gpu.Stats { return gpu.Stats{Waited: 800 * time.Millisecond} }
		}},
		{name: "all wait for the device, which waits for cores", busy: cores, waiting: many, want: many - 4, change: func(r *deviceReader) {
			r.p.queued.Store(2 * batch)
			r.p.stats = func() gpu.Stats { return gpu.Stats{Waited: 200 * time.Millisecond} }
		}},
		{name: "the device is slow", busy: cores, waiting: many, change: func(r *deviceReader) { r.device = mean{60} }},
		{name: "reading costs as much", busy: cores, waiting: many, change: func(r *deviceReader) { r.beside = r.host }},
		{name: "it has failed", busy: cores, waiting: many, change: func(r *deviceReader) { r.failed = true }},
		{name: "a trial is under way", busy: cores, waiting: many, change: func(r *deviceReader) { r.trying = true }},
		{name: "a trial, because the last batch is long ago", busy: cores, waiting: 1, want: 1,
			change: func(r *deviceReader) { r.device, r.renewed = mean{60}, time.Now().Add(-time.Hour) }},
		{name: "none, because it will come to its end", busy: cores, waiting: many,
			change: func(r *deviceReader) { r.device, r.renewed, r.taken = mean{60}, time.Now().Add(-time.Hour), 1 }},
		{name: "the first, which loads the kernels", busy: cores, waiting: 1, want: 1, change: func(r *deviceReader) { r.loaded = false }},
		{name: "the first is under way, and the device is not open", busy: cores, waiting: many,
			change: func(r *deviceReader) { r.loaded, r.trying, r.taken, r.device = false, true, 1, mean{} }},
		{name: "the first is under way on a device that is open", busy: cores, waiting: many, want: many - 6, change: func(r *deviceReader) {
			r.loaded, r.trying, r.taken, r.device, r.beside = false, true, 1, mean{}, mean{}
			r.p.open.Store(true)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // whose clock stands still: what is known of the device is of the last second
				r := readerBeside(cores, 0.04)
				if c.change != nil {
					c.change(r)
				}
				for range c.busy {
					if err := r.p.cores.Acquire(t.Context(), 0); err != nil {
						t.Fatal(err)
					}
				}
				for range c.waiting {
					go func() { r.p.cores.Acquire(t.Context(), 0) }()
				}
				synctest.Wait()
				for range cmp.Or(c.line, c.waiting) {
					r.line[new(candidate)] = struct{}{}
				}
				if got := r.wanted(); got != c.want {
					t.Errorf("%d objects, want %d", got, c.want)
				}
			})
		})
	}
}

// The device takes those that cores would come to last, as soon as they are enough for a batch.
func TestTheDeviceTakesTheEndOfTheLine(t *testing.T) {
	r := readerBeside(1, 0.001)
	if err := r.p.cores.Acquire(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	const n = leastReading + 1 // one is left to the core
	answers := make(chan int64, n)
	for i := range n {
		o := photograph()
		o.age = []int64{7, 3, 9}[i%3]
		go func() {
			switch taken, err := r.await(t.Context(), o); {
			case err != nil:
				t.Error(err)
			case taken:
				r.mu.Lock()
				r.batches.awaited.Add(-1)
				r.left()
				r.mu.Unlock()
				answers <- -o.age
			default:
				r.p.cores.Release()
				answers <- o.age
			}
		}()
		until(t, "it to wait", func() bool { _, waiting := r.p.cores.Load(); return waiting == i+1 })
	}
	r.onCore(10 * time.Millisecond)
	ages := map[int64]int{}
	for range n - 1 {
		ages[<-answers]++
	}
	r.p.cores.Release()
	ages[<-answers]++
	if want := map[int64]int{3: 1, -3: 5, -7: 6, -9: 5}; !maps.Equal(ages, want) {
		t.Errorf("ages of those that the device took are negative: %v, want %v", ages, want)
	}
	if len(r.line) != 0 || r.taken != 0 || r.batches.awaited.Load() != 0 || r.trying {
		t.Errorf("%d in the line, %d taken, %d awaited, trying %v", len(r.line), r.taken, r.batches.awaited.Load(), r.trying)
	}
}

// Whoever reads them, all are read once, and those that leave are missed by nobody.
func TestSourcesAreReadByCoresAndDevice(t *testing.T) {
	file, err := imageio.Encode(raster.New(20, 10, 1, 3, 8), "png")
	if err != nil {
		t.Fatal(err)
	}
	p := newPipeline(pipelineOptions{device: new(gpu.Device), cpu: 2, fetchers: 2, memory: MinMemory, timeout: time.Minute})
	r := p.reading
	leave := r.batches.join()
	by := &jobContext{reading: r}
	gone := errors.New("gone")
	ending, end := context.WithCancelCause(t.Context())
	defer end(nil)
	var read, left atomic.Int64
	var all sync.WaitGroup
	const n = 600
	for i := range n {
		ctx := t.Context()
		if i%10 == 9 {
			ctx = ending
		}
		o := &object{by: by, streams: true, data: file, held: new(share), age: int64(i % 7)}
		all.Go(func() {
			err := p.awaitReading(ctx, o)
			if errors.Is(err, gone) {
				left.Add(1)
				return
			}
			if err == nil {
				err = p.withCore(ctx, o, func(_ context.Context, try *object) error {
					m, err := by.sourceImage(try)
					if err == nil && m.Width == 20 {
						read.Add(1)
					}
					return err
				})
			}
			if err != nil && !errors.Is(err, gone) {
				t.Error(err)
			}
			if r.formed.Load() > 2 {
				end(gone)
			}
		})
	}
	all.Wait()
	leave()
	if got := read.Load(); got < n*9/10 || got+left.Load() > n {
		t.Errorf("%d are read and %d have left, of %d", got, left.Load(), n)
	}
	until(t, "all cores to be free", func() bool { busy, waiting := p.cores.Load(); return busy == 0 && waiting == 0 })
	if len(r.line) != 0 || r.taken != 0 || r.batches.awaited.Load() != 0 || r.trying {
		t.Errorf("%d in the line, %d taken, %d awaited, trying %v", len(r.line), r.taken, r.batches.awaited.Load(), r.trying)
	}
	if r.formed.Load() < 1 {
		t.Error("the device was asked for nothing")
	}
}

// What a batch takes is learned from all but the first, which may have waited for the compiler of the driver.
func TestTheDeviceReaderLearnsWhatABatchTakes(t *testing.T) {
	for _, c := range []struct {
		name           string
		loaded, trying bool
		took           time.Duration
		atWork, cards  int
		want           float64
	}{
		{name: "the first", took: time.Minute, atWork: 1, cards: 1, want: presumed},
		{name: "the first, at once", took: time.Millisecond, atWork: 1, cards: 1, want: 0.001},
		{name: "another", loaded: true, took: 1040 * time.Millisecond, atWork: 1, cards: 1, want: 0.04 + batchShare},
		{name: "a trial", loaded: true, trying: true, took: time.Second, atWork: 1, cards: 1, want: 1},
		{name: "two on one card", loaded: true, took: 80 * time.Millisecond, atWork: 2, cards: 1, want: 0.04},
		{name: "two on two cards", loaded: true, took: 40 * time.Millisecond, atWork: 2, cards: 2, want: 0.04},
		{name: "one on two cards", loaded: true, took: 40 * time.Millisecond, atWork: 1, cards: 2, want: 0.04},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newDeviceReader(&pipeline{cards: c.cards, lanes: make(chan struct{}, 2)})
			r.loaded, r.trying = c.loaded, c.trying
			if c.loaded {
				r.device = mean{0.04}
			}
			r.learn(c.took, c.atWork)
			if math.Abs(r.device.value-c.want) > 1e-9 || r.renewed.IsZero() {
				t.Errorf("%v s, want %v", r.device.value, c.want)
			}
		})
	}
}

// What a device does not read, because of the file or of the device, is left to a core.
func TestCoresReadWhatTheDeviceDoesNot(t *testing.T) {
	r := newDeviceReader(&pipeline{cards: 1, cores: pool.Shared(2), lanes: make(chan struct{}, 2), lost: func() error { return nil }, log: slog.New(slog.DiscardHandler)})
	by := &jobContext{reading: r}
	file, err := imageio.Encode(raster.New(20, 10, 1, 3, 8), "png")
	if err != nil {
		t.Fatal(err)
	}
	batch := []*object{
		{by: by, streams: true, data: file},
		{by: by, streams: true, data: []byte("no picture")},
	}
	if err := r.readBatch(t.Context(), codec.Run{Device: new(gpu.Device), Pool: r.p.cores.First()}, batch); err != nil {
		t.Fatal(err)
	}
	for i, o := range batch {
		if o.streams || o.stream != nil || o.streamed() != nil || o.failure != nil {
			t.Errorf("object %d: %+v", i, o)
		}
	}
	if r.read() != 0 || !r.loaded || r.failed != gpu.Built {
		t.Errorf("%d read, loaded %v, failed %v", r.read(), r.loaded, r.failed)
	}
	if m, err := by.sourceImage(batch[0]); err != nil || m.Width != 20 {
		t.Errorf("a core reads %v, %v", m, err)
	}
}
