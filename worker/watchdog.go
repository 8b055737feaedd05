package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// errNoProgress ends a chunk of which nothing moves.
var errNoProgress = errors.New("the chunk made no progress")

// Bounds of the watchdog. Codecs have their own limit of time, and storage has its own, so that it only meets what neither ends.
const (
	storageTime  = 6 * time.Minute  // that an operation of storage may take with all attempts, besides four seconds for each MB
	transferRate = 1 << 18          // bytes a second, at least, that are read, written and read back
	endTime      = time.Minute      // for a chunk to end after it was told to
	namedObjects = 3                // of a chunk that does not move, in the log
	stoppedTime  = 10 * time.Second // between two looks: the process was stopped, or its machine asleep
)

// delivery is one call of the queue's handler, as the watchdog sees it. Its methods are safe for concurrent use, and do nothing for
// nil, which is that of a chunk that nobody watches.
type delivery struct {
	task   jobs.Task
	cancel context.CancelCauseFunc
	of     *watchdog
	at     atomic.Int64 // when this delivery moved the last time, as the watchdog counts
	shared atomic.Int64 // objects that wait for what others of the process hold
	held   atomic.Int64 // objects that wait for the limits of the job, as long as these say
	bytes  atomic.Int64 // of the largest object
	ended  atomic.Int64 // when it was told to end; 0: it was not

	mu      sync.Mutex
	objects map[int]location // at work
}

// location is where an object at work is.
type location struct {
	key, stage string
	since      time.Time
}

// expects says that an object of so many bytes is to be transferred.
func (d *delivery) expects(bytes int64) {
	if d == nil {
		return
	}
	for {
		most := d.bytes.Load()
		if bytes <= most || d.bytes.CompareAndSwap(most, bytes) {
			return
		}
	}
}

// moves says that something came further.
func (d *delivery) moves() {
	if d != nil {
		now := d.of.nanos(time.Now())
		d.at.Store(now)
		d.of.at.Store(now)
	}
}

// enters says that an object has come to a stage; empty: it has left the last one.
func (d *delivery) enters(o *object, stage string) {
	if d == nil {
		return
	}
	d.moves()
	d.mu.Lock()
	defer d.mu.Unlock()
	if stage == "" {
		delete(d.objects, o.index)
		return
	}
	d.objects[o.index] = location{o.logKey, stage, time.Now()}
}

// waits counts an object that waits for what others hold until what it returns is called.
func (d *delivery) waits() (end func()) { return d.counts(func() *atomic.Int64 { return &d.shared }) }

// isHeld counts an object that waits for the limits of its job, or the chunk that waits for an earlier run of it, until what it returns is called.
func (d *delivery) isHeld() (end func()) { return d.counts(func() *atomic.Int64 { return &d.held }) }

func (d *delivery) counts(of func() *atomic.Int64) (end func()) {
	if d == nil {
		return func() {}
	}
	of().Add(1)
	return func() {
		of().Add(-1)
		d.moves()
	}
}

// still is for how long nothing has moved that the delivery could wait for.
func (d *delivery) still(now time.Time) time.Duration {
	last := d.at.Load()
	if d.held.Load() > 0 {
		return 0
	}
	if d.shared.Load() > 0 {
		last = max(last, d.of.at.Load())
	}
	return time.Duration(d.of.nanos(now) - last)
}

// where names the objects at work that have been in their stage for longest.
func (d *delivery) where(now time.Time) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []location
	for _, p := range d.objects {
		all = append(all, p)
	}
	if len(all) == 0 {
		return "no object is at work"
	}
	slices.SortFunc(all, func(a, b location) int { return a.since.Compare(b.since) })
	var text []string
	for _, p := range all[:min(len(all), namedObjects)] {
		text = append(text, fmt.Sprintf("%s in %s for %s", p.key, p.stage, now.Sub(p.since).Round(time.Second)))
	}
	return strings.Join(text, ", ")
}

// watchdog ends chunks of which nothing moves.
type watchdog struct {
	patience time.Duration // without a move, besides the time to transfer the largest object
	endTime  time.Duration
	begin    time.Time
	at       atomic.Int64 // when anything of the process moved the last time

	mu      sync.Mutex
	present map[*delivery]bool
}

func newWatchdog(codecs time.Duration) *watchdog {
	return &watchdog{patience: codecs + storageTime, endTime: endTime, begin: time.Now(), present: map[*delivery]bool{}}
}

// nanos is a time as the watchdog counts it: by the clock that nobody sets. A step of the wall clock, by the service that
// sets it or after the machine was asleep, would else end all chunks at once.
func (g *watchdog) nanos(t time.Time) int64 { return max(1, int64(t.Sub(g.begin))) }

// transferTime is how long so many bytes may be on their way.
func transferTime(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / transferRate * float64(time.Second))
}

// watch has the watchdog look at a delivery until leave is called. ctx ends with errNoProgress when nothing moves.
func (g *watchdog) watch(ctx context.Context, t jobs.Task) (watched context.Context, d *delivery, leave func()) {
	watched, cancel := context.WithCancelCause(ctx)
	d = &delivery{task: t, cancel: cancel, of: g, objects: map[int]location{}}
	d.moves()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.present[d] = true
	return watched, d, func() {
		g.mu.Lock()
		delete(g.present, d)
		g.mu.Unlock()
		cancel(nil)
	}
}

// forgive has all deliveries begin anew, after a time in which the process was stopped and nothing could move.
func (g *watchdog) forgive() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for d := range g.present {
		d.moves()
		if d.ended.Load() != 0 {
			d.ended.Store(g.nanos(time.Now()))
		}
	}
}

// look ends the deliveries that do not move. One that does not end then is the error.
func (g *watchdog) look(now time.Time, report func(d *delivery, still time.Duration, where string)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	largest := int64(0)
	for d := range g.present {
		largest = max(largest, d.bytes.Load())
	}
	for d := range g.present {
		if told := d.ended.Load(); told != 0 {
			if time.Duration(g.nanos(now)-told) > g.endTime {
				return fmt.Errorf("%w: chunk %s did not end after it was told to: %s", ErrStuck, d.task.ID(), d.where(now))
			}
			continue
		}
		size := d.bytes.Load()
		if d.shared.Load() > 0 {
			size = largest // who holds what it waits for may be as slow as that
		}
		still := d.still(now)
		if still <= g.patience+transferTime(size) {
			continue
		}
		where := d.where(now)
		report(d, still, where)
		d.ended.Store(g.nanos(now))
		d.cancel(fmt.Errorf("%w for %s: %s", errNoProgress, still.Round(time.Second), where))
	}
	return nil
}

// watchChunks looks at the chunks every second until ctx ends. The error says that a chunk does not end.
func (w *Worker) watchChunks(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if now.Sub(last) > stoppedTime {
				w.watchdog.forgive()
			}
			last = now
			err := w.watchdog.look(now, func(d *delivery, still time.Duration, where string) {
				w.log.Error("a chunk makes no progress and is given back", "job", d.task.Job, "chunk", d.task.Index, "seconds", still.Seconds(), "objects", where)
				text := fmt.Sprintf("chunk %s made no progress for %s: %s", d.task.ID(), still.Round(time.Second), where)
				w.trouble.Store(&text)
				w.metrics.noProgress.Inc()
			})
			if err != nil {
				w.log.Error("the worker ends, a chunk does not", "error", err)
				return err
			}
		}
	}
}
