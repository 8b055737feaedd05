package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

// Rhythm of what goes on beside the objects of a chunk.
const (
	partialTime = 5 * time.Second // between partial shards
	signalTime  = time.Second     // between looks at the job's signal
	lateTime    = 5 * time.Second // for what must still be written after the context has ended
)

// errCancelled ends a chunk whose job was cancelled.
var errCancelled = errors.New("job was cancelled")

// chunk is the work on one task.
type chunk struct {
	*jobContext
	w        *Worker
	task     jobs.Task
	at       jobs.Chunk // where the entries are, by the plan
	attempt  int        // delivery, from 1
	age      int64      // for CPU tokens
	start    time.Time
	entries  []jobs.Entry
	flights  *flights
	delivery *delivery // nil: nobody watches
	fail     context.CancelCauseFunc
	limited  atomic.Int64 // since when the limits hold that hold for the job, see throttle; 0: none does

	mu      sync.Mutex
	records []*jobs.Result          // by position in the chunk; nil: not done
	counts  jobs.Counts             // of records
	made    map[string]*jobs.Result // by key: those made in this process and reported
	done    int
	saved   int       // of done, in the partial shard
	last    []*object // to do after the others, one at a time
}

// newObject returns object i at the start of its way.
func (c *chunk) newObject(i int) *object {
	key := c.w.logKey(c.entries[i].Key, "")
	return &object{index: i, entry: c.entries[i], attempts: 1, age: c.age, job: c.task.Job, delivery: c.delivery, logKey: key}
}

// Chunk works on one chunk of a job whose specification is known. It returns nil
// when the chunk is committed or needs no more work, [queue.ErrHandBack] where
// the caller ended ctx, and else what stands in the way of the whole chunk.
func (w *Worker) Chunk(ctx context.Context, spec jobs.Spec, source, target *storage.Bucket, t jobs.Task, attempt int) error {
	k, err := w.prepare(ctx, spec, source, target)
	if err != nil {
		return err
	}
	return w.run(ctx, k, t, attempt, nil)
}

func (w *Worker) run(ctx context.Context, k *jobContext, t jobs.Task, attempt int, d *delivery) error {
	w.metrics.inflight.Inc()
	defer w.metrics.inflight.Dec()
	at, all, err := w.tasks.plans.chunk(ctx, k.target, t)
	if err != nil {
		return err
	}
	w.lastUse.begins(t, all)
	c := &chunk{jobContext: k, w: w, task: t, at: at, attempt: attempt, age: w.age.Add(1), delivery: d}
	held := d.isHeld() // the run that is waited for is watched by itself
	made, err := w.runs.enter(ctx, t.ID())
	held()
	if err != nil {
		return queue.ErrHandBack
	}
	defer func() { w.runs.leave(t.ID(), c.made) }()
	c.made, c.start = made, time.Now()
	done, err := c.doneBefore(ctx)
	if done {
		c.made = nil
		w.lastUse.comes(at.Objects)
		w.lastUse.past(at.Objects)
	}
	if done || err != nil {
		return err
	}
	if err := c.open(ctx); err != nil {
		return err
	}
	defer w.atWork.enter(c)()
	err = c.work(ctx)
	if err == nil {
		err = c.commit(ctx)
	}
	if err != nil {
		// What ended ctx must not keep the records from being stored.
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateTime)
		defer cancel()
		if serr := c.savePartial(late); serr != nil {
			err = errors.Join(err, serr)
		}
	}
	var r *storage.RefusedError
	switch {
	case err == nil:
		c.made = nil
		seconds := time.Since(c.start).Seconds()
		w.metrics.chunks.Observe(seconds)
		w.log.Info("chunk done", append([]any{"job", t.Job, "chunk", t.Index, "objects", len(c.entries), "seconds", seconds}, c.outcomes()...)...)
		return nil
	case errors.Is(err, errCancelled):
		c.made = nil
		w.log.Info("chunk left, the job was cancelled", "job", t.Job, "chunk", t.Index)
		return nil
	case ctx.Err() != nil || w.lost() != nil:
		return queue.ErrHandBack
	case errors.As(err, &r):
		return c.putOff(ctx, r)
	case errors.Is(err, errBlocked):
		return queue.ErrLater
	}
	return fmt.Errorf("worker: chunk %s: %w", t.ID(), c.nameless(err))
}

// doneBefore finds out whether the chunk needs no work: it is committed, or its
// shard is there and only the commit was lost, or the job was cancelled. It
// returns [queue.ErrLater] where the job is blocked.
func (c *chunk) doneBefore(ctx context.Context) (bool, error) {
	conn, id, i := c.w.conn, c.task.Job, c.task.Index
	if conn != nil {
		done, err := conn.Job(id).IsDone(ctx, i)
		if done || err != nil {
			return done, err
		}
		state, err := conn.Job(id).Signal(ctx)
		if stops(state) || err != nil {
			return true, err
		}
		stopped, err := c.stopped(ctx, false)
		if err == nil && stopped {
			err = queue.ErrLater
		}
		if err != nil {
			return false, err
		}
	}
	head, ok, err := c.readShard(ctx)
	if !ok || err != nil {
		return false, err
	}
	return true, c.count(ctx, head.Counts)
}

func stops(s jobs.State) bool { return s == jobs.StateCancelled || s == jobs.StateCancelling }

// open reads the entries, and what an earlier delivery left: records and flights.
func (c *chunk) open(ctx context.Context) error {
	var err error
	if c.entries, err = readEntries(ctx, c.target, c.task.Job, c.at); err != nil {
		return err
	}
	c.records = make([]*jobs.Result, len(c.entries))
	c.expects()
	if err := c.readPartial(ctx); err != nil {
		return err
	}
	c.takeMade()
	for _, r := range c.records {
		if r != nil {
			c.counts.Add(r)
		}
	}
	c.flights = newFlights(c.w, c.task)
	deaths, err := c.flights.deaths(ctx)
	if err != nil {
		return err
	}
	for i := range c.entries {
		if n := deaths[i]; n > 0 && c.records[i] == nil {
			o := c.newObject(i)
			o.alone, o.deaths = true, n
			c.last = append(c.last, o)
		}
	}
	return nil
}

// takeMade takes over the records of an earlier run in this process, which may be
// newer than the partial shard.
func (c *chunk) takeMade() {
	if c.made == nil {
		c.made = map[string]*jobs.Result{}
	}
	for i := range c.entries {
		r := c.made[c.entries[i].Key]
		if r != nil && c.records[i] == nil {
			c.done++
		}
		if r != nil {
			c.records[i] = r
		}
	}
}

// work does all objects that have no record.
func (c *chunk) work(ctx context.Context) error {
	ctx, c.fail = context.WithCancelCause(ctx)
	defer c.fail(nil)
	var beside, objects sync.WaitGroup
	over := make(chan struct{})
	beside.Go(func() { c.flights.run(over) })
	beside.Go(func() { c.savePartials(ctx, over) })
	if c.w.conn != nil {
		c.lookAtLimits(ctx)
		beside.Go(func() { c.watchSignal(ctx, over) })
	}
	defer c.join()()

	var todo []int
	alone := map[int]bool{}
	for _, o := range c.last {
		alone[o.index] = true
	}
	for i, r := range c.records {
		if r == nil && !alone[i] {
			todo = append(todo, i)
		}
	}
	c.w.lastUse.comes(len(c.records) - len(todo))
	c.w.lastUse.past(len(c.records) - len(todo))
	var next atomic.Int64
	for range min(c.w.window, len(todo)) {
		objects.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= len(todo) {
					return
				}
				c.oneOfMany(ctx, c.newObject(todo[n]))
			}
		})
	}
	objects.Wait()
	if ctx.Err() == nil {
		c.alone(ctx)
	}
	close(over)
	beside.Wait()
	return context.Cause(ctx)
}

// expects tells the watchdog how large the objects are.
func (c *chunk) expects() {
	for i := range c.entries {
		c.delivery.expects(c.entries[i].Size)
	}
}

// enter waits until an object is registered in flight.
func (c *chunk) enter(ctx context.Context, o *object) error {
	defer c.delivery.waits()()
	return c.flights.enter(ctx, o.index)
}

// oneOfMany does an object among others. With a device more chunks are at work than
// it can do at once, so that batches are filled: the oldest go first.
func (c *chunk) oneOfMany(ctx context.Context, o *object) {
	if c.w.device != nil {
		waited := c.delivery.waits()
		err := c.w.inWork.Acquire(ctx, c.age)
		if waited(); err != nil {
			return
		}
		defer c.w.inWork.Release()
	}
	c.object(ctx, o)
}

// alone does the objects that failed twice or that were in flight when a process
// died: the former first, as they have never ended a process.
func (c *chunk) alone(ctx context.Context) {
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	if len(last) == 0 {
		return
	}
	if err := c.savePartial(ctx); err != nil {
		c.fail(err)
		return
	}
	orderCrashCandidates(last)
	c.flights.oneAtATime()
	for _, o := range last {
		if ctx.Err() != nil {
			return
		}
		if o.deaths >= maxDeaths {
			o.attempts, o.record = o.deaths, c.blank(o.index)
			o.record.Outcome, o.record.Class = jobs.OutcomeFailed, class.Crash
			o.record.Error = fmt.Sprintf("worker processes died %d times while the object was in work, twice of these it was alone", o.deaths)
			c.record(ctx, o)
			continue
		}
		if o.deaths == 0 {
			c.object(ctx, o)
			continue
		}
		if c.suspect(ctx, o) != nil {
			return
		}
	}
}

// suspect does an object that was in flight when a process died, while no other such object of any chunk is in flight here: if it
// ends this process, too, nobody else is taken to be to blame. The error is the cause of the end of ctx.
func (c *chunk) suspect(ctx context.Context, o *object) error {
	waited := c.delivery.waits()
	err := take(ctx, c.w.suspects)
	if waited(); err != nil {
		return err
	}
	defer func() { <-c.w.suspects }()
	c.object(ctx, o)
	c.flights.settle(ctx)
	return nil
}

// maxDeaths is how often a process may die with the object in flight: once among
// others, and twice alone.
const maxDeaths = 3

func (c *chunk) savePartials(ctx context.Context, over <-chan struct{}) {
	tick := time.NewTicker(partialTime)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
			err := c.savePartial(ctx)
			var r *storage.RefusedError
			if errors.As(err, &r) {
				c.fail(err)
				return
			}
			if err != nil && ctx.Err() == nil {
				c.w.log.Warn("cannot store a partial shard", "job", c.task.Job, "chunk", c.task.Index, "error", c.nameless(err))
			}
		}
	}
}

// watchSignal ends the chunk when its job is cancelled or blocked. A Redis that does not
// answer changes nothing.
func (c *chunk) watchSignal(ctx context.Context, over <-chan struct{}) {
	tick := time.NewTicker(signalTime)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
			c.lookAtLimits(ctx)
			state, err := c.w.conn.Job(c.task.Job).Signal(ctx)
			if err != nil {
				c.w.metrics.redis.Inc()
			} else if stops(state) {
				c.fail(errCancelled)
				return
			} else if stopped, err := c.stopped(ctx, true); err == nil && stopped {
				c.fail(errBlocked)
				return
			}
		}
	}
}
