package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

const (
	firstDelay   = time.Second // after an error, doubled up to mostDelay
	mostDelay    = time.Minute
	mostOffline  = 5 * time.Second // most where Redis did not answer: what it has lost is fed again after that
	controlEvery = 2 * time.Second // control.json is read, or every ten ticks if that is shorter
)

// drive is one job under this scheduler's lead.
type drive struct {
	s           *Scheduler
	log         *slog.Logger
	f           folder
	spec        jobs.Spec
	codec       codecs.Resolved
	control     jobs.Control
	controlRead time.Time // control was read
	state       jobs.StateRecord

	notices *notices
	left    *jobs.Report // of a job that has ended and whose notices are to be delivered; nil: none

	withdraw func(context.Context) error // takes the job's chunks out of the queue; nil before they are fed
}

// drive takes a job to its end. Everything is read from storage at the start and
// again after every error, so it does not matter which process did the phases
// before. It returns nil when the job needs no more driving.
func (s *Scheduler) drive(ctx context.Context, log *slog.Logger, id, target string) error {
	b, err := s.open(ctx, target)
	if err != nil {
		return err
	}
	notices := newNotices(s, folder{b: b, id: id, before: s.before})
	// They end after the job's driving and not with ctx: what is told of the end of a job may go only once its report is stored.
	nctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var delivering sync.WaitGroup
	delivering.Go(func() { notices.run(nctx) })
	defer delivering.Wait()
	defer stop()
	var tries delays
	for {
		d := &drive{s: s, log: log, f: folder{b: b, id: id, before: s.before}, notices: notices}
		began := time.Now()
		err := d.run(ctx)
		if err == nil && d.left != nil {
			var again bool
			if again, err = d.drain(ctx); again {
				continue
			}
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		var denied *deniedError
		if errors.Is(err, errKilled) || errors.As(err, &denied) {
			return err
		}
		delay := tries.after(err, time.Since(began))
		if block, ok := blockOf(err); ok {
			err = d.wait(ctx, block, delay)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		if err != nil {
			log.Warn("job does not move", "state", d.state.State, "error", err)
			d.note(ctx, err.Error())
			sleep(ctx, delay)
		}
	}
}

// delays are the waits between the tries of a job that ends in errors.
type delays struct{ next time.Duration }

// after is how long to wait after a try that took so long and ended with err. Redis may go away again and again: that
// makes no wait longer, as nothing is known of why the job did not move in between.
func (d *delays) after(err error, took time.Duration) time.Duration {
	if took > mostDelay || d.next == 0 {
		d.next = firstDelay
	}
	delay := d.next
	if errors.Is(err, queue.ErrUnreachable) {
		delay = min(delay, mostOffline)
	}
	d.next = min(2*delay, mostDelay)
	return delay
}

// errKilled is what tests let a write fail with, to stand for the end of the
// process.
var errKilled = errors.New("scheduler: killed")

var (
	errCancel = errors.New("scheduler: the job was cancelled")
	errAgain  = errors.New("scheduler: chunks were counted whose records are gone; they are done again")
)

// run goes from where storage says that the job is to its end.
func (d *drive) run(ctx context.Context) error {
	var ok bool
	var err error
	if d.spec, ok, err = d.admit(ctx); err != nil {
		return err
	}
	if !ok {
		d.log.Warn("registered job has no specification, leaving it", "target", d.f.b.URL)
		return d.s.conn.Job(d.f.id).Unregister(ctx)
	}
	if d.state, _, err = getJSON[jobs.StateRecord](ctx, d.f.b, jobs.Folder(d.f.id).State()); err != nil {
		return err
	}
	d.s.show(d.f.id, func(v *view) { v.state = d.state.State })
	if err := d.readControl(ctx, true); err != nil {
		return err
	}
	if len(d.spec.Notify) > 0 {
		if err := d.notices.load(ctx, &d.spec); err != nil {
			return err
		}
	}
	if ended, err := d.ended(ctx); ended || err != nil {
		return err
	}
	if d.codec, err = resolveStored(d.s.opts.Codecs, &d.spec); err != nil {
		return d.finish(ctx, ending{state: jobs.StateFailed, reason: err.Error()})
	}
	plan, ok, err := getJSON[jobs.Plan](ctx, d.f.b, jobs.Folder(d.f.id).Plan())
	if err != nil {
		return err
	}
	if !ok {
		plan, err = d.prepare(ctx)
		switch {
		case errors.Is(err, errCancel):
			return d.finish(ctx, ending{state: jobs.StateCancelled})
		case err != nil && ctx.Err() == nil && !passing(err):
			return d.finish(ctx, ending{state: jobs.StateFailed, reason: err.Error()})
		case err != nil:
			return err
		}
	}
	return d.work(ctx, &plan)
}

// passing reports whether preparing may go well later after err. A job that runs is not given up for an error of storage.
func passing(err error) bool {
	var moved *storage.ExistsError // a part, by a scheduler that lost its lead
	if _, ok := blockOf(err); ok {
		return true
	}
	return storage.Temporary(err) || errors.Is(err, queue.ErrUnreachable) ||
		errors.Is(err, errPlanned) || errors.Is(err, errPruned) || errors.Is(err, errKilled) || errors.As(err, &moved)
}

// readControl reads control.json, unless it was read a moment ago.
func (d *drive) readControl(ctx context.Context, now bool) error {
	if !now && time.Since(d.controlRead) < min(controlEvery, 10*d.s.opts.Tick) {
		return nil
	}
	control, ok, err := getJSON[jobs.Control](ctx, d.f.b, jobs.Folder(d.f.id).Control())
	if err != nil {
		return err
	}
	if !ok {
		// The submission ended between the specification and this.
		if control.Want = jobs.WantPause; d.spec.AutoStart {
			control.Want = jobs.WantRun
		}
	}
	d.control, d.controlRead = control, time.Now()
	return nil
}

// now are the settings of the job as they were changed last.
func (d *drive) now() jobs.Settings { return d.spec.Now(&d.control) }

// priority is the job's as of now.
func (d *drive) priority() int {
	return min(max(0, *d.now().Priority), jobs.Priorities-1)
}

// set writes the state where it changed.
func (d *drive) set(ctx context.Context, state jobs.State, reason string) error {
	return d.setBlocked(ctx, state, reason, "")
}

// setBlocked writes a state that something causes.
func (d *drive) setBlocked(ctx context.Context, state jobs.State, reason string, cause jobs.Cause) error {
	if d.state.State == state && d.state.Reason == reason && d.state.Blocked == cause && !d.state.At.IsZero() {
		return nil
	}
	next := d.state
	next.State, next.Reason, next.Blocked = state, reason, cause
	return d.write(ctx, next)
}

func (d *drive) write(ctx context.Context, next jobs.StateRecord) error {
	next.Leader, next.At, next.Answered = d.s.opts.Holder, time.Now().UTC(), d.control.At
	if next.State != jobs.StatePaused {
		next.Blocked = ""
	}
	if err := d.f.putJSON(ctx, jobs.Folder(d.f.id).State(), next, true); err != nil {
		return err
	}
	if next.State != d.state.State {
		d.log.Info("job is "+string(next.State), "reason", next.Reason)
	}
	d.state = next
	d.s.show(d.f.id, func(v *view) { v.state = next.State })
	return nil
}

// note writes down why a job does not move, if it can.
func (d *drive) note(ctx context.Context, reason string) {
	if d.state.State == "" || d.state.State.Terminal() {
		return
	}
	if err := d.set(ctx, d.state.State, reason); err != nil {
		d.log.Debug("cannot write the state", "error", err)
	}
}

// ended deals with a job that has a report: nothing is left to do, or it failed
// and the operator wants it to go on.
func (d *drive) ended(ctx context.Context) (bool, error) {
	report, ok, err := getJSON[jobs.Report](ctx, d.f.b, jobs.Folder(d.f.id).Report())
	if err != nil || !ok {
		return false, err
	}
	if report.State != jobs.StateFailed || d.control.Want != jobs.WantRun || d.control.At.Equal(d.state.Answered) {
		return true, d.leave(ctx, report)
	}
	d.notices.hold()
	d.log.Info("failed job goes on", "force", d.control.Force)
	if err := storage.Delete(ctx, d.f.b, jobs.Folder(d.f.id).Report()); err != nil {
		return false, storage.RefusedWrite(err, 0)
	}
	next := d.state
	next.State, next.Reason, next.Limit, next.Finished = jobs.StatePreparing, "", false, time.Time{}
	return false, d.write(ctx, next)
}

// leave removes an ended job from Redis. Its report is stored, so that its notices may go, whatever happens here.
func (d *drive) leave(ctx context.Context, report jobs.Report) error {
	d.notices.release()
	if d.state.State != report.State {
		next := d.state
		next.State, next.Reason, next.Finished = report.State, report.Reason, report.Finished
		if err := d.write(ctx, next); err != nil {
			return err
		}
	}
	if err := d.s.conn.Job(d.f.id).Forget(ctx); err != nil {
		return err
	}
	if d.s.opts.Ended != nil {
		d.s.opts.Ended(d.f.id)
	}
	if d.notices.waiting() {
		d.left = &report
		return nil
	}
	return d.unregister(ctx, report)
}

// unregister takes an ended job out of the list of those that schedulers look after.
func (d *drive) unregister(ctx context.Context, report jobs.Report) error {
	if err := d.s.conn.Job(d.f.id).Unregister(ctx); err != nil || report.State != jobs.StateFailed {
		return err
	}
	// An operator may have resumed the job between the last look and this.
	if err := d.readControl(ctx, true); err != nil || d.control.Want != jobs.WantRun || d.control.At.Equal(d.state.Answered) {
		return err
	}
	return d.s.conn.Job(d.f.id).Register(ctx, d.f.b.URL)
}

// prepare lists and plans, and looks meanwhile whether the job is cancelled.
func (d *drive) prepare(ctx context.Context) (plan jobs.Plan, err error) {
	if d.control.Want == jobs.WantCancel {
		return plan, errCancel
	}
	release, ok := d.s.tryAcquire()
	if !ok {
		if err := d.set(ctx, jobs.StatePreparing, "waits for other jobs to be prepared"); err != nil {
			return plan, err
		}
		if release, err = d.s.acquire(ctx); err != nil {
			return plan, err
		}
	}
	defer release()
	if err := d.set(ctx, jobs.StatePreparing, ""); err != nil {
		return plan, err
	}
	pctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for sleep(pctx, controlEvery); pctx.Err() == nil; sleep(pctx, controlEvery) {
			c, _, err := getJSON[jobs.Control](pctx, d.f.b, jobs.Folder(d.f.id).Control())
			if err == nil && c.Want == jobs.WantCancel {
				cancel(errCancel)
			}
		}
	}()
	defer func() {
		if context.Cause(pctx) == errCancel {
			err = errCancel
		}
		cancel(nil)
		<-watched
	}()
	source, err := d.s.open(pctx, d.spec.Source)
	if err != nil {
		return plan, err
	}
	at, all, err := prepare(pctx, d.f, &d.spec, d.s.buckets, d.s.opts.Codecs, source, d.s.part)
	if err != nil {
		return plan, fmt.Errorf("scheduler: list the source: %w", err)
	}
	d.log.Info("source is listed", "objects", at.Objects, "bytes", at.Bytes, "filtered", at.Filtered)
	p := &planning{
		folder: &d.f, spec: &d.spec, resolved: d.codec, source: source, target: d.f.b, at: at, all: all, slots: d.s.planSlots(pctx), memory: memory(d.s.opts.Memory), past: d.s.past,
	}
	p.endpoint = d.s.buckets.S3Endpoint
	p.workers, p.cores = machines(pctx, d.s.conn)
	if plan, err = p.plan(pctx); err != nil {
		return plan, fmt.Errorf("scheduler: plan: %w", err)
	}
	d.codec = p.resolved
	d.log.Info("job is planned", "objects", plan.Objects, "skipped", plan.Skipped, "chunks", len(plan.Chunks))
	return plan, nil
}

// tryAcquire takes one of the few places for what needs much memory if one is free.
func (s *Scheduler) tryAcquire() (release func(), ok bool) {
	select {
	case s.heavy <- struct{}{}:
		return func() { <-s.heavy }, true
	default:
		return nil, false
	}
}

// acquire waits for one of the few places for what needs much memory.
func (s *Scheduler) acquire(ctx context.Context) (release func(), err error) {
	select {
	case s.heavy <- struct{}{}:
		return func() { <-s.heavy }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
