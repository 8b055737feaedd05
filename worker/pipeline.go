package worker

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/storage"
)

// pipeline is what all objects of a process share on their way: cores, memory, the
// device, and places for transfers. Compressing, decompressing and verifying have one
// each, and bring their objects through the same stages; see [object].
type pipeline struct {
	device *gpu.Device // nil: CPU
	log    *slog.Logger

	window     int              // objects at work at once: of one chunk, or of all without chunks
	cpu        int              // images on the CPU at once
	cores      *pool.Pool       // an image takes one, and its codec those that no image waits for
	budget     *budget          // of memory
	lender     *lender          // of memory for images that the device decodes; nil: CPU
	sources    *sourceMemory    // for sources that the device takes samples from; nil: there is none
	guards     *guards          // of calls of codecs on cores
	mismatches atomic.Int64     // attempts whose result did not decode to the image
	laneGuards *guards          // and on the device
	patience   time.Duration    // while calls that do not end hold everything
	cards      int              // of the device, at least 1
	lanes      chan struct{}    // batches on the device at once
	spare      chan struct{}    // and beside them, while cores are idle
	fetches    chan struct{}    // objects being fetched
	stores     chan struct{}    // objects being stored
	trace      *Trace           // of all of them; nil: none
	reading    *deviceReader    // of sources; nil: the CPU
	summing    *deviceSums      // nil: the CPU
	comparing  *deviceComparing // nil: the CPU
	lastUse    *lastUse         // of the device; nil: that is not looked for
	open       atomic.Bool      // the device is

	opened  func(context.Context) error // waits until a card of the device can be used
	lost    func() error                // says that the device is lost to this process
	stats   func() gpu.Stats            // of the device
	queued  atomic.Int64                // objects that wait for the device
	formed  atomic.Int64                // batches for the device
	batched atomic.Int64                // images in them
	halved  sync.Once                   // the log says that memory on the device is short
	left    sync.Once                   // and that images are done on the CPU
}

// pipelineOptions are those of newPipeline; all are set but the device and the log.
type pipelineOptions struct {
	device   *gpu.Device
	encodes  bool // and does not only decode
	opening  bool // objects are read while the device is opened
	cpu      int
	fetchers int
	memory   int64
	timeout  time.Duration // of one call of a codec
	log      *slog.Logger
	trace    *Trace // nil: none
}

// batchLanes is how many batches are at work at once for each card, so that one is
// on the card while the results of another are coded.
const batchLanes = 3

// spareLanes is how many more there are while cores are idle, and a whole batch waits or no other objects come, and while several batches
// wait: those at work wait for the card, where one step follows the other in each, or for each other where a codec leaves much to the cores.
const spareLanes = 6

// laneProcs is how many goroutines of a card's lanes run beside those that compute on the cores, see [pool.MakeRoom]. From 6 on more
// changed nothing for nine lanes beside 16 cores.
const laneProcs = 6

// spareLook is how often a batch that waits for a lane looks whether cores are idle.
const spareLook = 2 * time.Millisecond

// defaultFetchers is how many objects are fetched at once, and as many stored, for each card: each waits for its store or disk most of
// the time, and two cards have as many results as two machines.
const defaultFetchers = 16

// fetchersFor is how many objects are fetched at once, and as many stored, beside so many cards.
func fetchersFor(cards int) int { return defaultFetchers * max(1, cards) }

func newPipeline(o pipelineOptions) *pipeline {
	if o.log == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	cards := max(1, len(o.device.Cards()))
	lanes := batchLanes * cards
	memoryUse := forCPU
	if o.device != nil {
		switch memoryUse = forDevice; {
		case o.opening:
			memoryUse = forSources
		case o.encodes:
			memoryUse = forChecks
		}
	}
	p := &pipeline{
		device: o.device, log: o.log, trace: o.trace,
		window: o.fetchers + 2*o.cpu, cpu: o.cpu, cores: pool.Shared(o.cpu),
		budget: newBudget(o.memory, memoryUse, cards), guards: newGuards(o.timeout, o.log),
		laneGuards: newGuards(o.timeout, o.log), patience: o.timeout + time.Minute,
		cards: cards, lanes: make(chan struct{}, lanes), spare: make(chan struct{}, spareLanes*cards), fetches: make(chan struct{}, o.fetchers), stores: make(chan struct{}, o.fetchers),
		opened: o.device.Ready, lost: o.device.Err, stats: o.device.Stats,
	}
	if o.device != nil {
		// Those in batches at work, and some that are being collected: cores read them while the driver opens the
		// device, and while batches are there, also on all spare lanes.
		p.window += (2*lanes + spareLanes*cards + 2) * batchImages
		p.lender = newLender(o.device, p.budget.loans)
		if p.budget.sources > 0 {
			p.sources = newSourceMemory(o.device, p.budget.sources, o.log)
		}
		p.reading = newDeviceReader(p)
		p.cores.Feeds(p.hungry)
	}
	return p
}

// hungry reports whether the device has not many batches and none is about to come. Then cores read before they check: a card that
// waits for them now has the last images when they have nothing left to do.
func (p *pipeline) hungry() bool {
	return len(p.lanes)+len(p.spare) < cap(p.lanes)+cap(p.spare)/2 && p.queued.Load() < batchImages
}

// watch returns nil when ctx ends, [ErrStuck], or the loss of the card.
func (p *pipeline) watch(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var traced <-chan time.Time // never, without a trace
	if p.trace != nil {
		t := time.NewTicker(traceInterval)
		defer t.Stop()
		traced = t.C
	}
	var since time.Time
	var given int64 // how often memory was given at the last look
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-traced:
			p.trace.waits(p.waiting())
		case now := <-tick.C:
			if err := p.lost(); err != nil {
				return err
			}
			last := given
			given = p.budget.given.Load()
			switch {
			case !p.stuck() && (!p.starved() || given != last):
				since = time.Time{}
			case since.IsZero():
				since = now
				p.log.Error("codecs that do not end hold every core, the device or the memory", "calls", p.guards.stuck.Load()+p.laneGuards.stuck.Load())
			case now.Sub(since) > p.patience:
				return ErrStuck
			}
		}
	}
}

// waiting is how many objects wait for what, and how many cores are at work, those that
// work inside an image among them; for a trace.
func (p *pipeline) waiting() map[string]any {
	busy, waiting := p.cores.Load()
	return map[string]any{"cores at work": busy, "for a core": waiting, "for memory": p.budget.waiting.Load(), "for the device": p.queued.Load()}
}

// stuck reports whether calls that do not end hold every core, or every lane of the
// device that is taken and no fewer than there always are.
func (p *pipeline) stuck() bool {
	if p.guards.stuck.Load() >= int64(p.cpu) {
		return true
	}
	taken := max(cap(p.lanes), len(p.lanes)+len(p.spare))
	return p.device != nil && p.laneGuards.stuck.Load() >= int64(taken)
}

// starved reports whether objects wait for memory while calls that do not end hold some.
func (p *pipeline) starved() bool {
	return p.guards.stuck.Load()+p.laneGuards.stuck.Load() > 0 && p.budget.waiting.Load() > 0
}

// get reads the bytes of an object with a share of the memory for size bytes, or with
// the whole of it. On success o has both until it is released.
func (p *pipeline) get(ctx context.Context, o *object, whole bool, size int64, read func(context.Context) (storage.GetResult, error)) error {
	waited := o.delivery.waits()
	held, err := p.budget.take(ctx, size, whole)
	if err != nil {
		waited()
		return err
	}
	o.held = held
	held.delivery = o.delivery
	err = take(ctx, p.fetches)
	if waited(); err != nil {
		o.release()
		return err
	}
	row, start := p.trace.row(traceFetches), time.Now()
	got, err := read(ctx)
	row.span(stageFetch, start, map[string]any{"bytes": len(got.Data)})
	row.leave()
	<-p.fetches
	if err != nil {
		o.release()
		return err
	}
	o.data = got.Data
	return nil
}

// storing begins a transfer to the target, for which the caller has taken a place among
// p.stores. The caller calls end, which gives it back.
func (p *pipeline) storing() (end func()) {
	row, start := p.trace.row(traceStores), time.Now()
	return func() {
		row.span(stageStore, start, nil)
		row.leave()
		<-p.stores
	}
}

// each brings all objects that list gives through do, many at once, and after them,
// one at a time, those of which do says that they have to be tried alone. It returns
// the first error of list or do, which ends the others, or the cause of the end of ctx.
func (p *pipeline) each(ctx context.Context, list func(func(*object) error) error, do func(context.Context, *object) (alone bool, err error)) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	go func() {
		if err := p.watch(ctx); err != nil {
			fail(err)
		}
	}()
	objects := make(chan *object)
	var mu sync.Mutex
	var last []*object
	var work sync.WaitGroup
	for range p.window {
		work.Go(func() {
			for o := range objects {
				if ctx.Err() != nil {
					continue
				}
				alone, err := do(ctx, o)
				if err != nil {
					fail(err)
				}
				if alone {
					mu.Lock()
					last = append(last, o)
					mu.Unlock()
				}
			}
		})
	}
	err := list(func(o *object) error {
		select {
		case objects <- o:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(objects)
	work.Wait()
	for _, o := range last {
		if err == nil && ctx.Err() == nil {
			_, err = do(ctx, o.again())
		}
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// onCore runs part of the way of o with a core, for at most the time limit. work gets
// a copy of o, which becomes o when work succeeds: a call that was given up may still
// change its copy, but never o.
func (p *pipeline) onCore(ctx context.Context, o *object, work func(context.Context, *object) error) error {
	if err := p.awaitCore(ctx, o); err != nil {
		return err
	}
	return p.withCore(ctx, o, work)
}

// awaitCore waits for a core for o.
func (p *pipeline) awaitCore(ctx context.Context, o *object) error {
	defer o.delivery.waits()()
	return p.cores.Acquire(ctx, o.age)
}

// withCore is onCore with the core that o has, and gives it back.
func (p *pipeline) withCore(ctx context.Context, o *object, work func(context.Context, *object) error) error {
	o.begins()
	try := *o
	row, start := p.trace.row(traceCores), time.Now()
	try.row = row
	end := func() {
		row.span("object", start, nil)
		row.leave()
		took := time.Since(start)
		p.cores.Release()
		p.reading.onCore(took)
	}
	err := p.guards.run(ctx, end, func(ctx context.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				p.log.Warn("a codec or reader panicked", "job", o.job, "key", o.logKey, "stage", try.stage, "panic", v, "stack", string(debug.Stack()))
				err = try.panicked(v)
			}
		}()
		return work(ctx, &try)
	})
	if err != nil {
		return o.givenUp(err)
	}
	try.row = nil
	*o = try
	return nil
}

// take waits for a place in a semaphore.
func take(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	default:
	}
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
