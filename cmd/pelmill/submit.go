package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/jobs"
)

func (p *program) submit() *cobra.Command {
	j, c := &jobFlags{}, &cluster{p: p}
	var stats time.Duration
	cmd := &cobra.Command{
		Use:   "submit SRC DST",
		Short: "Submit a job to the cluster at --redis or --server",
		Long: `Submit a job to the schedulers and workers at --redis, or of the
scheduler at --server. A scheduler lists SRC and
plans the job; submit waits for that, prints the plan and leaves the job waiting
for pelmill start. With --yes the job starts by itself and submit returns at once.

The same --token gives the same job again, however often it is submitted.`,
		Example: `  pelmill submit s3://scans s3://scans-vq --codec vq --sample 50 --redis redis://queue:6379
  pelmill submit s3://scans s3://scans-vq --codec vq --manifest inventory.csv --manifest-format inventory --yes`,
		GroupID: groupJobs,
		Args:    arguments(2, 2),
		RunE: j.verb(func(ctx context.Context, spec jobs.Spec) error {
			if !c.connected() && !j.dryRun {
				return usagef("submit needs --redis or --server; pelmill compress does a job without one")
			}
			if c.server.url != "" && j.group != "" && j.manifest == "" {
				return usagef("--group lists the bucket from here, so not with --server: give a --manifest with a column series")
			}
			if err := j.open(); err != nil {
				return err
			}
			defer j.close()
			spec.AutoStart = j.yes
			if err := c.open(ctx); err != nil {
				return err
			}
			defer c.close()
			if j.dryRun {
				return p.dryRun(ctx, c, j, spec)
			}
			spec, err := c.jobs.Submit(ctx, spec, j.list, j.format)
			if err != nil {
				return err
			}
			return p.submitted(ctx, c, spec, stats)
		}),
	}
	j.flags(cmd.Flags(), dryRunSample)
	p.pricesFlag(cmd.Flags())
	c.flags(cmd.Flags())
	c.server.flags(cmd.Flags())
	statsFlag(cmd, &stats)
	return cmd
}

// jobEvent is what --json prints of a submission or an order.
type jobEvent struct {
	Type   string     `json:"type"` // "job"
	Job    string     `json:"job"`
	Source string     `json:"source,omitempty"`
	Target string     `json:"target"`
	State  jobs.State `json:"state,omitempty"`
	Why    string     `json:"why,omitempty"` // why it does not move, or failed
	Want   string     `json:"want,omitempty"`
}

// submitted shows a new job. One that does not start by itself is waited for
// until its plan is there to be looked at.
func (p *program) submitted(ctx context.Context, c *cluster, spec jobs.Spec, stats time.Duration) error {
	name := shellQuote(short(spec.Target)) + " " + spec.ID
	if p.json {
		if err := p.emit(jobEvent{Type: "job", Job: spec.ID, Source: spec.Source, Target: spec.Target, State: jobs.StateNew}); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(p.stdout, plain.Line(spec.ID))
	}
	p.hintAllow(spec)
	if spec.AutoStart {
		p.hint("watch it: pelmill watch " + name)
		return nil
	}
	d := p.display(stats)
	defer d.close()
	var waits waiting
	for {
		s, err := c.jobs.Status(ctx, spec.Target, spec.ID)
		if err != nil {
			return err
		}
		if err := refused(s, spec.ID); err != nil {
			d.close()
			return err
		}
		if err := waits.over(s); err != nil {
			d.close()
			return p.blockedEnd(s, err, "the job is planned when it can be (pelmill plan "+name+")")
		}
		if s.Blocked == "" && planned(s.State.State) {
			d.close()
			if s.State.State == jobs.StateFailed {
				return fmt.Errorf("job %s failed: %s", spec.ID, s.State.Reason)
			}
			plan, err := c.jobs.Plan(ctx, spec.Target, spec.ID)
			if err != nil {
				return err
			}
			if err := p.showPlan(spec, plan, false); err != nil {
				return err
			}
			if plan.Objects == 0 {
				return nothing(spec.Source, plan)
			}
			if s.State.State == jobs.StatePlanned {
				p.hint("start it: pelmill start " + name)
			}
			return nil
		}
		d.update(snapshotOf(s))
		select {
		case <-ctx.Done():
			var signal *interrupted
			if errors.As(context.Cause(ctx), &signal) {
				return &exit{exitInterrupted, fmt.Errorf("interrupted; the job is submitted (pelmill plan %s)", name)}
			}
			return ctx.Err()
		case <-time.After(lookRemote / 2):
		}
	}
}

// hint prints the next command on stderr.
func (p *program) hint(text string) {
	if !p.quiet && !p.json {
		fmt.Fprintln(p.stderr, plain.Line(text))
	}
}
