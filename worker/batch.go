package worker

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// Bounds of a batch on a device.
const (
	batchImages = 64
	batchBytes  = 256 << 20 // of samples
)

// batchWait is how long a batch with a free lane waits for objects that are about to
// come: some images at once take a card little longer than one. While every card has
// another batch it waits for any, for busyWait.
const (
	batchWait = 20 * time.Millisecond
	busyWait  = 50 * time.Millisecond
)

// crowd is how many batches wait for the device where it is what keeps all others.
const crowd = 3

// batcher collects objects into batches for the device: those of a job, of all its
// chunks at work, or those of a codec. While all lanes are busy a batch grows; when
// one is free it takes the objects that are about to come as well, and starts. Where no
// card is without work it waits a little for others, as long as there are any.
type batcher struct {
	p    *pipeline
	name string // of the codec
	job  string // for the log
	call func(ctx context.Context, run codec.Run, batch []*object) error
	lent func(o *object) bool // whether call decodes the image of o into memory of the lender's; nil: of none
	past func(o *object)      // is told of those that have come through, before they go on; nil: nobody is, and lastUse counts them elsewhere

	queue   chan *queued
	awaited *atomic.Int64 // objects that come next; shared by the batchers of a process that has one a codec
	lanes   chan struct{} // batches at work at once
	spare   chan struct{} // and beside them, while cores are idle; nil: none
	waiting *atomic.Int64 // objects that wait
	formed  *atomic.Int64 // batches
	batched *atomic.Int64 // objects in them

	mu    sync.Mutex
	users int           // chunks
	over  chan struct{} // closed when the last of them has left
}

// queued is an object that waits for the device. The codec gets a copy, so that a call
// that was given up cannot change the object.
type queued struct {
	try  *object
	ctx  context.Context // of its chunk
	done chan error      // buffered

	mu    sync.Mutex
	left  bool    // nobody waits for the answer any more
	loans []*loan // that come with it
}

// answer ends the wait for q with what became of it, and with the loans in which its images lie.
func (q *queued) answer(err error, loans []*loan) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.loans = loans
	if q.left {
		q.giveBack()
	}
	q.done <- err
}

// leave says that nobody waits for q.
func (q *queued) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left = true
	q.giveBack()
}

func (q *queued) giveBack() {
	for _, l := range q.loans {
		l.giveBack()
	}
	q.loans = nil
}

func newBatcher(p *pipeline, name, job string, call func(context.Context, codec.Run, []*object) error) *batcher {
	return &batcher{p: p, name: name, job: job, call: call, queue: make(chan *queued, 2*batchImages), awaited: new(atomic.Int64),
		lanes: p.lanes, spare: p.spare, waiting: &p.queued, formed: &p.formed, batched: &p.batched}
}

// join lets a chunk use the batcher until it calls what is returned.
func (b *batcher) join() (leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users++; b.users == 1 {
		b.over = make(chan struct{})
		go b.run(b.over)
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.users--; b.users == 0 {
			close(b.over)
		}
	}
}

// await says that o comes to its batches soon.
func (o *object) await() {
	if !o.awaited {
		o.awaited = true
		o.batches.awaited.Add(1)
	}
}

// unawait says that o is in the queue, or does not come.
func (o *object) unawait() {
	if o.awaited {
		o.awaited = false
		o.batches.awaited.Add(-1)
	}
}

// do runs the codec for o in a batch. It calls came once o is in the queue, if it comes there.
func (b *batcher) do(ctx context.Context, o *object, came func()) error {
	defer o.delivery.waits()()
	try := *o
	try.came = true // if it comes to be tried
	q := &queued{try: &try, ctx: ctx, done: make(chan error, 1)}
	b.waiting.Add(1)
	select {
	case b.queue <- q:
		if b.past != nil {
			b.p.comes(o)
		}
		came()
	case <-ctx.Done():
		b.waiting.Add(-1)
		return context.Cause(ctx)
	}
	select {
	case err := <-q.done:
		if err == nil {
			try.awaited, try.came, try.row = o.awaited, o.came, nil
			*o = try
			o.held.loans = append(o.held.loans, q.loans...)
			return o.failure
		}
		return o.givenUp(err)
	case <-ctx.Done():
		q.leave()
		o.held.keepSource() // which the call may still read
		return context.Cause(ctx)
	}
}

// run forms batches until over is closed.
func (b *batcher) run(over <-chan struct{}) {
	var next *queued // did not fit into the last batch
	for {
		first := next
		if first == nil {
			select {
			case first = <-b.queue:
			case <-over:
				return
			}
		}
		lane := b.lane()
		var batch []*queued
		batch, next = b.collect(first, over)
		go b.launch(batch, lane)
	}
}

// lane waits for a lane and takes it. It returns where to give it back.
func (b *batcher) lane() chan struct{} {
	select {
	case b.lanes <- struct{}{}:
		return b.lanes
	default:
	}
	look := time.NewTicker(spareLook)
	defer look.Stop()
	for {
		// Objects that wait for cores have no haste where many wait for the card: only what is on a lane comes to its end.
		if b.waiting.Load() >= crowd*batchImages {
			select {
			case b.spare <- struct{}{}:
				return b.spare
			default:
			}
		}
		select {
		case b.lanes <- struct{}{}:
			return b.lanes
		case <-look.C:
		}
		if busy, waiting := b.p.cores.Load(); busy >= b.p.cores.Size() || waiting > 0 {
			continue
		}
		// Asked before those that wait, among which an object is before it is no longer awaited.
		if awaited := b.awaited.Load(); awaited > 0 && b.waiting.Load() < batchImages {
			continue
		}
		select {
		case b.spare <- struct{}{}:
			return b.spare
		default:
		}
	}
}

// collect forms a batch, and returns the object that it took and that does not fit. It waits for no object once over is
// closed, as then nobody is left who could bring one, nor once all that the process has to do have come.
func (b *batcher) collect(first *queued, over <-chan struct{}) (batch []*queued, next *queued) {
	busy, wait := len(b.lanes)+len(b.spare) > b.p.cards, batchWait // its own lane is one of those that are taken
	if busy {
		wait = busyWait
	}
	patience := time.NewTimer(wait)
	defer patience.Stop()
	batch, bytes := []*queued{first}, first.try.size()
	for len(batch) < batchImages {
		// Asked before the queue: an object is in it before it is no longer awaited, and before it has come.
		awaited := (busy || b.awaited.Load() > 0) && !(b.past != nil && b.p.lastUse.allCame())
		var q *queued
		select {
		case q = <-b.queue:
		default:
			if !awaited {
				return batch, nil
			}
			select {
			case q = <-b.queue:
			case <-patience.C:
				return batch, nil
			case <-over:
				return batch, nil
			}
		}
		if bytes += q.try.size(); bytes > batchBytes {
			return batch, q
		}
		batch = append(batch, q)
	}
	return batch, nil
}

// size is the bytes of the samples of o's image.
func (o *object) size() int {
	if o.image != nil {
		return len(o.image.Pix)
	}
	return o.head.Size()
}

// together is a context that ends when those of all objects have.
func together(batch []*queued) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	var left atomic.Int64
	seen := map[context.Context]bool{}
	for _, q := range batch {
		seen[q.ctx] = true
	}
	left.Store(int64(len(seen)))
	stops := make([]func() bool, 0, len(seen))
	for c := range seen {
		stops = append(stops, context.AfterFunc(c, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		}))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// launch runs the codec for a batch with the lane that the caller has taken, and gives it back.
func (b *batcher) launch(batch []*queued, lane chan struct{}) {
	p := b.p
	ctx, cancel := together(batch)
	defer cancel()
	b.formed.Add(1)
	b.batched.Add(int64(len(batch)))
	b.waiting.Add(-int64(len(batch)))
	tries := make([]*object, len(batch))
	for i, q := range batch {
		tries[i] = q.try
	}
	lent := &loans{from: p.lender}
	if b.lent != nil {
		var sizes []int
		for _, o := range tries {
			if b.lent(o) {
				sizes = append(sizes, o.size())
			}
		}
		p.lender.prepare(ctx, sizes)
	}
	row, start := p.trace.row(traceLanes), time.Now()
	for _, o := range tries {
		o.row = row
	}
	end := func() {
		row.span(b.name, start, map[string]any{"objects": len(batch)})
		row.leave()
		<-lane
	}
	err := p.laneGuards.run(ctx, end, func(ctx context.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				p.log.Warn("a codec panicked on the device", "job", b.job, "panic", v, "stack", string(debug.Stack()))
				f := faultf(jobs.OutcomeFailed, class.Codec, "%s panicked on the device: %v", b.name, v)
				f.again = true
				err = f
			}
		}()
		// The device waits for what the codec does on the CPU.
		run := codec.Run{Device: p.device, Pool: p.cores.First(), More: b.waiting.Load() >= batchImages, Alloc: lent.alloc}
		if err := b.call(ctx, run, tries); err != nil {
			return err
		}
		return ctx.Err() // what the codec could not do in time is not the objects' failure
	})
	if u := (*unresponsiveError)(nil); errors.As(err, &u) {
		defer u.call.then(lent.end)
	} else {
		defer lent.end()
	}
	if lost := p.lost(); lost != nil {
		// Nothing that came from a lost card can be trusted, success or not, and no
		// object is to blame: the chunk goes back to the queue.
		err = lost
	}
	p.sayShortMemory(b.job)
	if len(batch) > 1 {
		err = onlyOneToBlame(err)
	}
	if b.past != nil && err == nil {
		for _, o := range tries {
			if o.failure == nil {
				b.past(o)
			}
		}
	}
	for _, q := range batch {
		if err != nil {
			q.answer(err, nil)
			continue
		}
		q.answer(nil, lent.of(q.try.image, q.try.decoded, q.try.streamed()))
	}
}

// onlyOneToBlame returns the error for each object of a batch that failed as a whole,
// as it took too long or the codec panicked: one of them is to blame, which the next
// attempt finds out, with every object alone.
func onlyOneToBlame(err error) error {
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	each := *f
	each.again, each.alone = true, true
	var u *unresponsiveError
	if errors.As(err, &u) {
		return &unresponsiveError{fault: &each, call: u.call}
	}
	return &each
}
