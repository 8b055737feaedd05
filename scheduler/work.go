package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	var err error
	for ; ; sleep(ctx, d.s.opts.Tick) {
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
			err = w.pause(ctx, spent)
		} else {
			err = w.feed(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// track reads what is done, and makes it again from storage where Redis has
// lost it.
func (w *work) track(ctx context.Context) error {
	// The depth first: a chunk that is committed in between is then in the
	// queue's number and not among those that should be there.
	var err error
	if w.depth, err = w.s.conn.Tasks(w.fedTo).Depth(ctx); err != nil {
		return err
	}
	p, ok, err := w.s.conn.Job(w.f.id).Progress(ctx)
	if err != nil {
		return err
	}
	if ok && len(p.Done) != len(queue.NewBitmap(len(w.plan.Chunks))) {
		ok = false
	}
	if !ok {
		p = queue.Progress{}
		if p.Done, p.Counts, err = w.rebuild(ctx); err != nil {
			return err
		}
	}
	w.done, w.counts = p.Done, p.Counts
	return w.keepPace(ctx, p)
}

// keepPace looks how far the job is and tells everybody.
func (w *work) keepPace(ctx context.Context, p queue.Progress) error {
	if w.pace.At.IsZero() {
		var err error
		if w.pace, err = w.s.conn.Job(w.f.id).Pace(ctx); err != nil { // of the leader before
			return err
		}
	}
	counts := p.Counts
	counts.Plus(p.AtWork)
	running := w.control.Want == jobs.WantRun && w.depth.Active > 0 && w.now().OpenAt(w.s.opts.Now())
	changed := running != w.pace.Running
	w.pace.Look(time.Now(), running, counts.Attempted(), w.total)
	w.s.show(w.f.id, func(v *view) { v.counts, v.pace = counts, w.pace.Clone() })
	if !changed && time.Since(w.paced) < min(paceEvery, 2*w.s.opts.Tick) {
		return nil
	}
	w.paced = time.Now()
	return w.s.conn.Job(w.f.id).SetPace(ctx, w.pace)
}

// rebuild makes the job's keys in Redis from its result shards.
func (w *work) rebuild(ctx context.Context) ([]byte, jobs.Counts, error) {
	done, counts, err := headers(ctx, w.f, len(w.plan.Chunks))
	if err != nil {
		return nil, counts, err
	}
	if err := w.s.conn.Job(w.f.id).Register(ctx, w.f.b.URL); err != nil {
		return nil, counts, err
	}
	if err := w.s.conn.Job(w.f.id).Init(ctx, len(w.plan.Chunks), done, counts); err != nil {
		return nil, counts, err
	}
	if !w.state.Started.IsZero() {
		w.log.Info("progress was made again from storage", "chunks", countDone(done), "of", len(w.plan.Chunks))
	}
	w.cursor, w.held, w.counted, w.rated = 0, false, false, time.Time{}
	return done, counts, nil
}

func (w *work) task(chunk int) jobs.Task {
	return jobs.Task{Job: w.f.id, Index: chunk}
}

// fed gives the chunks that were fed and are not done.
func (w *work) fed() []int {
	var out []int
	for i := range w.cursor {
		if !queue.Bit(w.done, i) {
			out = append(out, i)
		}
	}
	return out
}

// feed fills the window.
func (w *work) feed(ctx context.Context) error {
	now := w.now()
	if !now.OpenAt(w.s.opts.Now()) {
		if err := w.withdraw(ctx); err != nil {
			return err
		}
		return w.set(ctx, jobs.StateRunning, "outside the hours "+*now.Hours)
	}
	if p := w.priority(); p != w.fedTo {
		if err := w.move(ctx, p); err != nil {
			return err
		}
	}
	if w.state.State != jobs.StateRunning || w.state.Started.IsZero() {
		next := w.state
		next.State, next.Reason = jobs.StateRunning, ""
		if next.Started.IsZero() {
			next.Started = time.Now().UTC()
		}
		if err := w.write(ctx, next); err != nil {
			return err
		}
		if err := w.s.conn.Job(w.f.id).SetSignal(ctx, jobs.StateRunning); err != nil {
			return err
		}
	}
	w.held, w.short = false, false
	if err := w.limit(ctx); err != nil {
		return err
	}
	if err := w.memory(ctx); err != nil {
		return err
	}
	why := w.full
	if why == "" {
		err := w.fill(ctx)
		if err == nil {
			err = w.reconcile(ctx)
		}
		if errors.Is(err, queue.ErrFull) {
			why, err = "Redis is full", nil
		}
		if err != nil {
			return err
		}
	}
	return w.set(ctx, jobs.StateRunning, why)
}

// fill enqueues chunks from the cursor on.
func (w *work) fill(ctx context.Context) error {
	room := w.s.window() - w.depth.Waiting()
	places, err := w.places(ctx)
	if err != nil {
		return err
	}
	queued, err := w.queued(ctx)
	if err != nil {
		return err
	}
	now, used := w.now(), w.used()
	for _, chunk := range queued {
		used.Objects += int64(w.plan.Chunks[chunk].Objects)
		used.Bytes += w.plan.Chunks[chunk].Bytes
	}
	for ; room > 0 && places > 0 && w.cursor < len(w.plan.Chunks); w.cursor++ {
		if queue.Bit(w.done, w.cursor) || w.isElsewhere(w.cursor) {
			continue
		}
		chunk := w.plan.Chunks[w.cursor]
		more := jobs.Work{Objects: int64(chunk.Objects), Bytes: chunk.Bytes}
		known := slices.Contains(w.withdrawn, w.cursor)
		if !known && !now.Fits(used, more) {
			w.short, w.shortAt = true, w.control.At
			break
		}
		err := w.s.conn.Tasks(w.fedTo).Enqueue(ctx, w.task(w.cursor))
		switch {
		case err == nil:
			room--
		case !errors.Is(err, queue.ErrQueued):
			return err
		}
		if !known {
			places--
			used.Objects += more.Objects
			used.Bytes += more.Bytes
		}
	}
	return nil
}

// memory sets why Redis has no room for more.
func (w *work) memory(ctx context.Context) error {
	if time.Since(w.measured) < memoryEvery {
		return nil
	}
	used, limit, err := w.s.conn.Memory(ctx)
	if err != nil {
		return err
	}
	w.measured, w.full = time.Now(), fullness(used, limit)
	return nil
}

// fullness says why Redis is too full to feed, or is empty.
func fullness(used, limit int64) string {
	if limit <= 0 || float64(used) <= fullAt*float64(limit) {
		return ""
	}
	return fmt.Sprintf("Redis uses %d %% of its memory, feeding waits until it is %d %%", 100*used/limit, int(100*fullAt))
}

// reconcile enqueues fed chunks again that are neither done nor in the queue:
// all of them where the numbers show that some are missing, else a few, because
// another job's tasks can hide it.
func (w *work) reconcile(ctx context.Context) error {
	if time.Since(w.compared) < reconcileEvery {
		return nil
	}
	w.compared = time.Now()
	fed := w.fed()
	first, n := 0, len(fed)
	if w.depth.Waiting() >= int64(len(fed)) && w.depth.Archived == 0 {
		first, n = w.checkFrom, min(checkedAtOnce, len(fed))
		w.checkFrom += n
	}
	for i := range n {
		chunk := fed[(first+i)%len(fed)]
		if w.isElsewhere(chunk) {
			continue
		}
		err := w.s.conn.Tasks(w.fedTo).Enqueue(ctx, w.task(chunk))
		switch {
		case err == nil:
			w.log.Debug("chunk was not in the queue, fed again", "chunk", chunk)
		case !errors.Is(err, queue.ErrQueued):
			return err
		case w.depth.Archived > 0:
			if err := w.archived(ctx, chunk); err != nil {
				return err
			}
		}
	}
	for chunk, priority := range w.left {
		state, err := w.s.conn.Tasks(priority).State(ctx, w.task(chunk))
		if err != nil {
			return err
		}
		if state == "" {
			delete(w.left, chunk)
		}
	}
	return nil
}

// archived blocks the job where the queue has given one of its chunks up: no
// worker could. A chunk that failed for no reason is fed again.
func (w *work) archived(ctx context.Context, chunk int) error {
	t := w.task(chunk)
	state, err := w.s.conn.Tasks(w.fedTo).State(ctx, t)
	if err != nil || state != "archived" {
		return err
	}
	text, err := w.s.conn.Tasks(w.fedTo).LastError(ctx, t)
	if err != nil {
		return err
	}
	if text != "" {
		return &blockedError{jobs.Block{Cause: jobs.BlockChunk, Reason: queue.GivenUp(chunk, text)}}
	}
	err = w.s.conn.Tasks(w.fedTo).Revive(ctx, t)
	if errors.Is(err, queue.ErrQueued) {
		err = nil
	}
	return err
}

func (w *work) isElsewhere(chunk int) bool {
	_, ok := w.left[chunk]
	return ok
}

// withdraw takes the job's waiting tasks out of the queue, once until the next
// feeding.
func (w *work) withdraw(ctx context.Context) error {
	if w.held {
		return nil
	}
	if err := w.takeBack(ctx); err != nil {
		return err
	}
	w.held = true
	return nil
}

// takeBack takes the job's waiting tasks out of the queue, and begins to feed anew.
func (w *work) takeBack(ctx context.Context) error {
	chunks := append(w.fed(), w.beyond()...)
	if w.cursor == 0 {
		// After a restart tasks may wait that another process fed.
		w.cursor = len(w.plan.Chunks)
		chunks = w.fed()
	}
	var tasks []jobs.Task
	for _, chunk := range chunks {
		tasks = append(tasks, w.task(chunk))
	}
	if _, err := w.s.conn.Tasks(w.fedTo).Withdraw(ctx, tasks); err != nil {
		return err
	}
	w.cursor, w.withdrawn, w.counted = 0, chunks, true
	return nil
}

// move puts the waiting tasks into another priority's queue. Chunks that a
// worker has are not fed there until it is through with them.
func (w *work) move(ctx context.Context, priority int) error {
	fed := append(w.fed(), w.beyond()...)
	if err := w.withdraw(ctx); err != nil {
		return err
	}
	for _, chunk := range fed {
		state, err := w.s.conn.Tasks(w.fedTo).State(ctx, w.task(chunk))
		if err != nil {
			return err
		}
		if state != "" {
			w.left[chunk] = w.fedTo
		}
	}
	w.log.Info("priority changed", "from", w.fedTo, "to", priority)
	w.fedTo = priority
	var err error
	w.depth, err = w.s.conn.Tasks(priority).Depth(ctx)
	return err
}

// pause takes waiting tasks back; the job is paused when no worker has a chunk
// of it any more.
func (w *work) pause(ctx context.Context, why string) error {
	if w.state.State == jobs.StatePaused && w.held && w.state.Reason == why {
		return nil
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
