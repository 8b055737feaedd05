package scheduler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
)

// paused waits until a job is paused because something blocks it, and returns
// what status says of it.
func (r *rig) paused(id string, cause jobs.Cause) Status {
	r.t.Helper()
	var st Status
	r.wait(fmt.Sprintf("the job to be blocked by %q", cause), func() bool {
		var err error
		if st, err = r.client.Status(r.ctx, r.target, id); err != nil {
			r.t.Fatal(err)
		}
		return st.Blocked == cause
	})
	if st.State.State != jobs.StatePaused {
		r.t.Errorf("blocked by %q it is %s", cause, st.State.State)
	}
	return st
}

// The target refuses the writes of the scheduler, in each of its phases. The job
// is paused with the reason, and goes on by itself.
func TestAJobWaitsForATargetThatRefusesWrites(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"listing.json", "chunks/part-00000.jsonl.zst", "plan.json", "results-00000.jsonl.zst", "report.json"} {
		t.Run(part, func(t *testing.T) {
			r := newRig(t)
			r.fill(20)
			r.worker.start(t, 1)
			var refuse atomic.Bool
			refuse.Store(true)
			s := r.scheduler(nil)
			s.before = func(key string) error {
				if refuse.Load() && (strings.HasSuffix(key, part) || strings.HasSuffix(key, "state.json") && part == "plan.json") {
					return fmt.Errorf("write %s: %w", key, syscall.ENOSPC)
				}
				return nil
			}
			spec := r.submit(nil)
			r.run(s)
			st := r.paused(spec.ID, jobs.BlockTarget)
			if !strings.Contains(st.Why, "the target refuses writes: no space left on device; the job goes on by itself") {
				t.Errorf("why: %q", st.Why)
			}
			// The scheduler tries now and then whether the target takes writes again; for that moment the job is not paused.
			r.wait("the list to show the paused job", func() bool {
				all, err := r.client.List(r.ctx, r.target)
				if err != nil || len(all) != 1 {
					t.Fatalf("list: %+v, %v", all, err)
				}
				return all[0].State == jobs.StatePaused && strings.Contains(all[0].Reason, "no space")
			})
			refuse.Store(false)
			if report := r.ended(spec.ID); report.State != jobs.StateDone || report.Counts.Compressed != 20 {
				t.Errorf("report %+v", report)
			}
		})
	}
}

// A worker has found that the target refuses writes: nothing waits in the queue
// until a write succeeds, and resume asks for no write.
func TestABlockedJobGoesOnByAProbeOrByResume(t *testing.T) {
	t.Parallel()
	for _, resume := range []bool{false, true} {
		r := newRig(t)
		r.fill(40)
		spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 4 })
		cause := jobs.BlockTarget
		if resume {
			cause = jobs.BlockChunk // for which there is no probe
		}
		r.run(r.scheduler(nil))
		r.waitState(spec.ID, jobs.StateRunning)
		if err := r.conn.Job(spec.ID).Block(r.ctx, jobs.Block{Cause: cause, Reason: "x"}); err != nil {
			t.Fatal(err)
		}
		if resume {
			r.paused(spec.ID, cause)
			r.wait("the chunks to be withdrawn", func() bool {
				d, err := r.conn.Tasks(0).Depth(r.ctx)
				return err == nil && d == queue.Depth{}
			})
			// Another scheduler takes over, Redis lost the reason: it stays known.
			if err := r.conn.Job(spec.ID).Unblock(r.ctx); err != nil {
				t.Fatal(err)
			}
			r.paused(spec.ID, cause)
			if err := r.client.Control(r.ctx, r.target, spec.ID, jobs.Control{Want: jobs.WantRun}); err != nil {
				t.Fatal(err)
			}
		}
		r.waitState(spec.ID, jobs.StateRunning)
		r.worker.start(t, 1)
		if report := r.ended(spec.ID); report.State != jobs.StateDone || report.Counts.Compressed != 40 {
			t.Errorf("report %+v", report)
		}
	}
}

// A chunk that always fails pauses its job with the last error, and costs no
// more attempts until somebody resumes the job.
func TestAChunkThatAlwaysFailsPausesTheJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(1)
	var broken atomic.Bool
	broken.Store(true)
	var tries atomic.Int64
	server, err := r.conn.Serve(&queue.ServerOptions{Attempts: 2}, func(ctx context.Context, task jobs.Task, attempt int) error {
		if _, blocked, err := r.conn.Job(task.Job).Blocked(ctx); blocked || err != nil {
			return errors.Join(queue.ErrLater, err)
		}
		if tries.Add(1); broken.Load() {
			return errors.New("its frame is damaged")
		}
		return r.worker.chunk(ctx, task, attempt)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	r.run(r.scheduler(nil))
	spec := r.submit(nil)
	st := r.paused(spec.ID, jobs.BlockChunk)
	if want := "chunk 0 failed 2 times, the last time with: its frame is damaged; pelmill resume tries it again"; st.Why != want {
		t.Errorf("why %q, want %q", st.Why, want)
	}
	r.wait("the chunk to be withdrawn", func() bool {
		d, err := r.conn.Tasks(0).Depth(r.ctx)
		return err == nil && d == queue.Depth{}
	})
	time.Sleep(200 * time.Millisecond) // ten ticks, in which nothing may be fed
	if n := tries.Load(); n != 2 {
		t.Errorf("%d attempts, want 2", n)
	}
	broken.Store(false)
	if err := r.client.Control(r.ctx, r.target, spec.ID, jobs.Control{Want: jobs.WantRun}); err != nil {
		t.Fatal(err)
	}
	if report := r.ended(spec.ID); report.Counts.Compressed != 1 {
		t.Errorf("report %+v", report)
	}
}

// A temporary folder that cannot be written pauses the job, whose reason names
// the folder; when it can, the job goes on.
func TestAJobWaitsForTheTemporaryFolder(t *testing.T) {
	r := newRig(t)
	r.fill(10)
	r.worker.start(t, 1)
	dir := filepath.Join(t.TempDir(), "gone")
	t.Setenv("TMPDIR", dir)
	r.run(r.scheduler(nil))
	spec := r.submit(nil)
	st := r.paused(spec.ID, jobs.BlockTemp)
	if !strings.Contains(st.Why, "temporary folder "+dir) || !strings.Contains(st.Why, "TMPDIR") {
		t.Errorf("why: %q", st.Why)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if report := r.ended(spec.ID); report.State != jobs.StateDone || report.Counts.Compressed != 10 {
		t.Errorf("report %+v", report)
	}
}

// A chunk that the queue has given up stands in its archive with its last error.
// The job is paused with it, and fed anew when it is resumed.
func TestAnArchivedChunkPausesTheJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(10)
	var broken atomic.Bool
	broken.Store(true)
	server, err := r.conn.Serve(&queue.ServerOptions{Poll: 20 * time.Millisecond}, func(ctx context.Context, task jobs.Task, attempt int) error {
		if broken.Load() {
			return errors.New("no way")
		}
		return r.worker.chunk(ctx, task, attempt)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	spec := r.submit(nil)
	task := jobs.Task{Job: spec.ID}
	inspector := asynq.NewInspectorFromRedisClient(r.conn.Redis())
	r.run(r.scheduler(nil))
	r.wait("the chunk to be archived", func() bool {
		if text, err := r.conn.Tasks(0).LastError(r.ctx, task); err != nil || text == "" {
			return false
		}
		// A chunk that a worker has cannot be archived: it fails and is there again.
		return inspector.ArchiveTask("pelmill-p0", task.ID()) == nil
	})
	st := r.paused(spec.ID, jobs.BlockChunk)
	if !strings.Contains(st.Why, "chunk 0 failed") || !strings.Contains(st.Why, "no way") {
		t.Errorf("why: %q", st.Why)
	}
	broken.Store(false)
	if err := r.client.Control(r.ctx, r.target, spec.ID, jobs.Control{Want: jobs.WantRun}); err != nil {
		t.Fatal(err)
	}
	if report := r.ended(spec.ID); report.Counts.Compressed != 10 {
		t.Errorf("report %+v", report)
	}
}
