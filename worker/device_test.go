package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// Small chunks of one job share batches, of which none waits for images that do
// not come.
func TestBatchesCrossChunks(t *testing.T) {
	hold := make(chan struct{}) // until many wait
	c := &fake{encode: func(_ context.Context, dev *gpu.Device, m *raster.Image) ([]byte, error, bool) {
		if dev != nil && m.Width == 8 { // none of the self-test
			<-hold
		}
		return nil, nil, false
	}}
	j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.ChunkObjects, s.Verify = 16, "device" }).queued()
	j.photos(160, 8).plan()
	w := j.deviceWorker(Options{CPU: 4, Chunks: 10}, c)
	w.window, w.inWork = 160, pool.Shared(160)
	w.lanes, w.spare = make(chan struct{}, 2), make(chan struct{})
	k, err := w.job(j.ctx, j.spec.ID)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(hold)
		// What is not in one of two batches at work, nor the first of the next.
		until(t, "the others to wait", func() bool { return len(k.batches.queue) >= 160-2*batchImages-1 })
	}()
	if counts := j.run(w); counts.Compressed != 160 {
		t.Errorf("%+v, want 160 compressed", counts)
	}
	most := 0
	c.batches.Range(func(k, _ any) bool { most = max(most, k.(int)); return true })
	if most <= 16 || most > batchImages {
		t.Errorf("largest batch %d, want more than a chunk has and at most %d", most, batchImages)
	}
	for key, r := range j.results() {
		if r.Verified != "device" || r.Attempts != 1 {
			t.Errorf("%s: verified %q in attempt %d", key, r.Verified, r.Attempts)
		}
	}
	if images, formed := w.batched.Load(), w.formed.Load(); images != 160 || formed < 3 {
		t.Errorf("%d pictures in %d batches", images, formed)
	}
}

// A decoder that checks what was just encoded gets what the encoder expects of each file, on cores and on a device.
func TestChecksKnowWhatToExpect(t *testing.T) {
	for _, verify := range []string{"full", "device"} {
		var checked atomic.Int64
		c := &fake{decoding: func(_ context.Context, run codec.Run, files [][]byte) {
			for i, file := range files {
				if run.Expected(i) == "expected of "+string(file) {
					checked.Add(1)
				}
			}
		}}
		j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.Verify = verify })
		j.photos(100, 16).plan()
		if err := j.chunk(j.deviceWorker(Options{CPU: 2}, c), 0); err != nil {
			t.Fatal(err)
		}
		if n := checked.Load(); n != 100 {
			t.Errorf("--verify %s: %d of 100 files are checked with what is expected of them", verify, n)
		}
	}
}

// A batch that finds all lanes taken gets a spare one while cores are idle, if it is a whole one or no others come, and beside busy cores
// where several wait.
func TestSpareLanesAreForIdleCores(t *testing.T) { synctest.Test(t, spareLanesAreForIdleCores) }

func spareLanesAreForIdleCores(t *testing.T) {
	cores := pool.Shared(2)
	b := &batcher{p: &pipeline{cores: cores}, lanes: make(chan struct{}, 2), spare: make(chan struct{}, 1), waiting: new(atomic.Int64), awaited: new(atomic.Int64)}
	b.waiting.Store(batchImages)
	b.awaited.Store(1)
	for range 2 {
		if b.lane() != b.lanes {
			t.Fatal("a spare lane was taken while another was free")
		}
	}
	takes := func() chan chan struct{} {
		got := make(chan chan struct{}, 1)
		go func() { got <- b.lane() }()
		time.Sleep(time.Second)
		return got
	}
	for range 2 {
		if err := cores.Acquire(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	got := takes()
	if len(got) > 0 {
		t.Error("a batch got a spare lane while all cores were at work")
	}
	b.waiting.Store(crowd * batchImages)
	if lane := <-got; lane != b.spare {
		t.Error("a batch got a lane that was taken")
	}
	<-b.spare
	b.waiting.Store(crowd*batchImages - 1)
	if got = takes(); len(got) > 0 {
		t.Error("a batch got a spare lane beside busy cores while few waited")
	}
	b.waiting.Store(batchImages - 1)
	cores.Release()
	if time.Sleep(time.Second); len(got) > 0 {
		t.Error("a batch got a spare lane before a whole one waited")
	}
	b.waiting.Store(batchImages)
	if lane := <-got; lane != b.spare {
		t.Error("a batch got a lane that was taken")
	}
	<-b.spare
	b.waiting.Store(1)
	got = takes()
	if len(got) > 0 {
		t.Error("a batch got a spare lane while others were about to come")
	}
	b.awaited.Store(0)
	if lane := <-got; lane != b.spare {
		t.Error("a batch for which nobody waits got a lane that was taken")
	}
	got = takes()
	<-b.lanes
	if lane := <-got; lane != b.lanes {
		t.Error("a batch got a spare lane twice")
	}
}

// A batch that another one keeps the card busy for waits for objects that nobody has announced; one for an idle card does not.
func TestBatchesGrowWhileTheCardIsBusy(t *testing.T) { synctest.Test(t, batchesGrowWhileTheCardIsBusy) }

func batchesGrowWhileTheCardIsBusy(t *testing.T) {
	for taken, want := range map[int]struct {
		objects int
		after   time.Duration
	}{1: {1, 0}, 2: {3, busyWait}, 3: {3, busyWait}} {
		b := &batcher{p: &pipeline{cards: 1}, queue: make(chan *queued, batchImages), awaited: new(atomic.Int64), lanes: make(chan struct{}, 2), spare: make(chan struct{}, 1)}
		for i := range taken {
			if i < cap(b.lanes) {
				b.lanes <- struct{}{}
			} else {
				b.spare <- struct{}{}
			}
		}
		object := func() *queued { return &queued{try: &object{image: raster.New(1, 1, 1, 1, 8)}} }
		go func() {
			for range 2 {
				time.Sleep(busyWait / 4)
				b.queue <- object()
			}
		}()
		start := time.Now()
		batch, next := b.collect(object(), nil)
		if took := time.Since(start); len(batch) != want.objects || next != nil || took != want.after {
			t.Errorf("%d lanes are taken: %d objects after %v, want %d after %v", taken, len(batch), took, want.objects, want.after)
		}
		time.Sleep(busyWait)
	}
}

// Nobody waits for objects of a job that has ended.
func TestBatchesOfAJobThatEndedDoNotGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batcher{p: &pipeline{cards: 1}, queue: make(chan *queued, batchImages), awaited: new(atomic.Int64), lanes: make(chan struct{}, 2), spare: make(chan struct{}, 1)}
		b.lanes <- struct{}{}
		b.lanes <- struct{}{}
		over := make(chan struct{})
		time.AfterFunc(busyWait/4, func() { close(over) })
		start := time.Now()
		batch, _ := b.collect(&queued{try: &object{image: raster.New(1, 1, 1, 1, 8)}}, over)
		if took := time.Since(start); len(batch) != 1 || took != busyWait/4 {
			t.Errorf("%d objects after %v, want the one that was there after %v", len(batch), took, busyWait/4)
		}
	})
}

// Nobody waits for objects where all that the process has to do have come.
func TestTheLastBatchDoesNotGrow(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(u *lastUse)
		want time.Duration
	}{
		{"none is to come", func(u *lastUse) { u.comes(2) }, 0},
		{"one is to come", func(u *lastUse) { u.comes(1) }, busyWait},
		{"one is tried again", func(u *lastUse) { u.comes(2); u.there(false, true) }, busyWait},
		{"a chunk may come again", func(u *lastUse) { u.comes(2); u.fails() }, busyWait},
	} {
		synctest.Test(t, func(t *testing.T) {
			u := &lastUse{}
			u.begins(jobs.Task{Job: "a"}, jobs.Chunks{{Objects: 2}})
			c.do(u)
			b := &batcher{p: &pipeline{cards: 1, lastUse: u}, queue: make(chan *queued, batchImages), awaited: new(atomic.Int64),
				lanes: make(chan struct{}, 2), spare: make(chan struct{}, 1), past: func(*object) {}}
			b.lanes <- struct{}{}
			b.lanes <- struct{}{}
			start := time.Now()
			batch, _ := b.collect(&queued{try: &object{image: raster.New(1, 1, 1, 1, 8)}}, nil)
			if took := time.Since(start); len(batch) != 1 || took != c.want {
				t.Errorf("%s: %d objects after %v, want the one that was there after %v", c.name, len(batch), took, c.want)
			}
		})
	}
}

// A call for the device knows whether others follow at once.
func TestCallsKnowThatOthersFollow(t *testing.T) {
	for _, c := range []struct {
		left int64 // objects that wait
		want bool
	}{{0, false}, {batchImages - 1, false}, {batchImages, true}} {
		var more bool
		p := newPipeline(pipelineOptions{cpu: 1, fetchers: 1, memory: MinMemory, timeout: time.Minute})
		b := newBatcher(p, "fake", "", func(_ context.Context, run codec.Run, _ []*object) error {
			more = run.More
			return nil
		})
		b.waiting.Store(c.left + 1)
		lane := make(chan struct{}, 1)
		lane <- struct{}{}
		b.launch([]*queued{{try: &object{}, ctx: t.Context(), done: make(chan error, 1)}}, lane)
		if more != c.want {
			t.Errorf("%d objects wait, and others follow: %v", c.left, more)
		}
	}
}

// Calls on the device that do not end leave a worker nothing to do only where no other batch is at work.
func TestStuckLanes(t *testing.T) {
	for _, c := range []struct {
		calls, lanes, spare int
		want                bool
	}{{0, 0, 0, false}, {1, 1, 0, false}, {1, 2, 0, false}, {2, 2, 0, true}, {2, 2, 1, false}, {2, 0, 2, true}, {3, 2, 1, true}, {3, 2, 2, false}, {4, 2, 2, true}} {
		p := &pipeline{device: new(gpu.Device), cpu: 1, guards: new(guards), laneGuards: new(guards), lanes: make(chan struct{}, 2), spare: make(chan struct{}, 2)}
		p.laneGuards.stuck.Store(int64(c.calls))
		for range c.lanes {
			p.lanes <- struct{}{}
		}
		for range c.spare {
			p.spare <- struct{}{}
		}
		if got := p.stuck(); got != c.want {
			t.Errorf("%d calls do not end, %d lanes and %d spare ones are taken: stuck is %v", c.calls, c.lanes, c.spare, got)
		}
	}
}

// A cancelled chunk leaves its batch to those of other chunks.
func TestABatchEndsWithItsLastChunk(t *testing.T) { synctest.Test(t, batchEndsWithItsLastChunk) }

func batchEndsWithItsLastChunk(t *testing.T) {
	one, endOne := context.WithCancel(t.Context())
	two, endTwo := context.WithCancel(t.Context())
	ctx, cancel := together([]*queued{{ctx: one}, {ctx: two}, {ctx: one}})
	defer cancel()
	endOne()
	synctest.Wait()
	if ctx.Err() != nil {
		t.Error("the batch ended with the first of two chunks")
	}
	endTwo()
	synctest.Wait()
	if ctx.Err() == nil {
		t.Error("the batch goes on without a chunk")
	}
}

// A device that made a result of low quality is not believed: the CPU has the last word. What a device decodes of a lossy
// result says how like the image it is, and nothing of its exact samples.
func TestTheCPUJudgesTheQuality(t *testing.T) {
	c := &fake{lossy: true}
	c.encode = func(_ context.Context, dev *gpu.Device, m *raster.Image) ([]byte, error, bool) {
		if dev == nil || m.Width != 9 { // 9: none of the self-test
			return nil, nil, false
		}
		wrong := *m
		wrong.Pix = make([]byte, len(m.Pix))
		if m.Height == 5 {
			copy(wrong.Pix, m.Pix)
			wrong.Pix[0] ^= 1
		}
		c.images.Store(wrong.Hash(), &wrong)
		return []byte("fake " + wrong.Hash()), nil, true
	}
	j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.MinPSNR, s.Verify = 40, "device" })
	j.put("low.png", png(t, photo(1, 9, 7, 3)))
	j.put("near.png", png(t, photo(2, 9, 5, 3)))
	j.plan()
	if err := j.chunk(j.deviceWorker(Options{}, c), 0); err != nil {
		t.Fatal(err)
	}
	low, near := j.results()["low.png"], j.results()["near.png"]
	if low.Outcome != jobs.OutcomeCompressed || low.Attempts != 2 || low.Verified != "full" || low.DecodedHash != low.PixelHash {
		t.Errorf("%s in attempt %d, verified %q, decodes to %q of %q (%s)", low.Outcome, low.Attempts, low.Verified, low.DecodedHash, low.PixelHash, low.Error)
	}
	if near.Outcome != jobs.OutcomeCompressed || near.Attempts != 1 || near.Verified != "device" || near.DecodedHash != "" || near.PSNR < 40 {
		t.Errorf("%s in attempt %d, verified %q, decodes to %q, %v dB (%s)", near.Outcome, near.Attempts, near.Verified, near.DecodedHash, near.PSNR, near.Error)
	}
}

// Metrics have the device, and the log has memory that is short, once.
func TestDeviceInMetricsAndLog(t *testing.T) {
	var log bytes.Buffer
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, nil)
	j.photos(20, 8).plan()
	w := j.deviceWorker(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, c)
	w.stats = func() gpu.Stats {
		return gpu.Stats{Memory: 77, Batches: 5, Busy: 1500 * time.Millisecond, Halved: 3, Left: 1}
	}
	for range 2 {
		w.sayShortMemory("j")
	}
	if err := j.chunk(w, 0); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "memory on the device is short"); n != 2 {
		t.Errorf("the log has short memory %d times, want once for batches and once for pictures:\n%s", n, log.String())
	}
	rec := httptest.NewRecorder()
	w.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		"pelmill_gpu_memory_bytes 77\n", "pelmill_gpu_busy_seconds_total 1.5\n", "pelmill_gpu_out_of_memory_total 4\n", "pelmill_gpu_pictures_total 20\n",
		fmt.Sprintf("pelmill_gpu_batches_total %d\n", w.formed.Load()), "pelmill_storage_retries_total 0\n",
	} {
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("no %q in the metrics", want)
		}
	}
}

// Without a card auto is the CPU, and the log says why.
func TestAutoSaysWhyItIsTheCPU(t *testing.T) {
	if _, err := gpu.List(); err == nil {
		t.Skip("this machine has a card")
	}
	var log bytes.Buffer
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, nil).queued()
	j.photos(2, 8).plan()
	w := j.worker(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, c)
	if w.Device() != nil || !errors.Is(w.WhyCPU(), gpu.ErrNoDevice) {
		t.Errorf("device %s, because of %v", w.Device().Name(), w.WhyCPU())
	}
	j.run(w)
	if n := strings.Count(log.String(), "no usable device"); n != 1 {
		t.Errorf("the log says it %d times:\n%s", n, log.String())
	}
	if w := j.worker(Options{Device: "cpu"}, c); w.WhyCPU() != nil {
		t.Errorf("cpu was asked for: %v", w.WhyCPU())
	}
}
