package worker

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// reports counts the records that a worker reports, by key.
type reports struct {
	mu    sync.Mutex
	times map[string]int
}

func (o *reports) result(r jobs.Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.times == nil {
		o.times = map[string]int{}
	}
	o.times[r.Key]++
}

func (o *reports) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.times)
}

// onceEach fails the test unless each of n objects was reported once.
func (o *reports) onceEach(t *testing.T, n int) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, times := range maps.All(o.times) {
		if times != 1 {
			t.Errorf("%s was reported %d times", key, times)
		}
	}
	if len(o.times) != n {
		t.Errorf("%d objects were reported, want %d", len(o.times), n)
	}
}

// holding is a codec that stops at its n-th image until release is closed.
func holding(n int64, release <-chan struct{}) *fake {
	var images atomic.Int64
	return &fake{encode: func(context.Context, *gpu.Device, *raster.Image) ([]byte, error, bool) {
		if images.Add(1) == n {
			<-release
		}
		return nil, nil, false
	}}
}

// The lease of a chunk is lost while its run goes on, and the queue gives the chunk
// to the same process again: nothing is done or reported twice.
func TestLostLeaseReportsNothingTwice(t *testing.T) {
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	tested := int64(len((&fake{}).Info().Accepts.Channels)) // images of the self-test
	c := holding(tested+4, release)
	j := newJob(t, "mem://source", "mem://target", c, nil).queued()
	j.photos(6, 16).plan()
	var o reports
	w := j.worker(Options{CPU: 1, Chunks: 2, OnResult: o.result}, c)
	ctx, cancel := context.WithCancel(j.ctx)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	defer serving.Wait()
	defer cancel()
	defer free()
	if err := j.conn.Tasks(0).Enqueue(j.ctx, j.tasks[0]); err != nil {
		t.Fatal(err)
	}
	until(t, "three records", func() bool { return o.count() == 3 })

	prefix := "asynq:{" + "pelmill-p0" + "}:"
	rdb := j.conn.Redis()
	if n, err := rdb.ZRem(j.ctx, prefix+"lease", j.tasks[0].ID()).Result(); n != 1 || err != nil {
		t.Fatalf("%d leases removed, %v, want 1", n, err)
	}
	if found, err := j.conn.Reap(j.ctx); err != nil || found.Unleased != 1 {
		t.Fatalf("%+v, %v, want one task without a lease", found, err)
	}
	until(t, "the second delivery", func() bool {
		n, err := rdb.LLen(j.ctx, prefix+"pending").Result()
		return n == 0 && (err == nil || err == redis.Nil)
	})
	time.Sleep(100 * time.Millisecond) // in which a second run would begin
	free()
	if counts := j.wait(); counts.Compressed != 6 {
		t.Errorf("%+v, want 6 compressed", counts)
	}
	cancel()
	serving.Wait()
	o.onceEach(t, 6)
	if n := c.encoded.Load() - tested; n != 6 {
		t.Errorf("%d pictures were encoded, want each of 6 once", n)
	}
}

// A chunk that was handed back, and whose records could not be stored, goes on in
// the same process where it stood.
func TestRecordsOfAnUncommittedChunkAreKept(t *testing.T) {
	release := make(chan struct{})
	c := holding(4, release)
	dir := t.TempDir()
	j := newJob(t, "mem://source", "file://"+dir, c, nil)
	j.photos(6, 16).plan()
	// A file in the place of the folder: partial shards cannot be stored.
	partial := filepath.Dir(filepath.Join(dir, filepath.FromSlash(jobs.Folder(j.spec.ID).Partial(0))))
	if err := os.WriteFile(partial, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var o reports
	w := j.worker(Options{CPU: 1, OnResult: o.result}, c)
	ctx, cancel := context.WithCancel(j.ctx)
	go func() {
		until(t, "three records", func() bool { return o.count() == 3 })
		cancel()
		close(release)
	}()
	if err := w.Chunk(ctx, j.spec, j.source, j.target, j.tasks[0], 1); err == nil {
		t.Error("an interrupted chunk is called done")
	}
	before := o.count()
	if err := j.chunk(w, 0); err != nil {
		t.Fatal(err)
	}
	o.onceEach(t, 6)
	if before < 3 || len(j.results()) != 6 {
		t.Errorf("%d records before the interruption and %d in the shard, want 3 or more and 6", before, len(j.results()))
	}
	if len(w.runs.chunks) != 0 || w.runs.kept != 0 {
		t.Errorf("a committed chunk is still kept: %+v", w.runs)
	}
}

// What is kept of chunks that never come back is bounded.
func TestKeptRecordsAreBounded(t *testing.T) {
	r := newRuns()
	records := map[string]*jobs.Result{}
	for i := range 1000 {
		records[string(rune(i))] = &jobs.Result{}
	}
	for i := range keptRecords/1000 + 5 {
		id := jobs.Task{Job: "j", Index: i}.ID()
		if _, err := r.enter(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		r.leave(id, records)
	}
	if r.kept != keptRecords || len(r.chunks) != keptRecords/1000 || len(r.left) != len(r.chunks) {
		t.Errorf("%d records of %d chunks are kept, want %d", r.kept, len(r.chunks), keptRecords)
	}
	if got, err := r.enter(t.Context(), jobs.Task{Job: "j", Index: 0}.ID()); err != nil || got != nil {
		t.Errorf("the oldest chunk has %d records, %v, want none", len(got), err)
	}
}
