package scheduler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
)

// However often Redis goes away, its jobs are looked at again within seconds of its return; what fails for another reason
// is tried more and more rarely, until it has gone well for a while.
func TestDelays(t *testing.T) {
	t.Parallel()
	away := fmt.Errorf("queue: read progress: %w: connection refused", queue.ErrUnreachable)
	var outages, failures delays
	for n := range 10 {
		if got := outages.after(away, time.Second); got > mostOffline {
			t.Errorf("outage %d: the job waits for %v, want at most %v", n, got, mostOffline)
		}
		want := min(firstDelay<<n, mostDelay)
		if got := failures.after(errors.New("other"), time.Second); got != want {
			t.Errorf("failure %d: the job waits for %v, want %v", n, got, want)
		}
	}
	if got := failures.after(errors.New("other"), 2*mostDelay); got != firstDelay {
		t.Errorf("after a long time without an error the job waits for %v, want %v", got, firstDelay)
	}
}

// A job whose queue is in the same process goes from its submission to its report although the scheduler's next look is
// an hour away: commits are told. Whoever is told of the end finds the report.
func TestAJobOfOneProcessNeedsNoTicks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(25)
	r.worker.start(t, 2)
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 5 })
	ended := make(chan string, 1)
	r.run(r.scheduler(&Options{Tick: time.Hour, Ended: func(job string) {
		if report, err := r.client.Report(r.ctx, r.target, job); err != nil || report.State != jobs.StateDone {
			t.Errorf("%s is told to have ended: %+v, %v", job, report, err)
		}
		ended <- job
	}}))
	select {
	case job := <-ended:
		if job != spec.ID {
			t.Errorf("job %s has ended, want %s", job, spec.ID)
		}
	case <-r.ctx.Done():
		t.Fatal("nobody says that the job has ended", r.jobsNow())
	}
	if report := r.ended(spec.ID); report.Chunks != 5 || report.Counts.Compressed != 25 {
		t.Errorf("report %+v, want 25 objects in 5 chunks", report)
	}
}
