package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

func (p *program) report() *cobra.Command {
	var failed, all bool
	cmd := p.jobVerb("report DST [JOB] | JOB", "Show what became of a finished job",
		"Show the report of a job that has ended. --failed lists the objects that failed or\nwere rejected, --all every object; with --json these are the full records.",
		func(cmd *cobra.Command, c *cluster, r ref) error {
			ctx := cmd.Context()
			report, err := c.client.Report(ctx, r.target, r.id)
			if storage.IsNotExist(err) {
				return fmt.Errorf("job %s has not ended, so it has no report; pelmill status shows where it stands", r.id)
			}
			if err != nil {
				return err
			}
			if !failed && !all {
				return p.summary(report)
			}
			return c.client.Results(ctx, r.target, r.id, func(o jobs.Result) error {
				if !all && o.Outcome != jobs.OutcomeFailed && o.Outcome != jobs.OutcomeRejected {
					return nil
				}
				if p.json {
					return p.emit(objectEvent{"object", o})
				}
				_, err := fmt.Fprintln(p.stdout, plain.Line(p.objectText(o)))
				return err
			})
		})
	cmd.Flags().BoolVar(&failed, "failed", false, "list the objects that failed or were rejected")
	cmd.Flags().BoolVar(&all, "all", false, "list every object")
	return cmd
}

// reportEnd prints the summary of a job that has reached the end s, and gives
// the exit code.
func (p *program) reportEnd(ctx context.Context, c *cluster, r ref, s scheduler.Status) error {
	report, err := c.client.Report(ctx, r.target, r.id)
	if err != nil {
		if s.State.Reason != "" {
			return fmt.Errorf("job %s %s: %s", r.id, s.State.State, strings.TrimSuffix(s.State.Reason, "."))
		}
		return err
	}
	if err := p.summary(report); err != nil {
		return err
	}
	return ended(report, s.State.Limit)
}
