package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

// failedJob is a job over its limit of failures, whose report comes only after it was asked for some times.
type failedJob struct {
	engine
	missing int // how often the report is not there yet
	asked   int
}

func (j *failedJob) Status(context.Context, string, string) (scheduler.Status, error) {
	var st scheduler.Status
	st.State.State, st.State.Reason, st.State.Limit = jobs.StateFailed, "too many failed", true
	return st, nil
}

func (j *failedJob) Plan(context.Context, string, string) (jobs.Plan, error) {
	return jobs.Plan{}, fs.ErrNotExist
}

func (j *failedJob) Report(context.Context, string, string) (jobs.Report, error) {
	if j.asked++; j.asked <= j.missing {
		return jobs.Report{}, fs.ErrNotExist
	}
	return jobs.Report{Job: "job", State: jobs.StateFailed, Reason: "too many failed", Counts: jobs.Counts{Objects: 2, Rejected: 2}}, nil
}

// A job's state says that it failed before its report is there. Who waits for its end waits for both, and so shows the
// summary; an interruption ends the waiting.
func TestTheReportOfAFailedJobIsAwaited(t *testing.T) {
	var stdout bytes.Buffer
	p := &program{json: true, stdout: &stdout, stderr: &bytes.Buffer{}}
	c := &cluster{jobs: &failedJob{missing: 2}}
	d := p.display(time.Hour)
	defer d.close()
	status, err := p.await(t.Context(), c, ref{id: "job"}, d, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var end *exit
	if err := p.reportEnd(t.Context(), c, ref{id: "job"}, status); !errors.As(err, &end) || end.code != exitLimit {
		t.Errorf("it ends with %v, want exit code %d", err, exitLimit)
	}
	if !strings.Contains(stdout.String(), `"type":"summary"`) {
		t.Errorf("no summary in %s", &stdout)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	c.jobs = &failedJob{missing: 1 << 30}
	if _, err := p.await(ctx, c, ref{id: "job"}, d, nil, nil); !errors.Is(err, stop) {
		t.Errorf("an interrupted wait ends with %v", err)
	}
}

// waitingJob waits for a worker at the first look and has failed at the next one.
type waitingJob struct {
	failedJob
	looked bool
}

func (j *waitingJob) Status(ctx context.Context, target, id string) (scheduler.Status, error) {
	st, err := j.failedJob.Status(ctx, target, id)
	if !j.looked {
		j.looked, st.State.State, st.Why = true, jobs.StateRunning, scheduler.NoWorker
	}
	return st, err
}

// A command that does a job itself has no worker before its device is open, and says so.
func TestTheDeviceIsWaitedFor(t *testing.T) {
	var stdout bytes.Buffer
	p := &program{json: true, stdout: &stdout, stderr: &bytes.Buffer{}}
	c := &cluster{jobs: &waitingJob{}, buckets: storage.NewBuckets()}
	defer c.buckets.Close()
	d := p.display(time.Hour)
	defer d.close()
	live := func() jobs.Counts { return jobs.Counts{} }
	if _, err := p.await(t.Context(), c, ref{target: "mem://target", id: "job"}, d, live, nil); err != nil {
		t.Fatal(err)
	}
	if text := stdout.String(); !strings.Contains(text, "waits for the device") || strings.Contains(text, scheduler.NoWorker) {
		t.Errorf("printed:\n%s", text)
	}
}
