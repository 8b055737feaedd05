package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// With the CPU as device the encoders of all tokens are at work at once, across
// the objects of a chunk and across chunks.
func TestAllCoresAreBusy(t *testing.T) {
	for _, test := range []struct{ cpu, chunks, perChunk int }{{4, 1, 12}, {4, 2, 2}, {1, 2, 3}} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			var together sync.WaitGroup
			together.Add(test.cpu)
			var arrived atomic.Int64
			c := &fake{encode: func(context.Context, *gpu.Device, *raster.Image) ([]byte, error, bool) {
				if arrived.Add(1) <= int64(test.cpu) {
					together.Done()
					together.Wait()
				}
				return nil, nil, false
			}}
			j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.ChunkObjects = test.perChunk }).queued()
			j.photos(test.chunks*test.perChunk, 16).plan()
			w := j.worker(Options{CPU: test.cpu, Chunks: test.chunks}, c)
			ctx, cancel := context.WithCancel(j.ctx)
			defer cancel()
			var chunks sync.WaitGroup
			for i := range j.tasks {
				chunks.Go(func() {
					if err := w.Chunk(ctx, j.spec, j.source, j.target, j.tasks[i], 1); err != nil {
						t.Error(err)
					}
				})
			}
			chunks.Wait()
			if most := c.most.Load(); most != int64(test.cpu) {
				t.Errorf("%d encoders at once, want %d", most, test.cpu)
			}
		})
	}
}

// The shard that is there counts, whoever made it, and its chunk is not done again.
func TestFoundShardIsCommitted(t *testing.T) {
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, nil).queued()
	j.photos(3, 8).plan()
	w := j.worker(Options{}, c)
	if err := j.chunk(w, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := j.conn.Job(j.spec.ID).Init(j.ctx, 1, nil, jobs.Counts{}); err != nil {
			t.Fatal(err)
		}
		before := c.encoded.Load()
		for range 2 {
			if err := j.chunk(w, 0); err != nil {
				t.Fatal(err)
			}
		}
		progress, _, err := j.conn.Job(j.spec.ID).Progress(j.ctx)
		counts := progress.Counts
		if err != nil || counts.Compressed != 3 || counts.Objects != 3 {
			t.Errorf("counts %+v, %v", counts, err)
		}
		if c.encoded.Load() != before {
			t.Error("a chunk with a shard was done again")
		}
	}
	if err := j.conn.Job(j.spec.ID).Forget(j.ctx); err != nil {
		t.Fatal(err)
	}
	if err := j.chunk(w, 0); err != nil {
		t.Errorf("commit to a Redis that lost the job: %v, want nil as the scheduler repairs it", err)
	}
}

// Two deliveries at once give one shard and one count.
func TestTwoDeliveriesAtOnce(t *testing.T) {
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, nil).queued()
	j.photos(20, 16).plan()
	var both sync.WaitGroup
	for range 2 {
		w := j.worker(Options{}, c)
		both.Go(func() {
			if err := j.chunk(w, 0); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	progress, _, err := j.conn.Job(j.spec.ID).Progress(j.ctx)
	counts := progress.Counts
	if err != nil || counts.Objects != 20 || counts.Compressed != 20 {
		t.Errorf("counts %+v, %v, want 20", counts, err)
	}
	j.results()
}

// A chunk that is delivered twice at once, with a source that changes between the deliveries, leaves the result that is
// recorded: a delivery replaces nothing of another one, whose records may be stored already or be on their way.
func TestADeliveryReplacesNothingThatAnotherRecorded(t *testing.T) {
	for name, target := range map[string]string{"metadata": "mem://target", "folder": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			first, second := &fake{}, &fake{}
			j := newJob(t, "mem://source", target, first, nil).queued()
			j.photos(1, 16).plan()
			w := j.worker(Options{}, second)
			hasRead, recorded, ended := make(chan struct{}), make(chan struct{}), make(chan error)
			second.encode = func(context.Context, *gpu.Device, *raster.Image) ([]byte, error, bool) {
				close(hasRead)
				<-recorded
				return nil, nil, false
			}
			first.encode = func(context.Context, *gpu.Device, *raster.Image) ([]byte, error, bool) {
				j.put("p/0000.png", png(t, photo(100, 17, 16, 3)))
				go func() { ended <- j.chunk(w, 0) }()
				<-hasRead
				return nil, nil, false
			}
			j.compress(first)
			close(recorded)
			if err := <-ended; err != nil {
				t.Error(err)
			}
			r := j.results()["p/0000.png"]
			data, err := j.target.ReadAll(j.ctx, r.Target)
			if err != nil || sumOf(data) != r.TargetSHA256 {
				t.Errorf("%s: SHA-256 %s, %v; the record of %d x %d has %s", r.Target, sumOf(data), err, r.Width, r.Height, r.TargetSHA256)
			}
			p, _, err := j.conn.Job(j.spec.ID).Progress(j.ctx)
			if err != nil || p.Counts.Objects != 1 || p.Counts.Compressed != 1 {
				t.Errorf("counts %+v, %v, want one object", p.Counts, err)
			}
		})
	}
}

// A worker that comes back to its chunk when its job has ended, and a later one has made the result anew of what the source is by
// then, does not put back what it has read.
func TestALateWorkerReplacesNothingOfALaterJob(t *testing.T) {
	for name, target := range map[string]string{"metadata": "mem://target", "folder": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			late, next := &fake{}, &fake{}
			j := newJob(t, "mem://source", target, late, nil)
			j.photos(1, 16).plan()
			k := newJobIn(t, j.buckets, "mem://source", target, next, func(s *jobs.Spec) { s.ID = jobs.NewID(time.Now().Add(time.Minute)) })
			ends := func(j *job) {
				j.write(jobs.Folder(j.spec.ID).Report(), []byte(`{"job":"`+j.spec.ID+`","state":"done"}`))
			}
			late.encode = func(context.Context, *gpu.Device, *raster.Image) ([]byte, error, bool) {
				ends(j)
				j.put("p/0000.png", png(t, photo(100, 17, 16, 3)))
				k.plan()
				k.compress(next)
				ends(k)
				return nil, nil, false
			}
			j.compress(late)
			made, old := k.results()["p/0000.png"], j.results()["p/0000.png"]
			if old.Class != class.Exists || !strings.Contains(old.Error, k.spec.ID) {
				t.Errorf("the late worker records %s (%s: %s), want exists and the later job", old.Outcome, old.Class, old.Error)
			}
			data, err := j.target.ReadAll(j.ctx, made.Target)
			if err != nil || sumOf(data) != made.TargetSHA256 {
				t.Errorf("%s: SHA-256 %s, %v; the later job has recorded %s", made.Target, sumOf(data), err, made.TargetSHA256)
			}
		})
	}
}

func TestCommitWhenTheShardAppearsMeanwhile(t *testing.T) {
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, nil).queued()
	j.photos(2, 8).plan()
	var lines storage.Lines
	storage.Frame(&lines, []jobs.Shard{{Job: j.spec.ID, Counts: jobs.Counts{Objects: 2, Failed: 2}}})
	storage.Frame(&lines, []jobs.Result{})
	c.encode = func(context.Context, *gpu.Device, *raster.Image) ([]byte, error, bool) {
		storage.Put(j.ctx, j.target, jobs.Folder(j.spec.ID).Result(0), lines.Bytes(), nil)
		return nil, nil, false
	}
	j.compress(c)
	if p, _, _ := j.conn.Job(j.spec.ID).Progress(j.ctx); p.Counts.Failed != 2 || p.Counts.Compressed != 0 {
		t.Errorf("counts %+v, want those of the shard that is stored", p.Counts)
	}
}

// A cancelled job's chunk ends without a shard, and what is done stays on record.
func TestCancelledJob(t *testing.T) {
	var j *job
	var n atomic.Int64
	c := &fake{encode: func(ctx context.Context, _ *gpu.Device, _ *raster.Image) ([]byte, error, bool) {
		if n.Add(1) > 5 {
			if err := j.conn.Job(j.spec.ID).SetSignal(j.ctx, jobs.StateCancelling); err != nil {
				return nil, err, true
			}
			<-ctx.Done()
			return nil, ctx.Err(), true
		}
		return nil, nil, false
	}}
	j = newJob(t, "mem://source", "mem://target", c, nil).queuedInRedis()
	j.photos(12, 8).plan()
	w := j.worker(Options{CPU: 1}, c)
	for range 2 { // the second delivery does not even begin
		if err := j.chunk(w, 0); err != nil {
			t.Fatal(err)
		}
	}
	if n := n.Load(); n != 6 {
		t.Errorf("%d objects were begun, want 6", n)
	}
	if ok, _ := j.target.Exists(j.ctx, jobs.Folder(j.spec.ID).Result(0)); ok {
		t.Error("a cancelled chunk has a shard")
	}
	j.partial(5)
	j.noFlights()
}

// partial checks the number of records in the partial shard of chunk 0.
func (j *job) partial(want int) {
	j.t.Helper()
	got, err := storage.Get(j.ctx, j.target, jobs.Folder(j.spec.ID).Partial(0), -1, nil)
	if err != nil {
		j.t.Fatal(err)
	}
	n := 0
	if _, err := parseShard(got.Data, sitekey.NewReader(j.ctx, j.target), func(*jobs.Result) { n++ }); err != nil || n != want {
		j.t.Errorf("partial shard with %d records, %v, want %d", n, err, want)
	}
}

func (j *job) noFlights() {
	j.t.Helper()
	if left, err := j.conn.Job(j.spec.ID).Flights(j.ctx, 0); err != nil || len(left) > 0 {
		j.t.Errorf("flights %v, %v, want none", left, err)
	}
}

// When Run ends in mid-chunk, the chunk is handed back with its records, and the
// next worker does only the rest.
func TestDrainAndContinue(t *testing.T) {
	var n atomic.Int64
	stopped, stop := context.WithCancel(t.Context())
	c := &fake{encode: func(ctx context.Context, _ *gpu.Device, m *raster.Image) ([]byte, error, bool) {
		if m.Width == 8 && n.Add(1) == 5 {
			stop()
			<-ctx.Done()
			return nil, ctx.Err(), true
		}
		return nil, nil, false
	}}
	j := newJob(t, "mem://source", "mem://target", c, nil).queuedInRedis()
	j.photos(10, 8).plan()
	if err := j.conn.Tasks(0).Enqueue(j.ctx, j.tasks[0]); err != nil {
		t.Fatal(err)
	}
	w := j.worker(Options{CPU: 1, Grace: time.Nanosecond}, c)
	if err := w.Run(stopped); err != nil {
		t.Fatal(err)
	}
	j.partial(4)
	j.noFlights()
	if reasons := w.unready(j.ctx); len(reasons) == 0 {
		t.Error("a worker that has stopped calls itself ready")
	}
	counts := j.run(j.worker(Options{}, c))
	if counts.Compressed != 10 {
		t.Errorf("counts %+v, want 10 compressed", counts)
	}
	if n := n.Load(); n != 11 {
		t.Errorf("%d objects were encoded, want 4 + 1 given up + 6", n)
	}
	if ok, _ := j.target.Exists(j.ctx, jobs.Folder(j.spec.ID).Partial(0)); ok {
		t.Error("the partial shard stays behind a finished chunk")
	}
	j.noFlights()
}

// Objects that were in flight when processes died run last, one at a time, those
// with fewer deaths first; three deaths are enough.
func TestObjectsThatEndedProcesses(t *testing.T) {
	var mu sync.Mutex
	var order []int // widths
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, nil).queuedInRedis()
	for i := range 12 {
		j.put(fmt.Sprintf("%02d.png", i), png(t, photo(1, 10+i, 8, 3)))
	}
	j.plan()
	c.encode = func(_ context.Context, _ *gpu.Device, m *raster.Image) ([]byte, error, bool) {
		if m.Height != 8 {
			return nil, nil, false
		}
		flights, err := j.conn.Job(j.spec.ID).Flights(j.ctx, 0)
		if err != nil {
			return nil, err, true
		}
		if flights[m.Width-10] == 0 {
			t.Errorf("object %d is encoded and not announced: %v", m.Width-10, flights)
		}
		mu.Lock()
		defer mu.Unlock()
		order = append(order, m.Width-10)
		return nil, nil, false
	}
	for range 3 {
		j.conn.Job(j.spec.ID).Begin(j.ctx, 0, []int{4})
	}
	for range 2 {
		j.conn.Job(j.spec.ID).Begin(j.ctx, 0, []int{1})
	}
	j.conn.Job(j.spec.ID).Begin(j.ctx, 0, []int{7, 3})
	if err := j.chunk(j.worker(Options{CPU: 4}, c), 0); err != nil {
		t.Fatal(err)
	}
	if want := []int{3, 7, 1}; len(order) != 11 || !slices.Equal(order[8:], want) {
		t.Errorf("order %v, want the crash candidates %v at the end, and not 4", order, want)
	}
	for key, r := range j.results() {
		if crashed := key == "04.png"; crashed != (r.Class == class.Crash) || crashed != (r.Outcome == jobs.OutcomeFailed) {
			t.Errorf("%s: %s %s", key, r.Outcome, r.Class)
		}
	}
}

// An image larger than the whole budget is done, alone.
func TestMemoryBudget(t *testing.T) {
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, nil)
	for i := range 6 {
		j.put(fmt.Sprintf("%d.png", i), png(t, photo(uint64(i), 900, 900, 3)))
	}
	j.plan()
	w := j.worker(Options{CPU: 6, Memory: MinMemory}, c)
	if err := j.chunk(w, 0); err != nil {
		t.Fatal(err)
	}
	if most := c.most.Load(); most != 1 {
		t.Errorf("%d pictures of more than half the budget at once, want 1", most)
	}
	if b := w.budget; !b.images.TryAcquire(b.imageMax()) || !b.files.TryAcquire(b.fileMax) {
		t.Error("memory was not given back")
	}
}

// What concerns the whole chunk is an error, not an outcome.
func TestFaultsOfTheChunk(t *testing.T) {
	c := &fake{}
	for name, change := range map[string]func(*jobs.Spec){
		"codec":   func(s *jobs.Spec) { s.Codec = "nosuch" },
		"version": func(s *jobs.Spec) { s.Version++ },
		"options": func(s *jobs.Spec) { s.Options = "level=2" },
		"device":  func(s *jobs.Spec) { s.Device = "cuda" },
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, "mem://source", "mem://target", c, change)
			j.photos(1, 8).plan()
			if err := j.chunk(j.worker(Options{}, c), 0); err == nil || name == "device" && !errors.Is(err, gpu.ErrNoDevice) {
				t.Errorf("%v, want an error", err)
			}
		})
	}
	t.Run("unreachable source", func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", "a")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
		j := newJob(t, "mem://source", "mem://target", c, nil)
		j.buckets.Retry = storage.Retry{Attempts: 1}
		j.photos(3, 8).plan()
		j.source = j.open("s3://bucket?endpoint=http://127.0.0.1:1&region=us-east-1&use_path_style=true")
		if err := j.chunk(j.worker(Options{}, c), 0); !storage.Unreachable(err) {
			t.Errorf("%v, want that the source cannot be reached", err)
		}
		if ok, _ := j.target.Exists(j.ctx, jobs.Folder(j.spec.ID).Result(0)); ok {
			t.Error("there is a shard")
		}
	})
	t.Run("cancelled context", func(t *testing.T) {
		j := newJob(t, "mem://source", "mem://target", c, nil)
		j.photos(3, 8).plan()
		ctx, cancel := context.WithCancel(j.ctx)
		c := &fake{encode: func(ctx context.Context, _ *gpu.Device, _ *raster.Image) ([]byte, error, bool) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err(), true
		}}
		w := j.worker(Options{}, c)
		if err := w.Chunk(ctx, j.spec, j.source, j.target, j.tasks[0], 1); !errors.Is(err, queue.ErrHandBack) {
			t.Errorf("%v, want that it is handed back", err)
		}
	})
}

// On a device images travel in batches, and fall back to the CPU alone.
func TestDeviceBatches(t *testing.T) { inNoTime(deviceBatches)(t) }

func deviceBatches(t *testing.T) {
	hold := make(chan struct{}) // until all that can come waits
	c := &fake{encode: func(_ context.Context, dev *gpu.Device, m *raster.Image) ([]byte, error, bool) {
		if m.Width == 9 && dev != nil {
			return nil, errors.New("out of luck"), true
		}
		if dev != nil {
			<-hold
		}
		return nil, nil, false
	}}
	for _, verify := range []string{"full", "device"} {
		j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.Verify = verify })
		j.photos(150, 8)
		j.put("q.png", png(t, photo(1, 9, 9, 3)))
		j.plan()
		w := j.deviceWorker(Options{}, c)
		time.AfterFunc(200*time.Millisecond, func() {
			select {
			case <-hold:
			default:
				close(hold)
			}
		})
		if err := j.chunk(w, 0); err != nil {
			t.Fatal(err)
		}
		for key, r := range j.results() {
			want := verify
			if key == "q.png" {
				want = "full"
				if r.Attempts != 3 || r.Device != "cpu" {
					t.Errorf("%s: %d attempts on %q, want the third on the CPU", key, r.Attempts, r.Device)
				}
			}
			if r.Outcome != jobs.OutcomeCompressed || r.Verified != want {
				t.Errorf("%s: %s (%s), verified %q, want %q", key, r.Outcome, r.Error, r.Verified, want)
			}
		}
	}
	largest := 0
	c.batches.Range(func(k, _ any) bool { largest = max(largest, k.(int)); return true })
	if largest < 2 || largest > batchImages {
		t.Errorf("largest batch %d, want 2 to %d", largest, batchImages)
	}
}

// What a lost card answers counts for nothing, and no image is blamed for it.
func TestALostCardEndsTheWorker(t *testing.T) {
	var lost atomic.Bool
	c := &fake{encode: func(_ context.Context, dev *gpu.Device, _ *raster.Image) ([]byte, error, bool) {
		if dev != nil {
			lost.Store(true)
		}
		return nil, nil, false
	}}
	j := newJob(t, "mem://source", "mem://target", c, nil)
	j.photos(20, 8)
	j.plan()
	w := j.deviceWorker(Options{}, c)
	w.lost = func() error {
		if lost.Load() {
			return gpu.ErrFatal
		}
		return nil
	}
	if err := j.chunk(w, 0); !errors.Is(err, queue.ErrHandBack) {
		t.Errorf("%v, want that the chunk is handed back", err)
	}
	for _, key := range []string{jobs.Folder(j.spec.ID).Result(0), jobs.Folder(j.spec.ID).Partial(0)} {
		if _, _, err := storage.Stat(t.Context(), j.target, key); !storage.IsNotExist(err) {
			t.Errorf("%s: %v, want no record of what a lost card made", key, err)
		}
	}
	if err := w.watch(t.Context()); !errors.Is(err, gpu.ErrFatal) {
		t.Errorf("%v, want that the worker ends", err)
	}
}

// What was in flight when a process died is alone among all chunks of a process: one that ends the next process as well must not
// have another one blamed for it.
func TestCrashCandidatesOfTwoChunksAreNotInFlightTogether(t *testing.T) {
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.ChunkObjects = 16 }).queuedInRedis()
	for i := range 32 {
		j.put(fmt.Sprintf("%02d.png", i), png(t, photo(1, 10+i, 8, 3)))
	}
	j.plan()
	var seen atomic.Int64
	c.encode = func(_ context.Context, _ *gpu.Device, m *raster.Image) ([]byte, error, bool) {
		i := m.Width - 10
		if m.Height != 8 || i%16 > 2 {
			return nil, nil, false
		}
		seen.Add(1)
		for range 10 {
			flights, err := j.conn.Job(j.spec.ID).Flights(j.ctx, 1-i/16)
			if err != nil {
				return nil, err, true
			}
			for object, n := range flights {
				if object <= 2 && n > 1 {
					t.Errorf("object %d is encoded while object %d of the other chunk is in flight", i, object+16*(1-i/16))
				}
			}
			time.Sleep(time.Millisecond)
		}
		return nil, nil, false
	}
	for chunk := range 2 {
		if err := j.conn.Job(j.spec.ID).Begin(j.ctx, chunk, []int{0, 1, 2}); err != nil {
			t.Fatal(err)
		}
	}
	w := j.worker(Options{CPU: 4}, c)
	var both sync.WaitGroup
	for chunk := range 2 {
		both.Go(func() {
			if err := j.chunk(w, chunk); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if n := seen.Load(); n != 6 {
		t.Errorf("%d crash candidates were encoded, want 6", n)
	}
	for key, r := range j.results() {
		if r.Outcome != jobs.OutcomeCompressed {
			t.Errorf("%s: %s %s", key, r.Outcome, r.Class)
		}
	}
}
