package worker

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/raster"
)

// hangs is a codec that never answers how much memory an image takes, which no limit of time bounds, until hang is closed.
type hangs struct {
	*fake
	hang chan struct{}
	met  sync.Once
	in   chan struct{} // closed when it hangs
}

func (h *hangs) Memory(s raster.Shape, m *raster.Image, o codec.Options) codec.Memory {
	if s.Width == unresponsive {
		h.met.Do(func() { close(h.in) })
		<-h.hang
	}
	return h.fake.Memory(s, m, o)
}

// A handler that hangs where nothing bounds its time does not keep its chunk for ever: the worker says which object it is, and ends.
func TestAChunkThatHangsEndsTheWorker(t *testing.T) {
	c := &hangs{fake: &fake{}, hang: make(chan struct{}), in: make(chan struct{})}
	j := newJob(t, "mem://source", "mem://target", c, nil).queued()
	j.put("hangs.png", png(t, photo(1, unresponsive, 9, 3)))
	j.photos(3, 8).plan()
	if err := j.conn.Tasks(0).Enqueue(j.ctx, j.tasks[0]); err != nil {
		t.Fatal(err)
	}
	w := j.worker(Options{CPU: 1, Grace: time.Nanosecond}, c)
	w.watchdog.patience, w.watchdog.endTime = time.Second, time.Second
	ended := make(chan error)
	go func() { ended <- w.Run(j.ctx) }()
	<-c.in
	until(t, "the worker to say what hangs", func() bool {
		return strings.Contains(strings.Join(w.unready(j.ctx), "; "), "made no progress for")
	})
	if text := strings.Join(w.unready(j.ctx), "; "); !strings.Contains(text, "hangs.png in header for") {
		t.Errorf("%q does not name the object and its stage", text)
	}
	if err := <-ended; !errors.Is(err, ErrStuck) || !strings.Contains(err.Error(), "hangs.png") {
		t.Errorf("%v, want %v with the object", err, ErrStuck)
	}
	close(c.hang)
	if counts := j.run(j.worker(Options{}, c)); counts.Compressed != 4 {
		t.Errorf("the next worker: %+v, want 4 compressed", counts)
	}
}

// A chunk that does not move, but heeds the end of its context, is given back: another try does it, and the worker lives.
func TestAChunkWithoutProgressIsTriedAgain(t *testing.T) {
	var once sync.Once
	var w *Worker
	c := &fake{encode: func(ctx context.Context, _ *gpu.Device, _ *raster.Image) ([]byte, error, bool) {
		if w.tested.Load() {
			once.Do(func() { <-ctx.Done() })
		}
		return nil, nil, false
	}}
	j := newJob(t, "mem://source", "mem://target", c, nil).queued()
	j.photos(3, 8).plan()
	w = j.worker(Options{CPU: 1, ObjectTimeout: time.Hour}, c)
	w.watchdog.patience = time.Second
	if counts := j.run(w); counts.Compressed != 3 {
		t.Errorf("%+v, want 3 compressed", counts)
	}
	if n := counterValue(t, w, "pelmill_chunks_without_progress_total"); n != 1 {
		t.Errorf("%v chunks without progress, want 1", n)
	}
	if trouble := w.trouble.Load(); trouble != nil {
		t.Errorf("trouble after the chunk was done: %s", *trouble)
	}
}

// What waits for others that move, or for the limits of its job, is no chunk without progress.
func TestWaitingIsNoHang(t *testing.T) {
	g := newWatchdog(time.Minute)
	_, d, leave := g.watch(t.Context(), jobs.Task{Job: "20260102-030405-abcd"})
	defer leave()
	_, other, leaveOther := g.watch(t.Context(), jobs.Task{Job: "20260102-030405-abcd"})
	defer leaveOther()
	later := time.Now().Add(time.Hour)
	told := 0
	look := func() int {
		told = 0
		if err := g.look(later, func(*delivery, time.Duration, string) { told++ }); err != nil {
			t.Fatal(err)
		}
		return told
	}
	end := d.isHeld()
	other.at.Store(g.nanos(later))
	if n := look(); n != 0 {
		t.Errorf("%d deliveries were ended while one was held by limits", n)
	}
	end()
	d.at.Store(g.nanos(later.Add(-time.Hour)))
	g.at.Store(g.nanos(later))
	end = d.waits()
	if n := look(); n != 0 {
		t.Errorf("%d deliveries were ended while one waited for others", n)
	}
	end()
	d.at.Store(g.nanos(later.Add(-time.Hour)))
	if n := look(); n != 1 || d.ended.Load() == 0 {
		t.Errorf("%d deliveries were ended, want the one that does not move", n)
	}
}

// The watchdog counts by the clock that nobody sets: a step of the wall clock ends no chunk.
func TestAStepOfTheWallClockEndsNoChunk(t *testing.T) {
	g := newWatchdog(time.Minute)
	_, d, leave := g.watch(t.Context(), jobs.Task{Job: "20260102-030405-abcd"})
	defer leave()
	for name, at := range map[string]int64{"a move of the chunk": d.at.Load(), "one of the process": g.at.Load()} {
		if age := time.Duration(at); age > time.Minute {
			t.Errorf("%s is counted by the wall clock: %s", name, age)
		}
	}
}

// A chunk that waits for what another holds is as patient as that one may be: what moves slowly is no hang of those that wait for it.
func TestWaitingForALargeObjectIsNoHang(t *testing.T) {
	g := newWatchdog(time.Minute)
	_, large, leaveLarge := g.watch(t.Context(), jobs.Task{Job: "20260102-030405-abcd"})
	defer leaveLarge()
	_, waiting, leave := g.watch(t.Context(), jobs.Task{Job: "20260102-030405-abcd", Index: 1})
	defer leave()
	large.bytes.Store(transferRate * 3600)
	defer waiting.waits()()
	for after, want := range map[time.Duration]int{30 * time.Minute: 0, 2 * time.Hour: 2} {
		told := 0
		if err := g.look(time.Now().Add(after), func(*delivery, time.Duration, string) { told++ }); err != nil {
			t.Fatal(err)
		}
		if told != want {
			t.Errorf("%d deliveries were ended after %s, want %d", told, after, want)
		}
		large.ended.Store(0)
		waiting.ended.Store(0)
	}
}

// A copy may take as long as storage gives it, four seconds for each MiB, also of an object whose size the manifest did not say.
func TestASlowCopyIsNoHang(t *testing.T) {
	g := newWatchdog(time.Minute)
	_, d, leave := g.watch(t.Context(), jobs.Task{Job: "20260102-030405-abcd"})
	defer leave()
	d.expects(-1)
	d.expects(1 << 30)
	d.expects(1)
	if err := g.look(time.Now().Add(4*1024*time.Second), func(*delivery, time.Duration, string) { t.Error("it was ended") }); err != nil {
		t.Error(err)
	}
}

// A chunk that is delivered while it is at work waits for that run, however long it takes, and is no chunk without progress.
func TestWaitingForAnEarlierRunIsNoHang(t *testing.T) {
	j := newJob(t, "mem://source", "mem://target", &fake{}, nil).queued()
	j.photos(3, 8).plan()
	w := j.worker(Options{CPU: 1}, &fake{})
	w.watchdog.patience = 100 * time.Millisecond
	if _, err := w.runs.enter(j.ctx, j.tasks[0].ID()); err != nil {
		t.Fatal(err)
	}
	go w.watchChunks(j.ctx)
	ended := make(chan error)
	go func() { ended <- w.handle(j.ctx, j.tasks[0], 1) }()
	select {
	case err := <-ended:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(3 * time.Second):
	}
	w.runs.leave(j.tasks[0].ID(), nil)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A chunk that is put off again and again because its requests are not answered shows on the worker, in a counter and on its job.
func TestAChunkThatIsPutOffShows(t *testing.T) {
	j := newJob(t, "mem://source", "mem://target", &fake{}, nil).queued()
	j.photos(3, 8).plan()
	w := j.worker(Options{}, &fake{})
	for range mostPutOffs - 1 {
		w.unanswered(j.ctx, j.tasks[0], queue.ErrUnreachable)
	}
	if text := strings.Join(w.unready(j.ctx), "; "); !strings.Contains(text, "was put off 29 times in a row") {
		t.Errorf("the worker says %q", text)
	}
	if _, blocked, err := j.conn.Job(j.spec.ID).Blocked(j.ctx); blocked || err != nil {
		t.Errorf("the job is blocked too early: %v, %v", blocked, err)
	}
	w.unanswered(j.ctx, j.tasks[0], queue.ErrUnreachable)
	b, blocked, err := j.conn.Job(j.spec.ID).Blocked(j.ctx)
	if err != nil || !blocked || b.Cause != jobs.BlockStore || !strings.Contains(b.Reason, "was put off 30 times") {
		t.Errorf("the job has block %+v, %v, %v", b, blocked, err)
	}
	if n := counterValue(t, w, "pelmill_chunks_put_off_total"); n != mostPutOffs {
		t.Errorf("%v chunks put off, want %d", n, mostPutOffs)
	}
	w.putOffs.done(j.tasks[0])
	if n := w.putOffs.add(j.tasks[0]); n != 1 {
		t.Errorf("%d times after a success, want 1", n)
	}
}

// counterValue is that of a counter without labels.
func counterValue(t *testing.T, w *Worker, name string) float64 {
	t.Helper()
	families, err := w.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("there is no counter %s", name)
	return 0
}
