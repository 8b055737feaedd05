package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

func (p *program) report() *cobra.Command {
	var failed, all, hashKeys bool
	var outcomes []string
	var html string
	cmd := p.jobVerb("report DST [JOB] | JOB", "Show what became of a finished job",
		`Show the report of a job that has ended. --outcome lists the objects with one of these
outcomes: compressed, kept, unsupported, rejected, failed; of kept, unsupported and rejected
ones also those that the job skipped because an earlier one had found that. --failed lists the
objects that failed or were rejected, --all every object of the job; with --json these are the
full records. Keys of DICOM and NIfTI objects, which may name patients, are hashed; --show-keys
shows them.

Beside the report lies report.html for people: the verdict, saving by folder and type, how
ratio, PSNR and SSIM are distributed, throughput over time, stages, devices, the worst and the
largest objects, failures, and the hashes of the files with the records, in one file that needs
no other. --html makes it anew, also of jobs that have none. Names of DICOM and NIfTI files are
hashed in it, with --hash-keys all names.`,
		func(cmd *cobra.Command, c *cluster, r ref) error {
			ctx := cmd.Context()
			if p.showKeys && c.server.url != "" {
				return usagef("--show-keys needs the target: the server of --server does not give keys of DICOM and NIfTI objects away")
			}
			wanted, err := wantedOutcomes(outcomes, failed, all)
			if err != nil {
				return err
			}
			if html != "" && wanted != nil {
				return usagef("--html makes the whole report: leave --outcome, --failed and --all out")
			}
			report, err := c.jobs.Report(ctx, r.target, r.id)
			if storage.IsNotExist(err) || errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("job %s has not ended, so it has no report; pelmill status shows where it stands", r.id)
			}
			if err != nil {
				return err
			}
			if html != "" {
				page, err := c.client.ReportPage(ctx, r.target, r.id, hashKeys)
				if err != nil {
					return err
				}
				return writeNew(html, page)
			}
			if wanted == nil {
				return p.summary(report)
			}
			show := func(o jobs.Result) error {
				if !slices.Contains(wanted, o.Outcome) {
					return nil
				}
				if p.json {
					return p.emit(objectEvent{"object", p.shown(o, "--show-keys shows the text")})
				}
				_, err := fmt.Fprintln(p.stdout, plain.Line(p.objectText(p.shown(o, "--show-keys shows the text"))))
				return err
			}
			if err := c.jobs.Results(ctx, r.target, r.id, show); err != nil || len(outcomes) == 0 {
				return err
			}
			return c.jobs.Known(ctx, r.target, r.id, show)
		})
	cmd.Flags().StringSliceVar(&outcomes, "outcome", nil, "list the objects with these `OUTCOMES`, separated by commas")
	p.keysFlag(cmd.Flags())
	cmd.Flags().BoolVar(&failed, "failed", false, "list the objects that failed or were rejected")
	cmd.Flags().BoolVar(&all, "all", false, "list every object")
	cmd.Flags().StringVar(&html, "html", "", "write the report for people to the new `FILE`")
	cmd.Flags().BoolVar(&hashKeys, "hash-keys", false, "with --html: put hashes in place of object keys")
	return cmd
}

// wantedOutcomes are those of the objects to list; nil: the summary is asked for.
func wantedOutcomes(names []string, failed, all bool) (wanted []jobs.Outcome, err error) {
	if all {
		return jobs.Outcomes(), nil
	}
	for _, name := range names {
		o := jobs.Outcome(strings.TrimSpace(name))
		if !slices.Contains(jobs.Outcomes(), o) || o == jobs.OutcomeSkipped {
			return nil, usagef("--outcome %q: want compressed, kept, unsupported, rejected or failed", name)
		}
		wanted = append(wanted, o)
	}
	if failed {
		wanted = append(wanted, jobs.OutcomeFailed, jobs.OutcomeRejected)
	}
	return wanted, nil
}

// reportEnd prints the summary of a job that has reached the end s, and gives
// the exit code.
func (p *program) reportEnd(ctx context.Context, c *cluster, r ref, s scheduler.Status) error {
	report, err := c.jobs.Report(ctx, r.target, r.id)
	if err != nil {
		// Who wrote the state was killed before it wrote the report.
		if s.State.Reason != "" && s.State.Limit {
			return &exit{exitLimit, fmt.Errorf("job %s stopped: %s", r.id, s.State.Reason)}
		}
		if s.State.Reason != "" {
			return fmt.Errorf("job %s %s: %s", r.id, s.State.State, strings.TrimSuffix(s.State.Reason, "."))
		}
		return err
	}
	if err := p.summary(report); err != nil {
		return err
	}
	return p.ended(report, s.State.Limit)
}
