package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler"
)

// hold keeps the lease of a job for as long as this process does it. The returned
// function says that it does so no more. A target that does not take the lease takes
// no results either, which the job itself says.
func (l *local) hold(ctx context.Context, r ref, announced bool) (release func()) {
	l.c.client.Working = r.id
	log := l.p.logger(false)
	write := func(ctx context.Context, released bool) {
		if err := l.c.client.Hold(ctx, r.target, r.id, announced, released); err != nil && ctx.Err() == nil {
			log.Debug("the lease of the job cannot be written", "job", r.id, "error", err)
		}
	}
	write(ctx, false)
	held, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(jobs.LeaseEvery)
		defer tick.Stop()
		for {
			select {
			case <-held.Done():
				return
			case <-tick.C:
				write(held, false)
			}
		}
	}()
	return func() {
		cancel()
		<-over
		late, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer done()
		write(late, true)
	}
}

// interruptedError ends the watching of a job that nobody does any more.
func interruptedError(s scheduler.Status) error {
	return fmt.Errorf("job %s was interrupted %s; pelmill cancel ends it", s.Spec.ID, s.Why)
}

// endInterrupted brings a job to its end that was cancelled and that nobody does: it
// gets its report here.
func (p *program) endInterrupted(ctx context.Context, client *scheduler.Client, r ref) error {
	conn, err := queue.Open(ctx, "", nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Job(r.id).Register(ctx, r.target); err != nil {
		return err
	}
	run, cancel := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() {
		over <- scheduler.New(conn, client.Buckets, &scheduler.Options{Log: p.logger(false)}).Run(run)
	}()
	defer func() {
		cancel()
		<-over
	}()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		s, err := client.Status(ctx, r.target, r.id)
		if err != nil || s.State.State.Terminal() {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookLocal):
		}
	}
	return errors.New("job " + r.id + " is to be cancelled, but its report could not be written within a minute")
}

// endSuperseded ends the interrupted jobs of a source and target but the one that goes
// on. What they have done is done for it too.
func (l *local) endSuperseded(ctx context.Context, spec jobs.Spec) error {
	lost, err := l.c.client.Interrupted(ctx, spec.Source, spec.Target)
	for _, id := range lost {
		if err != nil || id == spec.ID {
			continue
		}
		client := &scheduler.Client{Buckets: l.c.buckets}
		if err = client.Control(ctx, spec.Target, id, jobs.Control{Want: jobs.WantCancel}); err != nil {
			continue
		}
		if !l.p.quiet && !l.p.json {
			l.display.say("job " + id + " was interrupted and ends; what it has done is kept")
		}
		err = l.p.endInterrupted(ctx, client, ref{spec.Target, id})
	}
	return err
}
