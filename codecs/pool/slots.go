package pool

import (
	"container/heap"
	"context"
	"math"
	"sync"
	"sync/atomic"
)

// slots counts the goroutines of a pool that may still start, and knows who waits for
// one. A free goroutine and a waiting request never exist at the same time.
type slots struct {
	size int

	reserving chan struct{} // of one: has an element while somebody takes several

	mu      sync.Mutex
	free    int
	came    int64       // requests so far
	waiting requests    // but for those of feeding
	feeding requests    // whose work gives a device something to do
	hungry  func() bool // says that the device has nothing to do; nil: there is none

	// Copies of free and of how many wait that are read without the lock: a reader that
	// sees an old value looks again before its next piece of work.
	freeNow, waitingNow atomic.Int64
}

// request waits for a goroutine.
type request struct {
	age, came int64
	line      *requests // waiting or feeding
	place     int       // in the heap; -1: not in it
	grant     func()    // called with the lock held
}

// before reports whether r is served before o.
func (r *request) before(o *request) bool {
	if r.age != o.age {
		return r.age < o.age
	}
	return r.came < o.came
}

// firstInLine is the age of requests that are served before all images.
const firstInLine = math.MinInt64

func newSlots(size, free int) *slots {
	s := &slots{size: size, free: free, reserving: make(chan struct{}, 1)}
	s.freeNow.Store(int64(free))
	return s
}

// wanted reports whether somebody waits for a goroutine.
func (s *slots) wanted() bool { return s.waitingNow.Load() > 0 }

// load is how many goroutines are at work and how many requests wait.
func (s *slots) load() (busy, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size - s.free, s.inLine()
}

// inLine is how many requests wait. The caller holds the lock, as for all methods below that do not take it.
func (s *slots) inLine() int { return len(s.waiting) + len(s.feeding) }

// next is the line whose first request is served next: that of work for a device, while it has nothing to do, before all
// but what goes first.
func (s *slots) next() *requests {
	switch {
	case len(s.feeding) == 0:
		return &s.waiting
	case len(s.waiting) == 0:
		return &s.feeding
	case s.waiting[0].age != firstInLine && s.hungry != nil && s.hungry():
		return &s.feeding
	case s.feeding[0].before(s.waiting[0]):
		return &s.feeding
	}
	return &s.waiting
}

// tryAcquire takes a goroutine if one is free.
func (s *slots) tryAcquire() bool {
	if s.freeNow.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeFree()
}

func (s *slots) takeFree() bool {
	if s.free == 0 {
		return false
	}
	s.free--
	s.freeNow.Store(int64(s.free))
	return true
}

// acquire waits for a goroutine in one of the lines.
func (s *slots) acquire(ctx context.Context, age int64, line *requests) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	if s.takeFree() {
		s.mu.Unlock()
		return nil
	}
	granted := make(chan struct{})
	r := s.request(age, line, func() { close(granted) })
	s.mu.Unlock()
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	withdrawn := s.withdraw(r)
	s.mu.Unlock()
	if !withdrawn {
		s.release() // it was granted meanwhile
	}
	return context.Cause(ctx)
}

// acquireFirst waits for a goroutine before all images, however long.
func (s *slots) acquireFirst() {
	s.mu.Lock()
	granted := make(chan struct{})
	s.request(firstInLine, &s.waiting, func() { close(granted) })
	s.mu.Unlock()
	<-granted
}

// release gives a goroutine back: to the first in line, if somebody waits.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inLine() == 0 {
		s.free++
		s.freeNow.Store(int64(s.free))
		return
	}
	r := heap.Pop(s.next()).(*request)
	s.waitingNow.Store(int64(s.inLine()))
	r.grant()
}

// request puts a request in a line. Where a goroutine is free it is granted at once.
func (s *slots) request(age int64, line *requests, grant func()) *request {
	r := &request{age: age, came: s.came, line: line, place: -1, grant: grant}
	s.came++
	if s.takeFree() {
		grant()
		return r
	}
	heap.Push(line, r)
	s.waitingNow.Store(int64(s.inLine()))
	return r
}

// withdraw takes a request out of its line and reports whether it was there.
func (s *slots) withdraw(r *request) bool {
	if r == nil || r.place < 0 {
		return false
	}
	heap.Remove(r.line, r.place)
	s.waitingNow.Store(int64(s.inLine()))
	return true
}

// requests is a heap for [container/heap].
type requests []*request

func (h requests) Len() int           { return len(h) }
func (h requests) Less(i, j int) bool { return h[i].before(h[j]) }
func (h requests) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}
func (h *requests) Push(x any) {
	r := x.(*request)
	r.place = len(*h)
	*h = append(*h, r)
}
func (h *requests) Pop() any {
	old := *h
	r := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	r.place = -1
	return r
}
