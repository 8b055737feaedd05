package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/api"
	"github.com/pelmill/pelmill/storage"
)

func (p *program) retry() *cobra.Command {
	w := &workerFlags{}
	var stats time.Duration
	var device, verify string
	var overwrite, yes, damaged bool
	var minPSNR decibels
	var classes []string
	cmd := p.jobVerb("retry DST [JOB] | JOB", "Try the failed objects of a job again",
		`Make a new job of the objects that failed or were rejected, and do it: in this
process, or with --redis or --server on the cluster there (which waits for pelmill start unless
--yes is given). Exit code 4 if nothing had failed.

--damaged takes instead what the last pelmill verify of DST listed as damaged, of all jobs or
of JOB, and makes these results anew.`,
		func(cmd *cobra.Command, c *cluster, r ref) error {
			ctx := cmd.Context()
			if err := checkDevice(device); err != nil {
				return err
			}
			for _, name := range classes {
				if !slices.Contains(class.All(), name) {
					return usagef("--class %q: want one of %s", name, strings.Join(class.All(), ", "))
				}
			}
			here := !c.connected()
			mutate := func(s *jobs.Spec) {
				flags := cmd.Flags()
				if flags.Changed("device") {
					s.Device = device
				}
				if flags.Changed("verify") {
					s.Verify = verify
				}
				if minPSNR.given {
					s.MinPSNR = minPSNR.value
				}
				if flags.Changed("overwrite") {
					s.Overwrite = overwrite
				}
				s.AutoStart = here || yes
			}
			// Its source is what the job's folder says; it must be in the store of the
			// target, which the command line names.
			store, err := storage.Store(r.target)
			if err != nil {
				return err
			}
			again := api.Again{Start: yes, Classes: classes}
			if cmd.Flags().Changed("device") {
				again.Device = device
			}
			if cmd.Flags().Changed("verify") {
				again.Verify = verify
			}
			if minPSNR.given {
				again.MinPSNR = &minPSNR.value
			}
			if cmd.Flags().Changed("overwrite") {
				again.Overwrite = &overwrite
			}
			if damaged && len(classes) > 0 {
				return usagef("--damaged and --class cannot be given together")
			}
			if damaged {
				only := ""
				if len(cmd.Flags().Args()) == 2 {
					only = r.id
				}
				repair := func() ([]jobs.Spec, error) {
					if c.remote != nil {
						return c.remote.RepairDamaged(ctx, r.target, only, again)
					}
					return c.client.RepairDamaged(ctx, r.target, only, mutate)
				}
				return p.retryDamaged(r.target, repair, func(spec jobs.Spec) error {
					if !here {
						return p.submitted(ctx, c, spec, stats)
					}
					own := &cluster{p: p}
					if err := own.open(ctx); err != nil {
						return err
					}
					defer own.close()
					l, err := p.startLocal(ctx, own, w, device, spec.Codec, stats)
					if err != nil {
						return err
					}
					defer l.stop()
					l.places = append([]string{r.target, store}, c.allow.prefixes...)
					return errors.Join(l.finish(ctx, ref{spec.Target, spec.ID}, spec.Source), l.close(ctx))
				})
			}
			report, err := c.jobs.Report(ctx, r.target, r.id)
			if err != nil {
				return err
			}
			if report.Counts.Bad() == 0 {
				known := ""
				if n := report.Known[jobs.OutcomeRejected]; n > 0 {
					known = fmt.Sprintf("; %s rejected are known from before, pelmill compress --again rejected judges them anew", countText(n))
				}
				return nothingf("nothing to do: no object of job %s failed%s", r.id, known)
			}
			var l *local
			if here {
				if l, err = p.startLocal(ctx, c, w, device, "", stats); err != nil {
					return err
				}
				defer l.stop()
				l.places = append([]string{r.target, store}, c.allow.prefixes...)
			}
			var spec jobs.Spec
			if c.remote != nil {
				spec, err = c.remote.Retry(ctx, r.id, again)
			} else {
				spec, err = c.client.Retry(ctx, r.target, r.id, classes, mutate)
			}
			if errors.Is(err, scheduler.ErrNothing) {
				return nothingf("nothing to do: no object of job %s failed with %s", r.id, strings.Join(classes, " or "))
			}
			if err != nil {
				return err
			}
			if here {
				return l.finish(ctx, ref{spec.Target, spec.ID}, spec.Source)
			}
			return p.submitted(ctx, c, spec, stats)
		})
	flags := cmd.Flags()
	w.flags(flags)
	traceFlag(flags, &w.trace)
	statsFlag(cmd, &stats)
	flags.StringVar(&device, "device", "auto", "`DEVICE` that encodes: auto, cpu, cuda or cuda:N")
	flags.StringVar(&verify, "verify", "full", "`HOW` results are checked, if otherwise than before")
	flags.Var(&minPSNR, "min-psnr", "reject lossy results below so many `DB`, if otherwise than before; 0 is no floor")
	flags.BoolVar(&overwrite, "overwrite", false, "replace what is in the way in the target, unless a job that has not ended owns it")
	flags.StringSliceVar(&classes, "class", nil, "only objects whose error is of this `CLASS`, such as storage; separated by commas")
	flags.BoolVar(&damaged, "damaged", false, "make the results anew that the last pelmill verify listed as damaged")
	flags.BoolVarP(&yes, "yes", "y", false, "with --redis or --server: start without waiting for pelmill start")
	return cmd
}
