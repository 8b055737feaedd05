package worker

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/raster"
)

// When a codec that ignores its context holds every encoder, the objects that are
// lost have their record, and the process asks to be replaced.
func TestStuckWorkerEnds(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	c := misbehaving(release)
	j := newJob(t, "mem://source", "mem://target", c, nil).queuedInRedis()
	j.put("unresponsive.png", png(t, photo(1, unresponsive, 9, 3)))
	j.photos(3, 8).plan()
	if err := j.conn.Tasks(0).Enqueue(j.ctx, j.tasks[0]); err != nil {
		t.Fatal(err)
	}
	w := j.worker(Options{CPU: 1, ObjectTimeout: time.Second, Grace: time.Nanosecond}, c)
	w.patience = time.Nanosecond
	if err := w.Run(j.ctx); !errors.Is(err, ErrStuck) {
		t.Errorf("%v, want %v", err, ErrStuck)
	}
	j.noFlights()
	if counts := j.run(j.worker(Options{}, c)); counts.Failed != 1 || counts.Compressed != 3 {
		t.Errorf("the next worker: %+v, want 1 failed and 3 compressed", counts)
	}
	if r := j.results()["unresponsive.png"]; r.Class != class.Timeout {
		t.Errorf("%+v, want a timeout", r)
	}
}

// What is done of a chunk shows long before the chunk is done.
func TestProgressMovesByObjects(t *testing.T) {
	gate := make(chan struct{}, 100)
	var w *Worker
	c := &fake{encode: func(ctx context.Context, _ *gpu.Device, _ *raster.Image) ([]byte, error, bool) {
		if !w.tested.Load() {
			return nil, nil, false
		}
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return nil, nil, false
	}}
	j := newJob(t, "mem://source", "mem://target", c, nil).queued()
	j.photos(20, 8).plan()
	if err := j.conn.Job(j.spec.ID).Init(j.ctx, 1, nil, jobs.Counts{}); err != nil {
		t.Fatal(err)
	}
	if err := j.conn.Tasks(0).Enqueue(j.ctx, j.tasks[0]); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(j.ctx)
	ended := make(chan error)
	w = j.worker(Options{CPU: 1}, c)
	go func() { ended <- w.Run(ctx) }()
	released := int64(0)
	for _, n := range []int64{1, 4, 14} { // 19 in all
		for range n {
			gate <- struct{}{}
		}
		released += n
		var p queue.Progress
		until(t, "the progress of what is done", func() bool {
			var err error
			if p, _, err = j.conn.Job(j.spec.ID).Progress(j.ctx); err != nil {
				t.Fatal(err)
			}
			return p.AtWork.Objects >= released
		})
		if p.Counts.Objects != 0 || p.AtWork.Compressed != released || p.AtWork.BytesAttempted == 0 {
			t.Errorf("%+v; want %d objects at work and none committed", p, released)
		}
	}
	close(gate)
	if counts := j.wait(); counts.Objects != 20 {
		t.Errorf("%+v at the end", counts)
	}
	if p, _, err := j.conn.Job(j.spec.ID).Progress(j.ctx); err != nil || p.AtWork != (jobs.Counts{}) {
		t.Errorf("%+v, %v: want nothing at work", p.AtWork, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A Redis that does not answer is no failure of a chunk, however often that happens: the chunk is tried again soon.
func TestRedisAwayIsNoFailureOfAChunk(t *testing.T) {
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, nil).queued()
	j.photos(3, 8).plan()
	w := j.worker(Options{}, c)
	j.conn.Close()
	for _, attempt := range []int{1, strayAttempts, 100} {
		if err := w.handle(j.ctx, j.tasks[0], attempt); !errors.Is(err, queue.ErrLater) {
			t.Errorf("attempt %d: %v, want %v", attempt, err, queue.ErrLater)
		}
	}
}

// Without Redis the objects are done all the same, and their shard is stored.
func TestRedisGoesAway(t *testing.T) {
	var j *job
	var n atomic.Int64
	c := &fake{encode: func(context.Context, *gpu.Device, *raster.Image) ([]byte, error, bool) {
		if n.Add(1) == 3 {
			j.conn.Close()
		}
		return nil, nil, false
	}}
	j = newJob(t, "mem://source", "mem://target", c, nil).queued()
	j.photos(60, 8).plan()
	ctx, cancel := context.WithCancel(j.ctx)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if ok, _ := j.target.Exists(ctx, jobs.Folder(j.spec.ID).Result(0)); ok {
				cancel() // as the queue does when the lease is lost
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	w := j.worker(Options{CPU: 2}, c)
	if err := w.Chunk(ctx, j.spec, j.source, j.target, j.tasks[0], 1); err == nil {
		t.Error("a chunk that could not be committed is called done")
	}
	if got := j.results(); len(got) != 60 {
		t.Errorf("%d records, want 60", len(got))
	}
}

// Tasks whose job is gone do not stay in the queue for ever.
func TestTaskOfAnUnknownJob(t *testing.T) {
	j := newJob(t, "mem://source", "mem://target", &fake{}, nil).queued()
	w := j.worker(Options{}, &fake{})
	task := jobs.Task{Job: "20260102-030405-abcd"}
	if err := w.handle(j.ctx, task, 1); !errors.Is(err, errNoJob) {
		t.Errorf("first attempt: %v, want %v", err, errNoJob)
	}
	if err := w.handle(j.ctx, task, strayAttempts); err != nil {
		t.Errorf("last attempt: %v, want that it is dropped", err)
	}
	if err := j.conn.Job(task.Job).Register(j.ctx, j.target.URL); err != nil {
		t.Fatal(err)
	}
	if err := w.handle(j.ctx, task, 1); !errors.Is(err, errNoJob) {
		t.Errorf("without specification: %v, want %v", err, errNoJob)
	}
}
