package worker

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
)

// flights tells the queue which objects of a chunk are in work, many in one round
// trip. An object is let in once the queue knows of it. New ones are announced
// when the encoders are about to run dry, and then all that wait.
type flights struct {
	w    *Worker
	conn *queue.Conn // nil: everybody is let in
	task jobs.Task
	kick chan struct{} // somebody waits

	mu    sync.Mutex
	wait  []boarding
	let   int          // let in and not yet at work
	open  map[int]bool // announced and not yet taken back
	ended []int        // of open, to take back
	alone bool         // one at a time: the one before must not be taken for the culprit

	rest time.Time // Redis did not answer: do not ask before; only for run
}

type boarding struct {
	index int
	let   chan struct{}
}

const (
	flightCall = 2 * time.Second // longest round trip
	flightRest = 5 * time.Second // pause after one failed
	flightEnds = 32              // objects taken back at once
)

func newFlights(w *Worker, t jobs.Task) *flights {
	return &flights{w: w, conn: w.conn, task: t, kick: make(chan struct{}, 1), open: map[int]bool{}}
}

// past gives how often a process died with each object in flight.
func (f *flights) past(ctx context.Context) (map[int]int, error) {
	if f.conn == nil {
		return nil, nil
	}
	return f.conn.Flights(ctx, f.task.Job, f.task.Index)
}

// enter waits until the queue knows that the object is in flight.
func (f *flights) enter(ctx context.Context, index int) error {
	if f.conn == nil {
		return nil
	}
	b := boarding{index, make(chan struct{})}
	f.mu.Lock()
	f.wait = append(f.wait, b)
	f.mu.Unlock()
	f.wake()
	select {
	case <-b.let:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// started says that an object that was let in has an encoder, or never will.
func (f *flights) started() {
	f.mu.Lock()
	f.let--
	f.mu.Unlock()
	f.wake()
}

// oneByOne says that from now on one object enters at a time.
func (f *flights) oneByOne() {
	f.mu.Lock()
	f.alone = true
	f.mu.Unlock()
}

// left says that work on the object ended.
func (f *flights) left(index int) {
	f.mu.Lock()
	if f.open[index] {
		f.ended = append(f.ended, index)
		delete(f.open, index)
	}
	f.mu.Unlock()
}

func (f *flights) wake() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// run announces and takes back until over is closed; then it takes back all that
// is still announced, as the process lives.
func (f *flights) run(over <-chan struct{}) {
	if f.conn == nil {
		return
	}
	for {
		select {
		case <-f.kick:
			f.turn()
		case <-over:
			f.mu.Lock()
			for i := range f.open {
				f.ended = append(f.ended, i)
			}
			clear(f.open)
			f.mu.Unlock()
			f.rest = time.Time{}
			f.takeBack()
			return
		}
	}
}

func (f *flights) turn() {
	f.mu.Lock()
	alone := f.alone
	var now []boarding
	if f.let < f.w.opts.CPU {
		now, f.wait = f.wait, nil
		f.let += len(now)
	}
	f.mu.Unlock()
	if len(now) == 0 {
		return
	}
	indices := make([]int, len(now))
	for i, b := range now {
		indices[i] = b.index
	}
	if alone {
		f.takeBack()
	}
	f.begin(indices)
	for _, b := range now {
		close(b.let)
	}
	f.mu.Lock()
	many := len(f.ended) >= flightEnds
	f.mu.Unlock()
	if many {
		f.takeBack()
	}
}

// begin announces objects. Without Redis they are let in unannounced: its loss
// must not stop the work.
func (f *flights) begin(indices []int) {
	if time.Now().Before(f.rest) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flightCall)
	defer cancel()
	if err := f.conn.Begin(ctx, f.task.Job, f.task.Index, indices); err != nil {
		f.failed("cannot note objects in flight", err)
	}
	// Also after an error, as the request may have got through.
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range indices {
		f.open[i] = true
	}
}

func (f *flights) takeBack() {
	f.mu.Lock()
	ended := f.ended
	f.mu.Unlock()
	if len(ended) == 0 || time.Now().Before(f.rest) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flightCall)
	defer cancel()
	if err := f.conn.End(ctx, f.task.Job, f.task.Index, ended); err != nil {
		f.failed("cannot take objects in flight back", err)
		return
	}
	f.mu.Lock()
	f.ended = f.ended[len(ended):] // others may have come behind
	f.mu.Unlock()
}

func (f *flights) failed(what string, err error) {
	f.w.metrics.redis.Inc()
	f.rest = time.Now().Add(flightRest)
	f.w.log.Warn(what, "job", f.task.Job, "chunk", f.task.Index, "error", err)
}

// orderCrashCandidates puts objects that never ended a process first, then by how often
// they did.
func orderCrashCandidates(last []*object) {
	slices.SortStableFunc(last, func(a, b *object) int {
		return cmp.Or(cmp.Compare(a.deaths, b.deaths), cmp.Compare(a.index, b.index))
	})
}
