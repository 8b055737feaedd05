package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

func (p *program) compress() *cobra.Command {
	j, w, c, notices := &jobFlags{}, &workerFlags{}, &cluster{p: p}, &notifyFlags{}
	var stats time.Duration
	var audit bool
	cmd := &cobra.Command{
		Use:   "compress SRC DST",
		Short: "Compress a folder or bucket into another one",
		Long: `Compress every image of SRC and write the results to DST, with a progress bar and a
summary. Sources are not touched. What is already done, with the same codec and
options, is skipped, so the same command can be repeated: it continues a job that
was interrupted and costs nothing but a listing when there is nothing new (exit
code 0; code 4 is for a source without any object to take).

Without --redis everything runs in this process. With it the job is submitted to
the cluster there and watched; interrupting then ends the watching, not the job.

` + exitHelp,
		Example: `  pelmill compress photos out --codec vq
  pelmill compress s3://archive/scans s3://archive-vq --codec vq -o n=1024 --include '*.png'`,
		GroupID: groupData,
		Args:    arguments(2, 2),
		RunE: j.verb(func(ctx context.Context, spec jobs.Spec) error {
			switch {
			case len(spec.Notify) > 0 && c.redis == "" && notices.secretFile == "":
				return usagef("--notify without --redis needs --notify-secret-file")
			case notices.secretFile != "" && c.redis != "":
				return usagef("--notify-secret-file is for the scheduler, or without --redis")
			}
			var err error
			if c.notify, err = notices.sender(); err != nil {
				return err
			}
			links, err := copyLinks(spec, c.redis)
			if err != nil {
				return err
			}
			if err := j.open(); err != nil {
				return err
			}
			defer j.close()
			spec.AutoStart, spec.FollowUp = true, audit
			if err := c.open(ctx); err != nil {
				return err
			}
			defer c.close()
			// audited writes what is due into the audit trail once the job has ended, whatever that end was.
			audited := func(ended error) error {
				if !audit || ctx.Err() != nil {
					return ended
				}
				if err := auditJobs(ctx, c.client, spec.Source, spec.Target); err != nil {
					return err
				}
				return ended
			}
			c.buckets.CopyLinks = links
			local, err := w.options()
			if err != nil {
				return err
			}
			c.client.Memory = local.Memory
			p.strict = j.strict
			if j.dryRun {
				return p.dryRun(ctx, c, j, spec)
			}
			if c.conn != nil {
				if w.trace != "" {
					return usagef("--trace is of work that is done here: with --redis give it to pelmill worker")
				}
				if spec, err = c.client.Submit(ctx, spec, j.list, j.format); err != nil {
					return err
				}
				p.hintAllow(spec)
				return audited(p.follow(ctx, c, ref{spec.Target, spec.ID}, stats))
			}
			l, err := p.startLocal(ctx, c, w, spec.Device, spec.Codec, stats)
			if err != nil {
				return err
			}
			defer l.stop()
			l.places = []string{spec.Source, spec.Target}
			l.kernels = noKernels(spec.Codec)
			if err := c.readable(ctx, spec.Source); err != nil {
				return err
			}
			if spec, err = l.continueOrSubmit(ctx, j, spec); err != nil {
				return err
			}
			if err := l.endSuperseded(ctx, spec); err != nil {
				return err
			}
			return audited(l.finish(ctx, ref{spec.Target, spec.ID}, spec.Source))
		}),
	}
	j.flags(cmd.Flags(), 0)
	p.pricesFlag(cmd.Flags())
	cmd.Flags().BoolVarP(&j.spec.CopyLinks, "copy-links", "L", false, "follow links to files and folders in SRC, a folder of this machine")
	auditFlag(cmd.Flags(), &audit, "")
	notices.flags(cmd.Flags())
	w.flags(cmd.Flags())
	traceFlag(cmd.Flags(), &w.trace)
	c.flags(cmd.Flags())
	statsFlag(cmd, &stats)
	p.keysFlag(cmd.Flags())
	return cmd
}

// copyLinks gives the folder whose links are followed, nil where none is asked for. Workers elsewhere follow none:
// whoever can write to a folder that they read could show them anything of their machine.
func copyLinks(spec jobs.Spec, redis string) (*storage.CopyLinks, error) {
	switch {
	case !spec.CopyLinks:
		return nil, nil
	case redis != "":
		return nil, usagef("--copy-links is for folders of this machine, without --redis")
	case !strings.HasPrefix(spec.Source, "file://"):
		return nil, usagef("--copy-links is for folders, and %s is a bucket", short(spec.Source))
	case spec.Source == spec.Target:
		return nil, usagef("--copy-links: source and target are the same folder")
	}
	return &storage.CopyLinks{Source: spec.Source, Target: spec.Target}, nil
}

// statsFlag is rclone's --stats.
func statsFlag(cmd *cobra.Command, every *time.Duration) {
	cmd.Flags().DurationVar(every, "stats", 30*time.Second, "time between progress lines where there is no terminal, and between progress events")
}

// dryRunSample is the number of objects that a plan is estimated from.
const dryRunSample = 16

// dryRun shows what a job would do, and writes nothing.
func (p *program) dryRun(ctx context.Context, c *cluster, j *jobFlags, spec jobs.Spec) error {
	if spec.Sample == 0 {
		spec.Sample = dryRunSample
	}
	plan, err := c.jobs.DryRun(ctx, spec, j.list, j.format)
	if err != nil {
		return err
	}
	resolved, err := resolve(spec.Codec, j.options)
	if err != nil {
		return err
	}
	plan.Job, spec.Options = "", resolved.Options.String()
	if err := p.showPlan(spec, plan, true); err != nil {
		return err
	}
	if plan.Objects == 0 {
		return nothing(spec.Source, plan)
	}
	return nil
}

// continueOrSubmit takes up the newest unfinished job that is the same as spec,
// or submits a new one.
func (l *local) continueOrSubmit(ctx context.Context, j *jobFlags, spec jobs.Spec) (jobs.Spec, error) {
	client := l.c.client
	if j.list != nil || j.format != "" {
		return client.Submit(ctx, spec, j.list, j.format)
	}
	id, ok, err := client.FindUnfinished(ctx, spec.Source, spec.Target, spec.Codec, spec.Options, spec.Filter)
	if err != nil {
		return spec, err
	}
	if ok {
		old, err := client.Spec(ctx, spec.Target, id)
		if err != nil {
			return spec, err
		}
		if sameWork(old, spec) {
			if !l.p.quiet && !l.p.json {
				l.display.say("continuing job " + id + ", with the objects listed " + sinceText(old.Created))
			}
			return old, client.Control(ctx, old.Target, id, jobs.Control{Want: jobs.WantRun, Settings: spec.Settings})
		}
	}
	return client.Submit(ctx, spec, j.list, j.format)
}

// sameWork reports whether two jobs of one source, codec and filter also treat
// results alike. What another job has done is not lost: a new one skips it.
func sameWork(a, b jobs.Spec) bool {
	return a.Verify == b.Verify && a.MinPSNR == b.MinPSNR && a.Larger == b.Larger && a.Overwrite == b.Overwrite && a.Reduce == b.Reduce && a.FollowUp == b.FollowUp && a.CopyLinks == b.CopyLinks && a.Limits == b.Limits &&
		(a.Others == b.Others || a.Others == "" && b.Others == "leave") && slices.Equal(a.Again, b.Again)
}

// nothing says why a job has no objects.
func nothing(source string, plan jobs.Plan) error {
	if plan.Filtered > 0 {
		return nothingf("nothing to do: the filters leave out all %s of %s", plural(plan.Filtered, "object"), short(source))
	}
	return nothingf("nothing to do: no object in %s", short(source))
}

// ended gives the exit code of a job that has reached its end.
func (p *program) ended(r jobs.Report, limit bool) error {
	switch {
	case r.State == jobs.StateFailed && limit:
		return &exit{exitLimit, fmt.Errorf("job %s stopped: %s", r.Job, r.Reason)}
	case r.State == jobs.StateFailed:
		return fmt.Errorf("job %s failed: %s", r.Job, r.Reason)
	case r.State == jobs.StateCancelled:
		return errors.New("job " + r.Job + " was cancelled")
	case r.Counts.Objects == 0:
		return nothingf("nothing to do: no object in %s after the filters", short(r.Source))
	}
	if err := outcome(r.Counts); err != nil || !p.strict && !r.Strict {
		return err
	}
	if r.Counts.Unsupported+r.Known[jobs.OutcomeUnsupported]+r.Known[jobs.OutcomeRejected] > 0 {
		return &exit{code: exitFailures}
	}
	return nil
}
