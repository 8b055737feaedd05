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

// flights registers at the queue which objects of a chunk are in flight, many in one
// round trip, so that the queue knows what was in work when a process dies. An object
// enters the codec once it is registered. Objects that wait are registered together,
// when the encoders are about to run dry.
type flights struct {
	w    *Worker
	conn *queue.Conn // nil: nothing is registered
	task jobs.Task
	wake chan struct{} // an object waits

	mu         sync.Mutex
	waiting    []registration
	registered int             // objects that are registered and have no core yet
	inFlight   map[int]bool    // objects that are registered and whose end is not
	ended      []int           // objects that were in flight and whose end is to be registered
	oneByOne   bool            // the end of an object is registered before the next one enters
	settling   []chan struct{} // of those who wait until all ends are registered

	pauseUntil time.Time // Redis did not answer and is not asked before; only run has it
}

// registration is an object that waits to be registered.
type registration struct {
	index int
	done  chan struct{} // closed when the object may go on
}

const (
	flightCall  = 2 * time.Second // longest round trip
	flightPause = 5 * time.Second // after one that failed
	flightEnds  = 32              // ends that are registered at once
)

func newFlights(w *Worker, t jobs.Task) *flights {
	conn := w.conn
	if conn != nil && conn.Embedded() { // lost with the process whose end the flights would tell
		conn = nil
	}
	return &flights{w: w, conn: conn, task: t, wake: make(chan struct{}, 1), inFlight: map[int]bool{}}
}

// deaths gives how often a process died with each object in flight.
func (f *flights) deaths(ctx context.Context) (map[int]int, error) {
	if f.conn == nil {
		return nil, nil
	}
	return f.conn.Job(f.task.Job).Flights(ctx, f.task.Index)
}

// enter waits until the object is registered in flight.
func (f *flights) enter(ctx context.Context, index int) error {
	if f.conn == nil {
		return nil
	}
	r := registration{index, make(chan struct{})}
	f.mu.Lock()
	f.waiting = append(f.waiting, r)
	f.mu.Unlock()
	f.signal()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// started says that an object that has entered got its first core, or never will.
func (f *flights) started() {
	if f.conn == nil {
		return
	}
	f.mu.Lock()
	f.registered--
	f.mu.Unlock()
	f.signal()
}

// oneAtATime says that from now on objects enter one after the other. The queue must
// not take the object before for the one that ended a process.
func (f *flights) oneAtATime() {
	f.mu.Lock()
	f.oneByOne = true
	f.mu.Unlock()
}

// end says that work on the object has ended.
func (f *flights) end(index int) {
	f.mu.Lock()
	if f.inFlight[index] {
		f.ended = append(f.ended, index)
		delete(f.inFlight, index)
	}
	f.mu.Unlock()
}

// settle waits until the ends of all objects are registered, or Redis did not answer.
func (f *flights) settle(ctx context.Context) {
	if f.conn == nil {
		return
	}
	done := make(chan struct{})
	f.mu.Lock()
	f.settling = append(f.settling, done)
	f.mu.Unlock()
	f.signal()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func (f *flights) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run registers objects and their ends until over is closed; then it registers the end
// of all that are still in flight, as the process lives.
func (f *flights) run(over <-chan struct{}) {
	if f.conn == nil {
		return
	}
	for {
		select {
		case <-f.wake:
			f.registerWaiting()
			f.registerSettling()
		case <-over:
			f.mu.Lock()
			for i := range f.inFlight {
				f.ended = append(f.ended, i)
			}
			clear(f.inFlight)
			f.mu.Unlock()
			f.pauseUntil = time.Time{}
			f.registerEnds()
			return
		}
	}
}

// registerWaiting registers the objects that wait, unless as many are registered as the
// encoders need next.
func (f *flights) registerWaiting() {
	f.mu.Lock()
	oneByOne := f.oneByOne
	var now []registration
	if f.registered < f.w.opts.CPU {
		now, f.waiting = f.waiting, nil
		f.registered += len(now)
	}
	f.mu.Unlock()
	if len(now) == 0 {
		return
	}
	indices := make([]int, len(now))
	for i, r := range now {
		indices[i] = r.index
	}
	if oneByOne {
		f.registerEnds()
	}
	f.register(indices)
	for _, r := range now {
		close(r.done)
	}
	f.mu.Lock()
	many := len(f.ended) >= flightEnds
	f.mu.Unlock()
	if many {
		f.registerEnds()
	}
}

// registerSettling registers all ends for those who wait for that.
func (f *flights) registerSettling() {
	f.mu.Lock()
	settling := f.settling
	f.settling = nil
	f.mu.Unlock()
	if len(settling) == 0 {
		return
	}
	f.registerEnds()
	for _, done := range settling {
		close(done)
	}
}

// register registers objects. Without Redis they enter unregistered, as its loss must
// not stop the work.
func (f *flights) register(indices []int) {
	if time.Now().Before(f.pauseUntil) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flightCall)
	defer cancel()
	if err := f.conn.Job(f.task.Job).Begin(ctx, f.task.Index, indices); err != nil {
		f.failed("cannot register objects in flight", err)
	}
	// Also after an error, as the request may have got through.
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range indices {
		f.inFlight[i] = true
	}
}

// registerEnds registers that objects are no longer in flight.
func (f *flights) registerEnds() {
	f.mu.Lock()
	ended := f.ended
	f.mu.Unlock()
	if len(ended) == 0 || time.Now().Before(f.pauseUntil) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flightCall)
	defer cancel()
	if err := f.conn.Job(f.task.Job).End(ctx, f.task.Index, ended); err != nil {
		f.failed("cannot register the end of objects in flight", err)
		return
	}
	f.mu.Lock()
	f.ended = f.ended[len(ended):] // others may have come behind
	f.mu.Unlock()
}

func (f *flights) failed(what string, err error) {
	f.w.metrics.redis.Inc()
	f.pauseUntil = time.Now().Add(flightPause)
	f.w.log.Warn(what, "job", f.task.Job, "chunk", f.task.Index, "error", err)
}

// orderCrashCandidates puts objects that never ended a process first, then by how often
// they did.
func orderCrashCandidates(last []*object) {
	slices.SortStableFunc(last, func(a, b *object) int {
		return cmp.Or(cmp.Compare(a.deaths, b.deaths), cmp.Compare(a.index, b.index))
	})
}
