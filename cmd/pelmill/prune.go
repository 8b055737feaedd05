package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

func (p *program) prune() *cobra.Command {
	c := &cluster{p: p}
	var last int
	var within string
	var yes bool
	cmd := &cobra.Command{
		Use:   "prune DST",
		Short: "Take old jobs of a target away, and keep what they have done",
		Long: `Take jobs of DST that have ended away, but for those that --keep-last or --keep-within
keep of each source. What they have done stays done: what is in DST and the verdicts that were
found go into one list for each source, codec and options. Their reports, lists of failures and
logs of the work are gone.

Without --yes it only says what it would do. It can be killed and repeated at any time, also
while jobs run.`,
		Example: "  pelmill prune s3://scans-vq --keep-last 3 --keep-within 14d --yes",
		GroupID: groupJobs,
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			rule := scheduler.PruneRule{KeepLast: last}
			now := time.Now()
			if within != "" {
				at, err := jobs.ParseAge(within, now)
				if err != nil || at.IsZero() {
					return usagef("--keep-within %q: want a duration such as 36h, 14d or 6M", within)
				}
				rule.KeepWithin = now.Sub(at)
			}
			if last < 0 || last == 0 && rule.KeepWithin <= 0 {
				return usagef("prune needs --keep-last or --keep-within above 0")
			}
			target, err := storage.Canonical(args[0])
			if err != nil {
				return &exit{exitUsage, err}
			}
			if err := c.open(ctx); err != nil {
				return err
			}
			defer c.close()
			done, err := c.client.Prune(ctx, target, rule, !yes)
			if err != nil {
				return err
			}
			return p.showPruned(target, done, !yes)
		},
	}
	c.flags(cmd.Flags())
	cmd.Flags().IntVar(&last, "keep-last", 0, "keep the newest `N` jobs of each source")
	cmd.Flags().StringVar(&within, "keep-within", "", "keep jobs submitted so long before the newest of their source: a `DURATION` such as 36h, 14d or 6M")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do it")
	return cmd
}

// pruneEvent is what --json prints of a prune.
type pruneEvent struct {
	Type    string   `json:"type"` // "prune"
	Target  string   `json:"target"`
	DryRun  bool     `json:"dry_run"`
	Jobs    []string `json:"jobs"` // taken away
	Kept    []string `json:"kept"`
	Records int64    `json:"records"` // that went into lists
	Lists   []string `json:"lists"`
	Objects int64    `json:"objects"` // of the folders taken away
	Bytes   int64    `json:"bytes"`
}

func (p *program) showPruned(target string, d scheduler.Pruned, dry bool) error {
	if p.json {
		return p.emit(pruneEvent{"prune", target, dry, d.Jobs, d.Kept, d.Records, d.Lists, d.Objects, d.Bytes})
	}
	if p.quiet {
		return nil
	}
	if len(d.Jobs) == 0 {
		fmt.Fprintf(p.stdout, "nothing to prune; %s kept\n", plural(int64(len(d.Kept)), "job"))
		return nil
	}
	does := "took"
	if dry {
		does = "would take"
	}
	rows(p.stdout, [][]string{
		{"prune", fmt.Sprintf("%s %s away, %s to %s", does, plural(int64(len(d.Jobs)), "job"), d.Jobs[0], d.Jobs[len(d.Jobs)-1])},
		{"freed", fmt.Sprintf("%s, %s", plural(d.Objects, "object"), bytesText(d.Bytes))},
		{"kept", plural(int64(len(d.Kept)), "job")},
		{"done", strings.TrimSpace(plural(d.Records, "record") + " stay in " + strings.Join(d.Lists, ", "))},
	})
	if dry {
		fmt.Fprintln(p.stdout, "dry run: --yes does it")
	}
	return nil
}
