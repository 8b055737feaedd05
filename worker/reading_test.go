package worker

import (
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
)

// Cores read as long as they have the time, and where the device is no gain.
func TestTheDeviceReadsWhatCoresHaveNoTimeFor(t *testing.T) {
	const cores, many = 2, 100
	o := &object{streams: true, head: imageio.Header{Shape: raster.Shape{Width: 1000, Height: 1000, Depth: 1, Channels: 1, Bits: 8}}}
	ready := func() *deviceReader {
		r := newDeviceReader(&pipeline{cards: 1, cores: pool.Shared(cores), lanes: make(chan struct{}, 2), stats: (*gpu.Device)(nil).Stats})
		r.looked = time.Now().Add(-time.Second)
		r.onCore(10 * time.Millisecond)
		r.onHost(o, 7*time.Millisecond)
		r.loaded, r.renewed = true, time.Now()
		r.device, r.beside = mean{0.04}, mean{1e-10}
		return r
	}
	for _, c := range []struct {
		name          string
		busy, waiting int
		change        func(r *deviceReader)
		object        *object
		want          bool
	}{
		{name: "all wait for cores", busy: cores, waiting: many, want: true},
		{name: "cores are free", busy: 1},
		{name: "few wait", busy: cores, waiting: 1},
		{name: "another format", busy: cores, waiting: many, object: &object{}},
		{name: "all wait for the device", busy: cores, waiting: many, change: func(r *deviceReader) {
			r.p.queued.Store(2 * batchImages)
			r.p.stats = func() gpu.Stats { return gpu.Stats{Waited: 800 * time.Millisecond} }
		}},
		{name: "all wait for the device, which waits for cores", busy: cores, waiting: many, want: true, change: func(r *deviceReader) {
			r.p.queued.Store(2 * batchImages)
			r.p.stats = func() gpu.Stats { return gpu.Stats{Waited: 200 * time.Millisecond} }
		}},
		{name: "batches are ahead", busy: cores, waiting: many, change: func(r *deviceReader) { r.waiting.Store(12 * batchImages) }},
		{name: "batches are ahead, of several cards", busy: cores, waiting: many, want: true, change: func(r *deviceReader) {
			r.waiting.Store(12 * batchImages)
			r.p.cards = 2
		}},
		{name: "the device is slow", busy: cores, waiting: many, change: func(r *deviceReader) { r.device = mean{60} }},
		{name: "reading costs as much", busy: cores, waiting: many, change: func(r *deviceReader) { r.beside = r.host }},
		{name: "it has failed", busy: cores, waiting: many, change: func(r *deviceReader) { r.failed = true }},
		{name: "a trial is under way", busy: cores, waiting: many, change: func(r *deviceReader) { r.trying = true }},
		{name: "a trial, because the last batch is long ago", busy: cores, waiting: many, want: true,
			change: func(r *deviceReader) { r.device, r.renewed = mean{60}, time.Now().Add(-time.Hour) }},
		{name: "the first, which loads the kernels", busy: cores, waiting: many, want: true, change: func(r *deviceReader) { r.loaded = false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ready()
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
			until(t, "all to wait", func() bool { _, waiting := r.p.cores.Load(); return waiting == c.waiting })
			if c.object == nil {
				c.object = o
			}
			if got := r.chosen(c.object); got != c.want {
				t.Errorf("chosen: %v", got)
			}
		})
	}
	if (*deviceReader)(nil).chosen(o) {
		t.Error("without a device")
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
	r.trying = true
	if err := r.readBatch(t.Context(), codec.Run{Device: new(gpu.Device), Pool: r.p.cores.First()}, batch); err != nil {
		t.Fatal(err)
	}
	for i, o := range batch {
		if o.streams || o.stream != nil || o.streamed() != nil || o.failure != nil {
			t.Errorf("object %d: %+v", i, o)
		}
	}
	if r.read() != 0 || r.trying || r.failed != gpu.Built {
		t.Errorf("%d read, trying %v, failed %v", r.read(), r.trying, r.failed)
	}
	if m, err := by.sourceImage(batch[0]); err != nil || m.Width != 20 {
		t.Errorf("a core reads %v, %v", m, err)
	}
}
