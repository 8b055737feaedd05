package scheduler

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

func pointer[T any](v T) *T { return &v }

// A job stops exactly at its budget, goes on by as much when it is resumed, and by what is left when
// its budget is lifted.
func TestABudgetOfObjects(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(100)
	r.worker.start(t, 2)
	r.run(r.scheduler(nil))
	spec := r.submit(func(s *jobs.Spec) { s.Settings.MaxObjects = pointer(int64(30)) })
	spent := func(objects int64) {
		t.Helper()
		r.wait("the budget to be used up", func() bool {
			st, err := r.client.Status(r.ctx, r.target, spec.ID)
			return err == nil && st.State.State == jobs.StatePaused && st.State.Budget.Used && st.Counts.Objects == objects
		})
	}
	spent(30)
	if err := r.client.Control(r.ctx, r.target, spec.ID, jobs.Control{Want: jobs.WantRun}); err != nil {
		t.Fatal(err)
	}
	spent(60)
	if err := r.client.Control(r.ctx, r.target, spec.ID, jobs.Control{Settings: jobs.Settings{MaxObjects: pointer(int64(0))}}); err != nil {
		t.Fatal(err)
	}
	if report := r.ended(spec.ID); report.Counts.Compressed != 100 {
		t.Errorf("%+v", report.Counts)
	}
}

func TestAtMostSoManyWorkers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(60)
	r.worker.delay = 30 * time.Millisecond
	for range 3 {
		r.worker.start(t, 2)
	}
	r.run(r.scheduler(nil))
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects, s.Settings.MaxWorkers = 3, pointer(2) })
	var most atomic.Int64
	go func() {
		for r.ctx.Err() == nil {
			if d, err := r.conn.Tasks(0).Depth(r.ctx); err == nil {
				most.Store(max(most.Load(), d.Waiting()))
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if report := r.ended(spec.ID); report.Counts.Compressed != 60 || most.Load() > 2 {
		t.Errorf("%d chunks at once, want 2; %+v", most.Load(), report.Counts)
	}
}
