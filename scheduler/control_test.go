package scheduler

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
)

func TestPauseResumeAndCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(200)
	r.worker.upTo.Store(1)
	r.worker.start(t, 2)
	r.run(r.scheduler(nil))
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects, s.AutoStart = 4, false })
	control := func(ctl jobs.Control) {
		t.Helper()
		if err := r.client.Control(r.ctx, r.target, spec.ID, ctl); err != nil {
			t.Fatal(err)
		}
	}
	r.waitState(spec.ID, jobs.StatePlanned)
	if st, err := r.client.Status(r.ctx, r.target, spec.ID); err != nil || st.Why != "waits for start" || st.Objects != 200 {
		t.Errorf("planned: %+v (%v)", st, err)
	}
	control(jobs.Control{Want: jobs.WantRun})
	r.someChunks(4)
	control(jobs.Control{Want: jobs.WantPause})
	r.waitState(spec.ID, jobs.StatePausing)
	r.worker.upTo.Store(0)
	r.waitState(spec.ID, jobs.StatePaused)
	st, err := r.client.Status(r.ctx, r.target, spec.ID)
	if err != nil || st.Why != "paused by the operator" || st.Depth.Waiting() != 0 || st.Done == 0 || st.Done == st.Chunks {
		t.Errorf("paused: %+v (%v)", st, err)
	}
	r.wait("the chunks at work to end", func() bool {
		d, err := r.conn.Tasks(0).Depth(r.ctx)
		return err == nil && d == queue.Depth{}
	})
	before := r.worker.chunks.Load()
	r.worker.upTo.Store(before + 1)
	time.Sleep(200 * time.Millisecond) // ten ticks, in which nothing may be fed
	if after := r.worker.chunks.Load(); after != before {
		t.Errorf("%d chunks were done in a pause", after-before)
	}
	three := 3
	control(jobs.Control{Want: jobs.WantRun, Settings: jobs.Settings{Priority: &three}})
	r.someChunks(4)
	control(jobs.Control{Want: jobs.WantCancel})
	report := r.ended(spec.ID)
	if report.State != jobs.StateCancelled || report.Attempted == 0 || report.Attempted == report.Chunks || report.Counts.Compressed == 0 {
		t.Errorf("report %+v", report)
	}
	if st, err := r.client.Status(r.ctx, r.target, spec.ID); err != nil || st.State.State != jobs.StateCancelled {
		t.Errorf("cancelled: %+v (%v)", st.State, err)
	}
	for p := range jobs.Priorities {
		if d, err := r.conn.Tasks(p).Depth(r.ctx); err != nil || d.Waiting() != 0 {
			t.Errorf("priority %d: %+v (%v)", p, d, err)
		}
	}
	r.worker.upTo.Store(0)
	next := r.ended(r.submit(nil).ID)
	if c := next.Counts; c.Skipped < report.Counts.Compressed || c.Objects != 200 || c.Failed != 0 {
		t.Errorf("the next job: %+v, want %d skipped at least", c, report.Counts.Compressed)
	}
}

func TestPriorityChangesWhileAJobRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(200)
	r.worker.upTo.Store(1)
	r.worker.start(t, 2)
	r.run(r.scheduler(nil))
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 4 })
	r.wait("a chunk", func() bool { return r.worker.chunks.Load() > 0 })
	three := 3
	if err := r.client.Control(r.ctx, r.target, spec.ID, jobs.Control{Settings: jobs.Settings{Priority: &three}}); err != nil {
		t.Fatal(err)
	}
	r.wait("tasks of priority 3", func() bool { d, err := r.conn.Tasks(3).Depth(r.ctx); return err == nil && d.Waiting() > 0 })
	r.worker.upTo.Store(0)
	if c := r.ended(spec.ID).Counts; c.Compressed != 200 {
		t.Errorf("%+v", c)
	}
}

func TestCancelBeforeStart(t *testing.T) {
	r := newRig(t)
	r.fill(20)
	r.run(r.scheduler(nil))
	spec := r.submit(func(s *jobs.Spec) { s.AutoStart = false })
	r.waitState(spec.ID, jobs.StatePlanned)
	if err := r.client.Control(r.ctx, r.target, spec.ID, jobs.Control{Want: jobs.WantCancel}); err != nil {
		t.Fatal(err)
	}
	if report := r.ended(spec.ID); report.State != jobs.StateCancelled || report.Chunks == 0 || report.Attempted != 0 {
		t.Errorf("%+v", report)
	}
}

func TestTheBreakerStopsAJobAndForceGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(200)
	r.worker.outcome = func(jobs.Entry) jobs.Outcome { return jobs.OutcomeFailed }
	r.worker.delay = 10 * time.Millisecond
	r.worker.start(t, 1)
	r.run(r.scheduler(&Options{Window: 4}))
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 10 })
	report := r.ended(spec.ID)
	if report.State != jobs.StateFailed || report.Attempted < 10 || report.Attempted == 20 || !strings.Contains(report.Reason, "failed or were rejected") || report.FailedList == "" {
		t.Fatalf("report %+v", report)
	}
	st, err := r.client.Status(r.ctx, r.target, spec.ID)
	if err != nil || !st.State.Limit || st.State.State != jobs.StateFailed {
		t.Errorf("status %+v (%v)", st.State, err)
	}
	if err := r.client.Control(r.ctx, r.target, spec.ID, jobs.Control{Want: jobs.WantRun, Force: true}); err != nil {
		t.Fatal(err)
	}
	r.wait("the report of the rest", func() bool {
		report, err = r.client.Report(r.ctx, r.target, spec.ID)
		return err == nil && report.State == jobs.StateDone
	})
	if report = r.ended(spec.ID); report.Counts.Failed != 200 || report.Attempted != 20 {
		t.Errorf("report %+v", report)
	}
}

func TestASourceThatIsMissingFailsTheJobUntilItIsResumed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newRigOn(t, "", filepath.Join(dir, "src"), filepath.Join(dir, "dst"))
	r.worker.start(t, 1)
	r.run(r.scheduler(nil))
	spec := r.submit(nil)
	report := r.ended(spec.ID)
	if report.State != jobs.StateFailed || !strings.Contains(report.Reason, "list the source") {
		t.Fatalf("report %+v", report)
	}
	r.fill(3)
	if err := r.client.Control(r.ctx, r.target, spec.ID, jobs.Control{Want: jobs.WantRun}); err != nil {
		t.Fatal(err)
	}
	r.wait("its end", func() bool {
		report, err := r.client.Report(r.ctx, r.target, spec.ID)
		return err == nil && report.State == jobs.StateDone && report.Counts.Compressed == 3
	})
}

func TestHours(t *testing.T) {
	r := newRig(t)
	r.fill(20)
	r.worker.start(t, 1)
	open := make(chan struct{})
	now := func() time.Time {
		select {
		case <-open:
			return time.Date(2026, 1, 1, 23, 0, 0, 0, time.Local)
		default:
			return time.Date(2026, 1, 1, 12, 0, 0, 0, time.Local)
		}
	}
	r.run(r.scheduler(&Options{Now: now}))
	spec := r.submit(func(s *jobs.Spec) { s.Hours = "22:00-06:00" })
	r.wait("the reason", func() bool {
		st, err := r.client.Status(r.ctx, r.target, spec.ID)
		return err == nil && st.Why == "outside the hours 22:00-06:00" && st.State.State == jobs.StateRunning
	})
	close(open)
	if c := r.ended(spec.ID).Counts; c.Compressed != 20 {
		t.Errorf("%+v", c)
	}
}

func TestStatusSaysWhyNothingMoves(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(20)
	spec := r.submit(nil)
	why := func() string {
		st, err := r.client.Status(r.ctx, r.target, spec.ID)
		if err != nil {
			t.Fatal(err)
		}
		return st.Why
	}
	if got := why(); got != "no scheduler is running" {
		t.Errorf("without a scheduler: %q", got)
	}
	r.run(r.scheduler(nil))
	r.waitState(spec.ID, jobs.StateRunning)
	r.wait("the reason", func() bool { return why() == "no worker is connected" })
	r.worker.start(t, 1)
	r.ended(spec.ID)
	if got := why(); got != "" {
		t.Errorf("at the end: %q", got)
	}
	alone := &Client{Buckets: r.buckets}
	if st, err := alone.Status(r.ctx, r.target, spec.ID); err != nil || st.State.State != jobs.StateDone {
		t.Errorf("without a queue: %+v (%v)", st.State, err)
	}
	if _, err := alone.Status(r.ctx, r.target, "20200101-000000-aaaa"); !errors.Is(err, ErrNoJob) {
		t.Errorf("a job that does not exist: %v", err)
	}
}

func TestATokenSubmitsOnce(t *testing.T) {
	r := newRig(t)
	a := r.submit(func(s *jobs.Spec) { s.Token, s.AutoStart = "t1", false })
	b := r.submit(func(s *jobs.Spec) { s.Token, s.AutoStart = "t1", false })
	c := r.submit(func(s *jobs.Spec) { s.Token, s.AutoStart = "t2", false })
	if a.ID != b.ID || a.ID == c.ID {
		t.Errorf("ids %s, %s and %s", a.ID, b.ID, c.ID)
	}
	list, err := r.client.List(r.ctx, r.target)
	if err != nil || len(list) != 2 {
		t.Errorf("%d jobs (%v)", len(list), err)
	}
}

func TestSubmitRefusesWhatCannotWork(t *testing.T) {
	r := newRig(t)
	for what, spec := range map[string]jobs.Spec{
		"codec":    {Source: r.source, Target: r.target, Codec: "none"},
		"option":   {Source: r.source, Target: r.target, Codec: "tiny", Options: "x=1"},
		"asset":    {Source: r.source, Target: r.target, Codec: "tiny", Options: "book=/does/not/exist"},
		"filter":   {Source: r.source, Target: r.target, Codec: "tiny", Filter: jobs.Filter{Include: []string{"["}}},
		"hours":    {Source: r.source, Target: r.target, Codec: "tiny", Hours: "late"},
		"bucket":   {Source: "ftp://x", Target: r.target, Codec: "tiny"},
		"in place": {Source: r.source, Target: r.source, Codec: "tiny", Larger: "copy"},
	} {
		if _, err := r.client.Submit(r.ctx, spec, nil, ""); err == nil {
			t.Errorf("a wrong %s is accepted", what)
		}
	}
	if ids, err := jobIDs(r.ctx, r.bucket(r.target)); err != nil || len(ids) != 0 {
		t.Errorf("jobs %v (%v)", ids, err)
	}
}
