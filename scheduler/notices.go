package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler/notify"
	"github.com/pelmill/pelmill/storage"
)

// Delivery of notifications.
const (
	storeTime   = 10 * time.Second // to store what came of an attempt, or to look for a report
	unsignedFor = time.Minute      // between two looks of a scheduler without secrets
	mostNotices = 1 << 20          // bytes of a stored notice
	resumeEvery = 10 * time.Second // a failed job with notices to deliver is looked at, whether it goes on
)

// notices are the notifications of a job. They are stored in its folder before the state that they tell of, so that
// neither the end of a process nor a new leader loses one, and delivered by the job's leader.
type notices struct {
	s    *Scheduler
	f    folder
	wake chan struct{}

	mu      sync.Mutex
	pending map[string]*notify.Notice // by id
	made    map[string]bool           // event and occurrence that were stored by this process
	loaded  bool
	held    bool // the end of the job is stored as a notice and not yet as a report
}

var errUnsigned = errors.New("no scheduler with --notify-secret-file leads the job")

// notifications counts what became of attempts, for metrics.
type notifications struct{ delivered, failed, ended atomic.Int64 }

func newNotices(s *Scheduler, f folder) *notices {
	return &notices{s: s, f: f, wake: make(chan struct{}, 1), pending: map[string]*notify.Notice{}, made: map[string]bool{}, held: true}
}

// noticeData is the data of an event.
type noticeData struct {
	Job      string      `json:"job"`
	State    jobs.State  `json:"state"`
	Reason   string      `json:"reason,omitempty"`
	Limit    bool        `json:"limit,omitempty"` // a limit is the reason
	Source   string      `json:"source"`
	Target   string      `json:"target"`
	Codec    string      `json:"codec"`
	Counts   jobs.Counts `json:"counts"`
	Seconds  float64     `json:"seconds,omitempty"`
	Started  time.Time   `json:"started,omitzero"`
	Finished time.Time   `json:"finished,omitzero"`
}

// load reads what is to be delivered.
func (n *notices) load(ctx context.Context, spec *jobs.Spec) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.loaded {
		return nil
	}
	pending, err := readNotices(ctx, n.f.b, spec)
	if err != nil {
		return err
	}
	for _, notice := range pending {
		n.pending[notice.ID] = notice
	}
	n.loaded = true
	n.poke()
	return nil
}

// readNotices gives the notices of a job that are to be delivered. What is not for the URLs of its specification is left.
func readNotices(ctx context.Context, b *storage.Bucket, spec *jobs.Spec) (list []*notify.Notice, err error) {
	err = walk(ctx, b, jobs.Folder(spec.ID).Notices(), "", func(o storage.Object) error {
		notice, ok, err := getJSONWithin[notify.Notice](ctx, b, o.Key, mostNotices)
		if err == nil && ok && notice.Ended == "" && o.Key == jobs.Folder(spec.ID).Notice(notice.ID) && slices.Contains(spec.Notify, notice.URL) {
			list = append(list, &notice)
		}
		return err
	})
	return list, err
}

// add stores the notices of an event. at tells events of one type apart.
func (n *notices) add(ctx context.Context, spec *jobs.Spec, event, at string, data noticeData) error {
	if len(spec.Notify) == 0 {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.made[event+" "+at] {
		return nil
	}
	for _, to := range spec.Notify {
		notice, err := notify.NewNotice(event, spec.Target, spec.ID, at, to, time.Now(), data)
		if err != nil {
			return fmt.Errorf("scheduler: notification: %w", err)
		}
		err = n.f.putJSON(ctx, jobs.Folder(n.f.id).Notice(notice.ID), notice, false)
		var exists *storage.ExistsError
		switch {
		case errors.As(err, &exists): // of the leader before: it was loaded, or has been delivered
		case err != nil:
			return err
		default:
			n.pending[notice.ID] = notice
		}
	}
	n.made[event+" "+at] = true
	n.poke()
	return nil
}

// hold keeps the notice of the job's next end until it is released.
func (n *notices) hold() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = true
}

// release lets the notice of the job's end go: its report is stored.
func (n *notices) release() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = false
	n.poke()
}

func (n *notices) poke() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// waiting reports whether something is to be delivered.
func (n *notices) waiting() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.pending) > 0
}

// due gives a notice whose time has come, or how long until the next one's; 0 where there is none.
func (n *notices) due(now time.Time) (*notify.Notice, time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var next *notify.Notice
	for _, notice := range n.pending {
		if n.held && notice.Event != notify.Paused {
			continue
		}
		if next == nil || notice.Next.Before(next.Next) {
			next = notice
		}
	}
	switch {
	case next == nil:
		return nil, 0
	case next.Next.After(now):
		return nil, next.Next.Sub(now)
	}
	return next, 0
}

// run delivers until ctx ends. What was never tried by then is tried once.
func (n *notices) run(ctx context.Context) {
	for ctx.Err() == nil {
		notice, wait := n.due(time.Now())
		if notice != nil {
			n.deliver(ctx, notice)
			continue
		}
		var timer <-chan time.Time
		if wait > 0 {
			timer = time.After(wait)
		}
		select {
		case <-ctx.Done():
		case <-n.wake:
		case <-timer:
		}
	}
	var last sync.WaitGroup
	for _, notice := range n.untried() {
		last.Go(func() { n.deliver(ctx, notice) })
	}
	last.Wait()
}

// untried gives the notices that could go and were never tried.
func (n *notices) untried() (list []*notify.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, notice := range n.pending {
		if notice.Attempts == 0 && !(n.held && notice.Event != notify.Paused) && n.s.opts.Notify != nil {
			list = append(list, notice)
		}
	}
	return list
}

// deliver makes an attempt and stores what came of it. Where that cannot be stored the next leader makes it again.
// The first attempt comes to its end although ctx ends, within the time of the sender: of a job without Redis it is
// the only one.
func (n *notices) deliver(ctx context.Context, notice *notify.Notice) {
	log := n.s.log.With("job", n.f.id, "event", notice.Event, "webhook_id", notice.ID)
	wait, err := time.Duration(0), errUnsigned
	if n.s.opts.Notify != nil {
		sending := ctx
		if notice.Attempts == 0 {
			sending = context.WithoutCancel(ctx)
		}
		wait, err = n.s.opts.Notify.Send(sending, notice.URL, notice.ID, notice.Body)
	} else if !notice.Old(time.Now()) {
		log.Warn("notification waits", "error", err)
		n.mu.Lock()
		notice.Next = time.Now().Add(unsignedFor)
		n.mu.Unlock()
		return
	}
	if ctx.Err() != nil && err != nil && notice.Attempts > 0 {
		return // the attempt was not the receiver's to answer
	}
	n.mu.Lock()
	notice.Attempted(time.Now(), wait, err)
	now := *notice
	n.mu.Unlock()
	switch {
	case err == nil:
		n.s.sent.delivered.Add(1)
		log.Info("notification is delivered", "attempts", now.Attempts)
	case now.Ended != "":
		n.s.sent.failed.Add(1)
		n.s.sent.ended.Add(1)
		log.Warn("notification is given up", "attempts", now.Attempts, "error", err)
	default:
		n.s.sent.failed.Add(1)
		log.Warn("notification cannot be delivered, it is tried again", "attempts", now.Attempts, "next", now.Next, "error", err)
	}
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	if there, serr := exists(storing, n.f.b, jobs.Folder(n.f.id).Spec()); serr == nil && !there {
		now.Ended = notify.GivenUp // somebody has deleted the job
	} else if werr := n.f.putJSON(storing, jobs.Folder(n.f.id).Notice(now.ID), &now, true); werr != nil {
		log.Warn("cannot store how far a notification is", "error", werr)
	}
	if now.Ended != "" {
		n.mu.Lock()
		delete(n.pending, now.ID)
		n.mu.Unlock()
	}
}

// notifyEnd stores the notices of a job's end, before its report.
func (d *drive) notifyEnd(ctx context.Context, report *jobs.Report, limit bool) error {
	event := notify.Done
	switch report.State {
	case jobs.StateFailed:
		event = notify.Failed
	case jobs.StateDone:
	default:
		return nil
	}
	report.Notify = len(d.spec.Notify) > 0
	// A job that failed and was told to go on may fail again.
	at := strconv.FormatInt(d.control.At.UnixNano(), 10)
	return d.notices.add(ctx, &d.spec, event, at, noticeData{Job: d.f.id, State: report.State, Reason: report.Reason, Limit: limit, Source: report.Source,
		Target: report.Target, Codec: report.Codec, Counts: report.Counts, Seconds: report.Seconds, Started: report.Started, Finished: report.Finished})
}

// notifyPaused stores the notices of a job whose budget is used up.
func (w *work) notifyPaused(ctx context.Context, reason string) error {
	if w.state.State != jobs.StatePaused {
		return nil
	}
	// Each budget that is used up is told once, whatever else is set meanwhile.
	now := w.now()
	budget, err := json.Marshal([]any{w.state.Budget.Resumed, now.MaxObjects, now.MaxBytes, now.MaxDuration})
	if err != nil {
		return err
	}
	return w.notices.add(ctx, &w.spec, notify.Paused, string(budget), noticeData{Job: w.f.id, State: jobs.StatePaused, Reason: reason, Limit: true, Source: w.spec.Source,
		Target: w.spec.Target, Codec: w.spec.Codec, Counts: w.counts, Started: w.state.Started})
}

// drain waits until the notices of a job that has ended are delivered, and then takes it out of Redis. again: it failed, and
// its operator wants it to go on.
func (d *drive) drain(ctx context.Context) (again bool, err error) {
	for looked := time.Now(); d.notices.waiting(); sleep(ctx, d.s.opts.Tick) {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if d.left.State != jobs.StateFailed || time.Since(looked) < resumeEvery {
			continue
		}
		looked = time.Now()
		if err := d.readControl(ctx, true); err != nil {
			return false, err
		}
		if d.control.Want == jobs.WantRun && !d.control.At.Equal(d.state.Answered) {
			return true, nil
		}
	}
	return false, d.unregister(ctx, *d.left)
}

// unnoticed reports whether an ended job has notices that are to be delivered.
func unnoticed(ctx context.Context, b *storage.Bucket, report *jobs.Report) (bool, error) {
	if !report.Notify {
		return false, nil
	}
	spec, ok, err := readSpec(ctx, b, report.Job)
	if err != nil || !ok || spec.ID != report.Job {
		return false, err
	}
	list, err := readNotices(ctx, b, &spec)
	return len(list) > 0, err
}
