package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/intake/instances"
	"github.com/pelmill/pelmill/storage"
)

// auditFlag adds --audit.
func auditFlag(fs *pflag.FlagSet, audit *bool, more string) {
	fs.BoolVar(audit, "audit", false, "keep an audit trail in DST, and put what is broken or fails verification into quarantine there; pelmill quarantine lists it"+more)
}

// auditJob writes what became of the objects of a job into the audit trail, and what it has rejected into quarantine.
func auditJob(ctx context.Context, client *scheduler.Client, store *instances.Store, target, job string) error {
	spec, err := client.Spec(ctx, target, job)
	if errors.Is(err, scheduler.ErrNoJob) {
		return nil // it is gone
	}
	if err != nil {
		return err
	}
	err = store.Results(ctx, &spec, func(fn func(jobs.Result) error) error { return client.Results(ctx, target, job, fn) })
	if storage.IsNotExist(err) {
		return nil // a job that has ended without results
	}
	return err
}

// auditJobs does so with each job of a source and target that was to be audited, has ended and was not audited since: also
// with those of processes that were killed, and those that were tried again.
func auditJobs(ctx context.Context, client *scheduler.Client, source, target string) (err error) {
	due, err := client.FollowUps(ctx, target)
	if err != nil || len(due) == 0 {
		return err
	}
	from, err := client.Buckets.Open(ctx, source)
	if err != nil {
		return err
	}
	to, err := client.Buckets.Open(ctx, target)
	if err != nil {
		return err
	}
	store, err := instances.Open(ctx, from, to, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for _, spec := range due {
		if !jobs.SameSource(spec.Source, source) {
			continue
		}
		report, ended, err := client.Ended(ctx, target, spec.ID)
		if err == nil && ended && report.State != "" {
			if err = auditJob(ctx, client, store, target, spec.ID); err == nil {
				err = client.FollowedUp(ctx, target, spec.ID, report.Finished)
			}
		}
		if err != nil {
			return fmt.Errorf("audit of job %s: %w", spec.ID, err)
		}
	}
	return nil
}
