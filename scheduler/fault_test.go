package scheduler

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// killer lets the process die at a write: that one and all later ones fail.
type killer struct {
	mu     sync.Mutex
	at     int // write that is the last, 0 before the first; -1: never
	writes []string
	first  int // writes of the first job
	dead   chan struct{}
}

func (k *killer) before(key string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.dead:
		return errKilled
	default:
	}
	if len(k.writes) == k.at {
		close(k.dead)
		return errKilled
	}
	k.writes = append(k.writes, key)
	return nil
}

// TestAJobSurvivesADeathAtEveryWrite runs a job that goes through every phase,
// once for each object that the scheduler writes, lets the scheduler die before
// and after that write, and lets another go on.
func TestAJobSurvivesADeathAtEveryWrite(t *testing.T) {
	t.Parallel()
	count := &killer{at: -1, dead: make(chan struct{})}
	survive(t, count)
	if count.first < 16 {
		t.Fatalf("only %d writes: %q", len(count.writes), count.writes)
	}
	for at, key := range count.writes[:count.first] {
		if testing.Short() && at%3 != 0 {
			continue
		}
		name := key[strings.LastIndexByte(key, '/')+1:]
		t.Run(fmt.Sprintf("%02d %s", at, name), func(t *testing.T) {
			t.Parallel()
			survive(t, &killer{at: at, dead: make(chan struct{})})
		})
	}
}

func survive(t *testing.T, k *killer) {
	r := newRig(t)
	for i := range 12 {
		r.image(fmt.Sprintf("%02d.png", i), 10, 10)
	}
	r.fill(60)
	r.worker.outcome = func(e jobs.Entry) jobs.Outcome {
		if e.Key == "d1/00001.png" {
			return jobs.OutcomeFailed
		}
		return jobs.OutcomeCompressed
	}
	r.worker.start(t, 2)
	s := r.scheduler(nil)
	s.before = k.before
	stop := r.run(s)
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects, s.Options, s.Sample = 7, "book=job", 2 })
	if k.at >= 0 {
		select {
		case <-k.dead:
		case <-time.After(30 * time.Second):
			// The number of states that a job is seen in depends on timing.
		}
		stop()
		r.run(r.scheduler(nil))
	}
	report := r.ended(spec.ID)
	if c := report.Counts; report.State != jobs.StateDone || c.Objects != 72 || c.Compressed != 71 || c.Failed != 1 || report.Chunks != 11 {
		t.Errorf("report %+v", report)
	}
	k.mu.Lock()
	k.first = len(k.writes)
	k.mu.Unlock()
	if again := r.ended(r.submit(func(s *jobs.Spec) { s.Options = "book=job" }).ID); again.Counts.Skipped != 71 {
		t.Errorf("a second run skips %d of 71", again.Counts.Skipped)
	}
}

// TestAListingGoesOnAtItsCheckpoint lets the scheduler die between two parts.
func TestAListingGoesOnAtItsCheckpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const n = 5500
	r.fill(n)
	for _, at := range []string{"manifest/part-00001.jsonl.zst", "manifest/part-00001.jsonl.zst!", "manifest/part-00002.jsonl.zst"} {
		spec := r.submit(func(s *jobs.Spec) { s.AutoStart = false })
		s := r.scheduler(nil)
		s.part = 2000
		var dead atomic.Bool
		died := make(chan struct{})
		s.before = func(key string) error {
			if key == jobs.Folder(spec.ID).Dir()+at && !dead.Swap(true) {
				close(died)
			}
			if dead.Load() {
				return errKilled
			}
			return nil
		}
		stop := r.run(s)
		<-died
		stop()
		next, ok, err := getJSON[listing](r.ctx, r.bucket(r.target), jobs.Folder(spec.ID).Listing())
		if err != nil || !ok || next.Parts == 0 || next.Done {
			t.Fatalf("%s: checkpoint %+v (%v)", at, next, err)
		}
		stop = r.run(r.scheduler(nil))
		r.waitState(spec.ID, jobs.StatePlanned)
		plan, err := r.client.Plan(r.ctx, r.target, spec.ID)
		if err != nil || plan.Objects != n {
			t.Errorf("%s: %d objects in %d chunks (%v)", at, plan.Objects, len(plan.Chunks), err)
		}
		end, _, err := getJSON[listing](r.ctx, r.bucket(r.target), jobs.Folder(spec.ID).Listing())
		if err != nil || !end.Done || end.Parts <= next.Parts {
			t.Errorf("%s: listing %+v (%v)", at, end, err)
		}
		last := ""
		err = manifest(folder{b: r.bucket(r.target), id: spec.ID}, end.Parts)(r.ctx, func(e jobs.Entry) error {
			if e.Key <= last {
				return fmt.Errorf("%q after %q", e.Key, last)
			}
			last = e.Key
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		stop()
	}
}

func TestTemporaryErrorsOfStorageAreWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(20)
	r.worker.start(t, 1)
	s := r.scheduler(nil)
	var failed sync.Map // keys whose first write has failed
	s.before = func(key string) error {
		if key[len(key)-1] == '!' || key == jobs.Folder(r.newest()).State() {
			return nil
		}
		if _, again := failed.LoadOrStore(key, true); !again {
			return fmt.Errorf("write %s: %w", key, syscall.ECONNRESET)
		}
		return nil
	}
	r.submit(nil)
	r.run(s)
	if report := r.ended(r.newest()); report.State != jobs.StateDone || report.Counts.Compressed != 20 {
		t.Errorf("report %+v", report)
	}
}

func TestTwoSchedulersCountOnce(t *testing.T) {
	r := newRig(t)
	r.fill(300)
	r.worker.start(t, 2)
	for range 3 {
		r.run(r.scheduler(nil))
	}
	var ids []string
	for range 3 {
		ids = append(ids, r.submit(func(s *jobs.Spec) { s.ChunkObjects, s.Target = 5, fmt.Sprintf("%s%d", r.target, len(ids)) }).ID)
	}
	for i, id := range ids {
		r2 := *r
		r2.target = fmt.Sprintf("%s%d", r.target, i)
		if c := r2.ended(id).Counts; c.Objects != 300 || c.Compressed != 300 {
			t.Errorf("job %d: %+v", i, c)
		}
	}
	if n := r.worker.chunks.Load(); n != 180 {
		t.Errorf("%d chunks were done, want 180", n)
	}
}

func TestALeaderThatHangsIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(100)
	r.worker.delay = 5 * time.Millisecond
	r.worker.start(t, 1)
	first := r.scheduler(nil)
	hang, hung := make(chan struct{}), make(chan struct{})
	var once sync.Once
	first.before = func(key string) error {
		if key == jobs.Folder(r.newest()).Plan() {
			once.Do(func() {
				close(hung)
				<-hang
			})
		}
		return nil
	}
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 5 })
	// It does not renew while it hangs, like a process that was stopped.
	first.lease = time.Millisecond
	ctx, cancel := context.WithCancel(r.ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); first.Run(ctx) }()
	<-hung
	cancel()
	r.run(r.scheduler(nil))
	r.wait("some chunks", func() bool { return r.worker.chunks.Load() > 2 })
	close(hang)
	<-ended
	if c := r.ended(spec.ID).Counts; c.Compressed != 100 {
		t.Errorf("%+v", c)
	}
}

func TestRedisIsEmptiedInMidJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(300)
	r.worker.delay = 5 * time.Millisecond
	r.worker.start(t, 2)
	r.run(r.scheduler(&Options{Window: 10}))
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 5 })
	for i := range 4 {
		r.wait("some chunks", func() bool { return r.worker.chunks.Load() > int64(8*(i+1)) })
		if err := r.conn.Redis().FlushAll(r.ctx).Err(); err != nil {
			t.Fatal(err)
		}
	}
	report := r.ended(spec.ID)
	if c := report.Counts; c.Objects != 300 || c.Compressed != 300 || report.Attempted != 60 {
		t.Errorf("report %+v", report)
	}
}

func TestTasksThatVanishAreFedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(40)
	r.run(r.scheduler(nil))
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 5 })
	r.wait("the tasks", func() bool { d, err := r.conn.Tasks(0).Depth(r.ctx); return err == nil && d.Pending == 8 })
	var lost []jobs.Task
	for i := range 3 {
		lost = append(lost, jobs.Task{Job: spec.ID, Index: 2 * i})
	}
	if n, err := r.conn.Tasks(0).Withdraw(r.ctx, lost); err != nil || n != 3 {
		t.Fatalf("%d tasks are lost (%v)", n, err)
	}
	r.worker.start(t, 1)
	if c := r.ended(spec.ID).Counts; c.Compressed != 40 {
		t.Errorf("%+v", c)
	}
}

func TestAChunkThatIsCountedWithoutItsShardIsDoneAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(40)
	stop := r.run(r.scheduler(nil))
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 5 })
	r.wait("the tasks", func() bool { d, err := r.conn.Tasks(0).Depth(r.ctx); return err == nil && d.Pending == 8 })
	stop()
	for i := range 8 {
		if err := r.conn.Job(spec.ID).Commit(r.ctx, i, jobs.Counts{Objects: 5, Compressed: 5}); err != nil {
			t.Fatal(err)
		}
	}
	r.worker.start(t, 1)
	r.run(r.scheduler(nil))
	if c := r.ended(spec.ID).Counts; c.Compressed != 40 {
		t.Errorf("%+v", c)
	}
}

func TestUnfinishedJobsOfATargetAreFound(t *testing.T) {
	r := newRig(t)
	r.fill(20)
	spec := r.submit(nil)
	if err := r.conn.Redis().FlushAll(r.ctx).Err(); err != nil {
		t.Fatal(err)
	}
	r.worker.start(t, 1)
	s := r.scheduler(nil)
	ctx, cancel := context.WithCancel(r.ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx, r.target) }()
	defer func() { cancel(); <-ended }()
	if c := r.ended(spec.ID).Counts; c.Compressed != 20 {
		t.Errorf("%+v", c)
	}
}

func TestNothingIsLeftInRedis(t *testing.T) {
	r := newRig(t)
	r.fill(20)
	r.worker.start(t, 1)
	r.run(r.scheduler(nil))
	spec := r.submit(nil)
	r.ended(spec.ID)
	keys, err := r.conn.Redis().Keys(r.ctx, "*"+spec.ID+"*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if key != "pelmill:{lead:job:"+spec.ID+"}:fence" && key != "pelmill:{lead:job:"+spec.ID+"}:lock" {
			t.Errorf("key %s", key)
		}
	}
}

func TestALargeListOfFailuresIsStreamed(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: writes 33 MB")
	}
	r := newRigOn(t, "", "mem://source", t.TempDir())
	d := &drive{f: folder{b: r.bucket(r.target), id: "20200101-000000-aaaa"}}
	file := tempFile(t, streamedAbove+1)
	if err := d.putFile(r.ctx, "x/failed.jsonl", file, streamedAbove+1); err != nil {
		t.Fatal(err)
	}
	o, _, err := storage.Stat(r.ctx, d.f.b, "x/failed.jsonl")
	if err != nil || o.Size != streamedAbove+1 {
		t.Errorf("%d bytes (%v)", o.Size, err)
	}
}

func tempFile(t *testing.T, size int64) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err == nil {
		t.Cleanup(func() { f.Close() })
		err = f.Truncate(size)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRedisIsGoneForAWhile(t *testing.T) {
	t.Parallel()
	server := services.Redis(t)
	r := newRigOn(t, server.URL(), "mem://source", "mem://target")
	r.fill(300)
	r.worker.delay = 20 * time.Millisecond
	r.worker.start(t, 2)
	r.run(r.scheduler(&Options{Window: 20}))
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 3 })
	r.wait("some chunks", func() bool { return r.worker.chunks.Load() > 10 })
	server.Kill() // it keeps nothing
	time.Sleep(2 * time.Second)
	server.Start()
	report := r.ended(spec.ID)
	if c := report.Counts; c.Objects != 300 || c.Compressed != 300 || report.Attempted != 100 {
		t.Errorf("report %+v", report)
	}
}

func TestRedisIsFull(t *testing.T) {
	t.Parallel()
	server := services.Redis(t, "--maxmemory", "20mb")
	r := newRigOn(t, server.URL(), "mem://source", "mem://target")
	r.fill(60)
	r.worker.delay = 20 * time.Millisecond
	r.worker.start(t, 2)
	server.CLI("SET", "foreign", strings.Repeat("x", 100_000))
	for i := range 140 { // fourteen megabytes of somebody else's
		server.CLI("COPY", "foreign", fmt.Sprint("foreign", i))
	}
	r.run(r.scheduler(nil))
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 3 })
	r.wait("the reason", func() bool { // of a job that the scheduler drives: it looks in no target for what Redis loses before
		st, err := r.client.Status(r.ctx, r.target, spec.ID)
		return err == nil && st.State.State == jobs.StateRunning && strings.Contains(st.Why, "of its memory") && st.Blocked == jobs.BlockRedis
	})
	server.CLI("FLUSHALL")
	if c := r.ended(spec.ID).Counts; c.Compressed != 60 {
		t.Errorf("%+v", c)
	}
}
