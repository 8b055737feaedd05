package scheduler

import (
	"strings"
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
	// What changes nothing is answered, too, so that nobody waits for it.
	r.control(spec.ID, jobs.Control{Settings: jobs.Settings{MaxObjects: pointer(int64(29))}})
	r.wait("an answer to the change", func() bool {
		st, err := r.client.Status(r.ctx, r.target, spec.ID)
		if err == nil && st.Control.At.After(st.State.Answered) == st.BudgetUsed() {
			t.Errorf("the budget is said to be used: %v, after a change at %v was answered at %v", st.BudgetUsed(), st.Control.At, st.State.Answered)
		}
		return err == nil && st.BudgetUsed()
	})
	if err := r.client.Control(r.ctx, r.target, spec.ID, jobs.Control{Settings: jobs.Settings{MaxObjects: pointer(int64(0))}}); err != nil {
		t.Fatal(err)
	}
	if report := r.ended(spec.ID); report.Counts.Compressed != 100 {
		t.Errorf("%+v", report.Counts)
	}
}

// The limit of workers holds for all workers together while the chunks at work take their time, whoever
// restarts and whatever changes, and what waits beyond a lower limit is taken back.
func TestAtMostSoManyWorkers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		do   func(t *testing.T, r *rig, id string, restart func())
	}{
		{"nothing happens", func(*testing.T, *rig, string, func()) {}},
		{"the scheduler restarts", func(t *testing.T, r *rig, id string, restart func()) {
			restart()
			r.wait("a leader", func() bool {
				leader, err := r.conn.Leader(r.ctx, leadName(id))
				return err == nil && leader != ""
			})
		}},
		{"Redis forgets", func(t *testing.T, r *rig, id string, restart func()) {
			if err := r.conn.Job(id).Forget(r.ctx); err != nil {
				t.Fatal(err)
			}
			r.wait("Redis to know the job again", func() bool {
				_, ok, err := r.conn.Job(id).Progress(r.ctx)
				return err == nil && ok
			})
		}},
		{"paused and resumed", func(t *testing.T, r *rig, id string, restart func()) {
			r.control(id, jobs.Control{Want: jobs.WantPause})
			r.waitState(id, jobs.StatePausing)
			r.control(id, jobs.Control{Want: jobs.WantRun})
			r.waitState(id, jobs.StateRunning)
		}},
		{"another priority", func(t *testing.T, r *rig, id string, restart func()) {
			r.control(id, jobs.Control{Settings: jobs.Settings{Priority: pointer(3)}})
		}},
		{"a lower limit", func(t *testing.T, r *rig, id string, restart func()) {
			r.control(id, jobs.Control{Settings: jobs.Settings{MaxWorkers: pointer(0)}})
			r.wait("all workers to work", func() bool { return r.worker.working.Load() == 6 })
			r.control(id, jobs.Control{Settings: jobs.Settings{MaxWorkers: pointer(2)}})
			r.wait("what waits to be taken back", func() bool {
				d, err := r.conn.Tasks(0).Depth(r.ctx)
				return err == nil && d.Pending == 0
			})
			r.worker.most.Store(0)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.fill(80)
			r.worker.held.Store(true)
			for range 3 {
				r.worker.start(t, 2)
			}
			stop := r.run(r.scheduler(nil))
			spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects, s.Settings.MaxWorkers = 2, pointer(2) })
			r.wait("two chunks at work", func() bool { return r.worker.working.Load() == 2 })
			test.do(t, r, spec.ID, func() { stop(); stop = r.run(r.scheduler(nil)) })
			time.Sleep(400 * time.Millisecond) // twenty ticks, in which nothing may be fed
			r.worker.held.Store(false)
			if report := r.ended(spec.ID); report.Counts.Compressed != 80 || r.worker.most.Load() > 2 {
				t.Errorf("%d chunks at once, want 2; %+v", r.worker.most.Load(), report.Counts)
			}
		})
	}
}

// A budget holds over a restart of the scheduler, and that of time also where Redis has forgotten the job.
func TestABudgetOutlivesItsScheduler(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(100)
	r.worker.upTo.Store(1)
	r.worker.start(t, 2)
	stop := r.run(r.scheduler(nil))
	spec := r.submit(func(s *jobs.Spec) {
		s.ChunkObjects, s.Settings = 2, jobs.Settings{MaxObjects: pointer(int64(60)), MaxDuration: pointer(time.Hour)}
	})
	for range 3 {
		r.someChunks(2)
		stop()
		stop = r.run(r.scheduler(nil))
	}
	r.worker.upTo.Store(0)
	r.waitState(spec.ID, jobs.StatePaused)
	if st, err := r.client.Status(r.ctx, r.target, spec.ID); err != nil || st.Counts.Objects != 60 || !st.State.Budget.Used {
		t.Errorf("%d objects after restarts, %+v (%v)", st.Counts.Objects, st.State, err)
	}
	stop()
	state, _, err := getJSON[jobs.StateRecord](r.ctx, r.bucket(r.target), jobs.Folder(spec.ID).State())
	if err != nil {
		t.Fatal(err)
	}
	state.Budget.Seconds = 3599.99
	if err := (folder{b: r.bucket(r.target), id: spec.ID}).putJSON(r.ctx, jobs.Folder(spec.ID).State(), state, true); err != nil {
		t.Fatal(err)
	}
	if err := r.conn.Job(spec.ID).Forget(r.ctx); err != nil {
		t.Fatal(err)
	}
	r.control(spec.ID, jobs.Control{Settings: jobs.Settings{MaxObjects: pointer(int64(0))}})
	r.worker.upTo.Store(r.worker.chunks.Load() + 1) // the job must not be done before its time is looked at
	r.run(r.scheduler(nil))
	r.waitState(spec.ID, jobs.StatePausing)
	r.worker.upTo.Store(0)
	r.wait("the budget of time to be used up", func() bool {
		st, err := r.client.Status(r.ctx, r.target, spec.ID)
		return err == nil && st.State.State == jobs.StatePaused && strings.Contains(st.State.Reason, "budget of 1h0m0s")
	})
}

// control changes what the operator of a job wants.
func (r *rig) control(id string, ctl jobs.Control) {
	r.t.Helper()
	if err := r.client.Control(r.ctx, r.target, id, ctl); err != nil {
		r.t.Fatal(err)
	}
}
