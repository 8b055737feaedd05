package scheduler

import (
	"context"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
)

const (
	fullAt         = 0.7              // share of maxmemory at which feeding stops
	refusesAt      = 0.98             // share at which Redis refuses writes; it goes a little up and down there
	memoryEvery    = 2 * time.Second  // memory is looked up
	reconcileEvery = 3 * time.Second  // fed chunks are compared with the queue
	registerEvery  = 10 * time.Second // a job that waits is registered again, in case Redis lost it
	checkedAtOnce  = 100              // chunks that are compared although the numbers agree
	paceEvery      = time.Second      // the pace of a job is told
	stopWait       = 30 * time.Second // for workers to leave their chunks when a job is cancelled
)

// work is a job whose chunks are being fed.
type work struct {
	*drive
	plan      *jobs.Plan
	total     jobs.Work // of the plan's chunks
	pace      jobs.Pace
	paced     time.Time  // pace was written to Redis
	rates     jobs.Rates // that were written to Redis
	rated     time.Time  // when
	active    float64    // Active of pace at the last look of this process
	timed     bool       // there was one
	done      []byte     // as of the last look
	counts    jobs.Counts
	depth     queue.Depth
	cursor    int         // chunks below were fed
	fedTo     int         // priority that they were fed to
	left      map[int]int // chunks that were active in another priority's queue when that changed, with it
	held      bool        // nothing of the job waits in the queue: it is paused or outside its hours
	withdrawn []int       // chunks that were withdrawn and that workers may have
	counted   bool        // what workers have is among what was fed and what was withdrawn, else another process may have fed it
	checkFrom int         // where the next spot check starts
	named     time.Time   // registered
	compared  time.Time
	measured  time.Time
	short     bool      // the next chunk is more than is left of the budget
	shortAt   time.Time // of the control record for which that holds
	full      string    // why memory does not allow feeding
}

// work feeds and tracks a planned job until it ends.
func (d *drive) work(ctx context.Context, plan *jobs.Plan) error {
	w := &work{drive: d, plan: plan, total: plan.Work(), fedTo: d.priority(), left: map[int]int{}}
	d.withdraw = func(ctx context.Context) error {
		w.held, w.cursor = false, 0
		return w.withdraw(ctx)
	}
	committed := d.s.conn.Job(d.f.id).Committed()
	var err error
	for ; ; w.rest(ctx, committed) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := d.readControl(ctx, false); err != nil {
			return err
		}
		if time.Since(w.named) > registerEvery {
			w.named = time.Now()
			if err := d.s.conn.Job(d.f.id).Register(ctx, d.f.b.URL); err != nil {
				return err
			}
		}
		switch {
		case d.control.Want == jobs.WantCancel:
			return w.stop(ctx, ending{state: jobs.StateCancelled, plan: plan})
		case len(plan.Chunks) == 0:
			return d.finish(ctx, ending{state: jobs.StateDone, plan: plan})
		case d.control.Want == jobs.WantPause && d.state.Started.IsZero():
			if err := d.set(ctx, jobs.StatePlanned, "waits for start"); err != nil {
				return err
			}
			continue
		}
		if err := w.track(ctx); err != nil {
			return err
		}
		if countDone(w.done) == len(plan.Chunks) {
			return d.finish(ctx, ending{state: jobs.StateDone, plan: plan})
		}
		if b, ok, err := d.s.conn.Job(d.f.id).Blocked(ctx); err != nil {
			return err
		} else if ok {
			return &blockedError{b}
		}
		if why := overFailureLimit(&d.spec, w.counts); why != "" && !d.control.Force {
			return w.stop(ctx, ending{state: jobs.StateFailed, reason: why, limit: true, plan: plan})
		}
		var spent string
		if spent, err = w.budget(ctx); err != nil {
			return err
		}
		if d.control.Want == jobs.WantPause {
			err = w.pause(ctx, "paused by the operator")
		} else if spent != "" {
			if err = w.pause(ctx, spent); err == nil {
				err = w.notifyPaused(ctx, spent)
			}
		} else {
			err = w.feed(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// rest waits for the next look at the job: for a tick, or until a worker of this process has committed a chunk.
func (w *work) rest(ctx context.Context, committed <-chan struct{}) {
	tick := time.NewTimer(w.s.opts.Tick)
	defer tick.Stop()
	select {
	case <-ctx.Done():
	case <-tick.C:
	case <-committed:
	}
}

// pause takes waiting tasks back; the job is paused when no worker has a chunk
// of it any more.
func (w *work) pause(ctx context.Context, why string) error {
	if w.state.State == jobs.StatePaused && w.held && w.state.Reason == why {
		if w.control.At.Equal(w.state.Answered) {
			return nil
		}
		return w.write(ctx, w.state) // what was set changes nothing: whoever waits for an answer has one
	}
	if err := w.s.conn.Job(w.f.id).SetSignal(ctx, jobs.StatePaused); err != nil {
		return err
	}
	if err := w.withdraw(ctx); err != nil {
		return err
	}
	busy, err := w.busy(ctx)
	if err != nil {
		return err
	}
	if busy > 0 {
		return w.set(ctx, jobs.StatePausing, "chunks that run are finished first")
	}
	return w.set(ctx, jobs.StatePaused, why)
}

// busy counts the withdrawn chunks that workers still have.
func (w *work) busy(ctx context.Context) (int, error) {
	kept := w.withdrawn[:0]
	for i, chunk := range w.withdrawn {
		priority := w.fedTo
		if p, ok := w.left[chunk]; ok {
			priority = p
		}
		state := ""
		if !queue.Bit(w.done, chunk) {
			var err error
			if state, err = w.s.conn.Tasks(priority).State(ctx, w.task(chunk)); err != nil {
				w.withdrawn = append(kept, w.withdrawn[i:]...)
				return 0, err
			}
		}
		if state == "active" {
			kept = append(kept, chunk)
		}
	}
	w.withdrawn = kept
	return len(kept), nil
}

// stop takes a job out of the queue for good, has workers leave their chunks,
// and writes its report.
func (w *work) stop(ctx context.Context, end ending) error {
	if end.state == jobs.StateCancelled {
		if err := w.set(ctx, jobs.StateCancelling, "workers leave their chunks"); err != nil {
			return err
		}
	}
	if w.state.Started.IsZero() {
		return w.finish(ctx, end)
	}
	if err := w.s.conn.Job(w.f.id).SetSignal(ctx, jobs.StateCancelled); err != nil {
		return err
	}
	if err := w.withdraw(ctx); err != nil {
		return err
	}
	for until := time.Now().Add(stopWait); time.Now().Before(until) && ctx.Err() == nil; sleep(ctx, w.s.opts.Tick) {
		busy, err := w.busy(ctx)
		if err != nil {
			return err
		}
		if busy == 0 {
			break
		}
	}
	return w.finish(ctx, end)
}
