package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

func (p *program) watch() *cobra.Command {
	var stats time.Duration
	cmd := p.jobVerb("watch DST [JOB] | JOB", "Show a job's progress until it ends",
		`Show the progress of a job until it ends, then its summary. Interrupting ends the
watching, not the job. The exit code is that of the job, or 8 where nothing of it can
be done for a minute because the target, Redis or a temporary folder takes no more.`,
		func(cmd *cobra.Command, c *cluster, r ref) error {
			return p.follow(cmd.Context(), c, r, stats)
		})
	statsFlag(cmd, &stats)
	p.keysFlag(cmd.Flags())
	return cmd
}

// follow watches a job that others do.
func (p *program) follow(ctx context.Context, c *cluster, r ref, stats time.Duration) error {
	d := p.display(stats)
	status, err := p.await(ctx, c, r, d, nil, nil)
	d.close()
	var signal *interrupted
	switch {
	case errors.As(context.Cause(ctx), &signal):
		return &exit{exitInterrupted, fmt.Errorf("interrupted; job %s goes on (pelmill watch %s %s)", r.id, shellQuote(short(r.target)), r.id)}
	case err != nil:
		return p.blockedEnd(status, err, "job "+r.id+" goes on when it can (pelmill watch "+shellQuote(short(r.target))+" "+r.id+")")
	}
	if p.json {
		err := c.jobs.Results(ctx, r.target, r.id, func(o jobs.Result) error {
			d.object(o)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return p.reportEnd(ctx, c, r, status)
}

// The time between looks at a job. A look costs a few requests and, in a large
// job, the reading of its plan; it takes at most a twentieth of the time.
const (
	lookLocal  = 200 * time.Millisecond
	lookRemote = time.Second
	lookShare  = 20
)

// await shows a job on d until it ends. live, where given, counts the objects
// that this process has done, ahead of the chunks that are committed, and ended has a value when this process has
// written the job's report.
func (p *program) await(ctx context.Context, c *cluster, r ref, d *display, live func() jobs.Counts, ended <-chan struct{}) (scheduler.Status, error) {
	every := lookRemote
	if live != nil {
		every = lookLocal
	}
	var waits waiting
	shown := false       // the plan
	var base jobs.Counts // when the plan was shown
	var known scheduler.Status
	for {
		start := time.Now()
		s, err := c.jobs.Status(ctx, r.target, r.id)
		if err != nil {
			return s, err
		}
		if s.Offline {
			s = s.With(known) // what is done is not forgotten with Redis
		} else {
			known = s
		}
		if err := refused(s, r.id); err != nil {
			return s, err
		}
		if s.State.State == jobs.StateInterrupted {
			return s, interruptedError(s)
		}
		if !shown && planned(s.State.State) {
			plan, err := c.jobs.Plan(ctx, r.target, r.id)
			if err == nil {
				shown, base = true, s.Counts
				err = p.showPlanOn(d, s.Spec, plan)
				d.release()
			}
			if err != nil && !storage.IsNotExist(err) && !errors.Is(err, fs.ErrNotExist) {
				return s, err
			}
		}
		if s.State.State.Terminal() {
			d.update(snapshotOf(s))
			return s, c.awaitReport(ctx, r)
		}
		if err := waits.over(s); err != nil {
			return s, err
		}
		if s.BudgetUsed() {
			return s, &exit{exitLimit, fmt.Errorf("job %s is paused: %s", r.id, s.State.Reason)}
		}
		over := false
		for next := start.Add(max(every, lookShare*time.Since(start))); !over; {
			now := snapshotOf(s)
			if live != nil {
				now.workers = 0 // this process
				if now.why == scheduler.NoWorker {
					now.why = "waits for the device"
				}
				ahead := base
				ahead.Plus(live())
				if ahead.Objects > now.counts.Objects && ahead.Objects <= now.total {
					now.counts = ahead
				}
			}
			d.update(now)
			if !time.Now().Before(next) {
				break
			}
			if live != nil && c.reported(ctx, r) {
				break
			}
			select {
			case <-ctx.Done():
				return s, context.Cause(ctx)
			case <-ended:
				over = true
			case <-time.After(min(lookLocal, time.Until(next))):
			}
		}
	}
}

// reportWait is how long a job that has ended is given to write its report.
const reportWait = 30 * time.Second

// awaitReport waits for the report of a job that has ended. The state of a failed job is written before it, and who
// writes it may be of this process and end with it. Where nobody does within reportWait, the job's scheduler was killed.
func (c *cluster) awaitReport(ctx context.Context, r ref) error {
	for end := time.Now().Add(reportWait); time.Now().Before(end); {
		if _, err := c.jobs.Report(ctx, r.target, r.id); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookLocal / 2):
		}
	}
	return nil
}

// reported looks whether a job has its report, which is its end. It is cheaper
// than the whole status.
func (c *cluster) reported(ctx context.Context, r ref) bool {
	b, err := c.buckets.Open(ctx, r.target)
	if err != nil {
		return false
	}
	_, _, err = storage.Stat(ctx, b, jobs.Folder(r.id).Report())
	return err == nil
}

// planned reports whether a job in this state has a plan.
func planned(s jobs.State) bool { return s != jobs.StateNew && s != jobs.StatePreparing }
