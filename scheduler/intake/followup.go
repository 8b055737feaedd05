package intake

import (
	"context"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// followEvery is the time between two looks for jobs that ended unseen: those of an earlier process, and those that
// somebody has retried.
const followEvery = time.Minute

// followUp calls [Options.Ended] with a job that has ended, until it succeeds. Its error is that of ctx.
func (in *Intake) followUp(ctx context.Context, id string, report jobs.Report) error {
	if in.opts.Ended == nil || report.State == "" {
		return nil
	}
	in.following.Lock()
	defer in.following.Unlock()
	if in.followed[id].Equal(report.Finished) {
		return nil
	}
	err := in.insist(ctx, "follow up a batch", func() error {
		if err := in.opts.Ended(ctx, id); err != nil {
			return err
		}
		return in.client.FollowedUp(ctx, in.spec.Target, id, report.Finished)
	})
	if err == nil {
		in.followed[id] = report.Finished
	}
	return err
}

// followUps follows up what ended unseen, until ctx ends.
func (in *Intake) followUps(ctx context.Context) {
	if in.opts.Ended == nil {
		return
	}
	select {
	case <-in.begun:
	case <-ctx.Done():
		return
	}
	for ctx.Err() == nil {
		in.insist(ctx, "look for ended batches", func() error { return in.followEnded(ctx) })
		sleep(ctx, followEvery)
	}
}

// followEnded follows up each job of this source and target that has ended unseen.
func (in *Intake) followEnded(ctx context.Context) error {
	in.following.Lock()
	clear(in.followed) // what was followed up says so in the target now
	in.following.Unlock()
	due, err := in.client.FollowUps(ctx, in.spec.Target)
	if err != nil {
		return err
	}
	for _, spec := range due {
		if !jobs.SameSource(spec.Source, in.spec.Source) {
			continue
		}
		report, ended, err := in.client.Ended(ctx, in.spec.Target, spec.ID)
		if err != nil || !ended {
			return err
		}
		if err := in.followUp(ctx, spec.ID, report); err != nil {
			return err
		}
	}
	return nil
}
