// Package pool shares the cores of a process between the images that are at work and
// the work inside each image. Many small images run one image per goroutine; a lone
// large image gets all cores. Who does which piece of work never shows in the result.
//
// A pool has a fixed number of goroutines. The worker has one pool, made by [Shared],
// for all its images: an image takes one goroutine with [Pool.Acquire], and what the
// codec does inside the image with [Pool.Each] takes those that no image waits for.
// So there are never more goroutines at work than the pool has, however many images
// there are. Whoever has no pool makes one with [New] or [Of] and is itself the first
// of its goroutines.
package pool

import (
	"context"
	"sync"
	"sync/atomic"
)

// Pool is a number of goroutines that its callers share. All methods are safe for
// concurrent use.
type Pool struct {
	slots *slots
	first bool // see [Pool.First]
}

// New returns a pool of as many goroutines as there are [Cores], of which the caller is one.
func New() *Pool { return Of(Cores()) }

// Of returns a pool of n goroutines, at least one, of which the caller is one.
func Of(n int) *Pool {
	n = max(n, 1)
	return &Pool{slots: newSlots(n, n-1)}
}

// Shared returns a pool of n goroutines, at least one, none of which is at work. A
// caller of Each is counted after it has called Acquire.
func Shared(n int) *Pool {
	n = max(n, 1)
	return &Pool{slots: newSlots(n, n)}
}

// First returns p for calls that must not wait for others, such as those that a
// device waits for: goroutines that become free are theirs before anybody else's. The
// caller of such a call needs no Acquire; it works beside the goroutines of the pool.
func (p *Pool) First() *Pool { return &Pool{slots: p.slots, first: true} }

// Size is the number of goroutines.
func (p *Pool) Size() int { return p.slots.size }

// Load is how many goroutines are at work, and how many calls of Acquire wait.
func (p *Pool) Load() (busy, waiting int) { return p.slots.load() }

// Acquire waits until the calling goroutine is one of the pool's. Those that wait are
// served by age: the lowest first, and among equals in the order in which they came.
// The error is the cause of the end of ctx. The caller calls Release once.
func (p *Pool) Acquire(ctx context.Context, age int64) error {
	return p.slots.acquire(ctx, age, &p.slots.waiting)
}

// AcquireToFeed is Acquire for work that gives a device something to do: while hungry says that the device has nothing, it
// goes before all work of images; see [Pool.Feeds].
func (p *Pool) AcquireToFeed(ctx context.Context, age int64) error {
	return p.slots.acquire(ctx, age, &p.slots.feeding)
}

// Feeds sets hungry, which is called with a lock held: it must not wait, nor call the pool. It is called before anything is
// acquired.
func (p *Pool) Feeds(hungry func() bool) { p.slots.hungry = hungry }

// Reserve takes n goroutines, at most all, before all others get one, and keeps them from images until release is called: for
// short work of many goroutines that are none of the pool's, each of which would wait for those that are. The error is the cause
// of the end of ctx; nothing is taken then.
func (p *Pool) Reserve(ctx context.Context, n int) (release func(), err error) {
	// Two that had a part each would wait for each other.
	select {
	case p.slots.reserving <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-p.slots.reserving }()
	taken := 0
	release = func() {
		for range taken {
			p.slots.release()
		}
	}
	for taken < min(n, p.Size()) {
		if err := p.slots.acquire(ctx, firstInLine, &p.slots.waiting); err != nil {
			release()
			return nil, err
		}
		taken++
	}
	return release, nil
}

// Release gives back what Acquire took.
func (p *Pool) Release() { p.slots.release() }

// Work runs f as one of the pool's goroutines, for which it waits before all others. The caller is none of them.
func (p *Pool) Work(f func()) {
	p.slots.acquireFirst()
	defer p.slots.release()
	f()
}

// Rest runs f, which only waits, while others have the goroutine of the caller, who has it back before all others when
// Rest returns.
func (p *Pool) Rest(f func()) {
	p.slots.release()
	defer p.slots.acquireFirst()
	f()
}

// Lend is Rest for the caller of a codec, who has a goroutine to lend unless it works beside those of the pool; see
// [Pool.First].
func (p *Pool) Lend(f func()) {
	if p.first {
		f()
		return
	}
	p.Rest(f)
}

// Each calls f(0) to f(n-1), on the calling goroutine and on as many others as are
// free, also those that become so meanwhile, and returns when all calls have. The
// caller itself always goes on, so calls of Each inside f cannot lock each other
// out. A panic in f reaches the caller, after which some calls may not be made.
func (p *Pool) Each(n int, f func(i int)) {
	if n <= 1 {
		if n == 1 {
			f(0)
		}
		return
	}
	e := &each{pool: p, n: int64(n), f: f}
	defer e.end()
	e.callerWork()
}

// Beside calls f while the caller goes on with something else, as with what it waits for a device to do. What it returns waits until f
// has ended, and panics where f did: in the goroutine of a caller who knows what to do about it. It has to be called.
func Beside(f func()) (wait func()) {
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		f()
	}()
	return func() {
		if p := <-done; p != nil {
			panic(p)
		}
	}
}

// Spans divides n items into pieces of size and calls f with the limits of each.
func (p *Pool) Spans(n, size int, f func(lo, hi int)) {
	p.Each((n+size-1)/size, func(i int) {
		f(i*size, min(n, (i+1)*size))
	})
}

// each is one call of Each.
type each struct {
	pool *Pool
	n    int64
	f    func(i int)
	next atomic.Int64

	helpers sync.WaitGroup
	once    sync.Once
	failure any // the first panic of a helper

	asking atomic.Bool // a request for a goroutine waits
	wish   *request    // that request; guarded by slots.mu
	over   bool        // no more helpers start; guarded by slots.mu
}

// callerWork makes calls until none is left.
func (e *each) callerWork() {
	done := false
	defer func() {
		if !done {
			e.next.Store(e.n) // f panicked: helpers make no more calls
		}
	}()
	for e.call() {
	}
	done = true
}

// call makes the next call, if there is one. Where more are left it looks for a helper
// first.
func (e *each) call() bool {
	i := e.next.Add(1) - 1
	if i >= e.n {
		return false
	}
	if i < e.n-1 {
		e.findHelper()
	}
	e.f(int(i))
	return true
}

// findHelper starts a helper if a goroutine is free, and that one looks for another.
// A call that goes first waits in line for one.
func (e *each) findHelper() {
	s := e.pool.slots
	switch {
	case s.tryAcquire():
		e.start()
	case e.pool.first && e.asking.CompareAndSwap(false, true):
		s.mu.Lock()
		defer s.mu.Unlock()
		if !e.over {
			e.wish = s.request(firstInLine, &s.waiting, func() {
				e.asking.Store(false)
				e.start()
			})
		}
	}
}

// start starts a helper with a goroutine of the pool that was just taken.
func (e *each) start() {
	e.helpers.Go(func() {
		s := e.pool.slots
		defer s.release()
		defer func() {
			if v := recover(); v != nil {
				e.once.Do(func() { e.failure = v })
				e.next.Store(e.n)
			}
		}()
		// Between two calls a helper makes way for an image that waits.
		for (e.pool.first || !s.wanted()) && e.call() {
		}
	})
}

// end waits for the helpers and passes their panic on.
func (e *each) end() {
	if e.pool.first {
		s := e.pool.slots
		s.mu.Lock()
		e.over = true
		s.withdraw(e.wish)
		s.mu.Unlock()
	}
	e.helpers.Wait()
	if e.failure != nil {
		panic(e.failure)
	}
}
