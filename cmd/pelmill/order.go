package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
)

// order makes a verb that writes down what the operator wants of a job. The
// scheduler sees it within seconds, also one that starts later.
func (p *program) order(use, short, long, want string) *cobra.Command {
	var priority int
	var force bool
	cmd := p.jobVerb(use, short, long, func(cmd *cobra.Command, c *cluster, r ref) error {
		ctl := jobs.Control{Want: want, Force: force, At: time.Now().UTC()}
		if cmd.Flags().Changed("priority") {
			if priority < 0 || priority >= jobs.Priorities {
				return usagef("--priority %d: want 0 to %d", priority, jobs.Priorities-1)
			}
			ctl.Priority = &priority
		}
		if err := c.jobs.Control(cmd.Context(), r.target, r.id, ctl); err != nil {
			return err
		}
		if want == jobs.WantCancel {
			s, err := c.jobs.Status(cmd.Context(), r.target, r.id)
			if err != nil {
				return err
			}
			if s.State.State == jobs.StateInterrupted && c.remote == nil {
				if err := p.endInterrupted(cmd.Context(), &scheduler.Client{Buckets: c.buckets}, r); err != nil {
					return err
				}
				p.hint(r.id + " is cancelled; its process had ended before")
				if p.json {
					return p.emit(jobEvent{Type: "job", Job: r.id, Target: r.target, Want: want, State: jobs.StateCancelled})
				}
				return nil
			}
		}
		if p.json {
			return p.emit(jobEvent{Type: "job", Job: r.id, Target: r.target, Want: want})
		}
		p.hint(r.id + ": " + want + " was asked for; pelmill status shows what the scheduler makes of it")
		return nil
	})
	if want == jobs.WantRun {
		cmd.Flags().IntVar(&priority, "priority", 0, "new priority, 0 to 3, higher first")
		cmd.Flags().BoolVar(&force, "force", false, "go on although the failure limit was reached")
	}
	return cmd
}
