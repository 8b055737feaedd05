package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker"
)

// repairable are the damaged results that can be made anew.
func repairable(all []jobs.Damage) (some []jobs.Damage) {
	return slices.DeleteFunc(slices.Clone(all), func(d jobs.Damage) bool { return !d.Repairable() })
}

// repairAll makes damaged results anew, checks them again and corrects the summary.
// It gives those that are still damaged.
func (v *verification) repairAll(ctx context.Context, c *checking, damaged []jobs.Damage, end *verifyEvent) ([]jobs.Damage, error) {
	todo := repairable(damaged)
	if len(todo) == 0 {
		return damaged, nil
	}
	made, err := c.client.Repair(ctx, c.target.URL, todo, func(s *jobs.Spec) { s.AutoStart, s.Device = true, v.device })
	if err != nil {
		return damaged, err
	}
	why := map[string]string{} // by the key of the source
	for _, spec := range made {
		if err := v.runRepair(ctx, spec); err != nil {
			return damaged, err
		}
		err := c.client.Results(ctx, spec.Target, spec.ID, func(r jobs.Result) error {
			if r.Outcome != jobs.OutcomeCompressed {
				why[r.Key] = fmt.Sprintf("%s: %s", r.Outcome, r.Error)
			}
			return nil
		})
		if err != nil {
			return damaged, err
		}
	}
	keys := map[string]bool{}
	for _, d := range todo {
		keys[d.Target] = true
	}
	_, still, err := c.run(ctx, keys)
	if err != nil {
		return damaged, err
	}
	left := slices.DeleteFunc(slices.Clone(damaged), func(d jobs.Damage) bool {
		return keys[d.Target] && !slices.ContainsFunc(still, func(s jobs.Damage) bool { return s.Target == d.Target && s.Key == d.Key })
	})
	end.Repaired = int64(len(damaged) - len(left))
	end.Good += end.Repaired
	end.Problems = map[string]int64{}
	shown := v.p.display(v.stats)
	defer shown.close()
	for i := range left {
		d := &left[i]
		for _, s := range still {
			if s.Target == d.Target && s.Key == d.Key {
				d.Problem, d.Error, d.Size, d.SHA256 = s.Problem, s.Error, s.Size, s.SHA256
			}
		}
		end.Problems[d.Problem]++
		text := d.Error
		if reason := why[d.Key]; reason != "" {
			text = "not made anew, " + reason
		}
		v.show(shown, worker.Verdict{Key: d.Key, KeyHash: d.KeyHash, Format: d.Format, Target: d.Target, Problem: d.Problem, Error: text, Job: d.Job})
	}
	return left, nil
}

// continueRepairs brings repairs to their end that were interrupted.
func (v *verification) continueRepairs(ctx context.Context, target string) error {
	c := &cluster{p: v.p}
	if err := c.open(ctx); err != nil {
		return err
	}
	unfinished, err := c.client.Repairs(ctx, target)
	c.close()
	for _, spec := range unfinished {
		if err == nil {
			err = v.runRepair(ctx, spec)
		}
	}
	return err
}

// runRepair does a repair in this process. What becomes of its objects is for the
// verification after it to say.
func (v *verification) runRepair(ctx context.Context, spec jobs.Spec) error {
	c := &cluster{p: v.p}
	if err := c.open(ctx); err != nil {
		return err
	}
	defer c.close()
	w := &workerFlags{encoders: v.encoders, memory: v.memory, timeout: v.timeout}
	quiet := &program{stdout: v.p.stdout, stderr: v.p.stderr, env: v.p.env, s3Endpoint: v.p.s3Endpoint, quiet: true}
	l, err := quiet.startLocal(ctx, c, w, v.device, spec.Codec, v.stats)
	if err != nil {
		return err
	}
	defer l.stop()
	// The source is what the job's folder says; it must be in the store of the target,
	// which the command line names.
	store, err := storage.Store(spec.Target)
	if err != nil {
		return err
	}
	l.places = append([]string{spec.Target, store}, v.allow.prefixes...)
	status, err := l.work(ctx, ref{spec.Target, spec.ID}, spec.Source)
	err = errors.Join(err, l.close(ctx))
	if err == nil && status.State.State == jobs.StateFailed {
		err = fmt.Errorf("repair %s failed: %s", spec.ID, status.State.Reason)
	}
	var e *exit
	if errors.As(err, &e) && e.code == exitInterrupted {
		return &exit{exitInterrupted, errors.New("interrupted; what is done is kept, and the same command does the rest")}
	}
	return err
}

// retryDamaged makes the results anew that the last verification of a target, or of
// the records of one of its jobs, found damaged: here, or on the cluster of c.
func (p *program) retryDamaged(target string, repair func() ([]jobs.Spec, error), do func(jobs.Spec) error) error {
	made, err := repair()
	if errors.Is(err, scheduler.ErrNothing) {
		return nothingf("nothing to do: the last verification of %s has listed no result that can be made anew", short(target))
	}
	if err != nil {
		return err
	}
	for _, spec := range made {
		err = errors.Join(err, do(spec))
	}
	return err
}
