package worker

import (
	"container/heap"
	"context"
	"sync"
)

// tokens is a semaphore whose waiters are served by age: the lowest first, and
// among equals in the order in which they came.
type tokens struct {
	mu      sync.Mutex
	free    int
	came    int64
	waiting waiters
}

type waiter struct {
	age, came int64
	place     int // in the heap; -1: not in it any more
	granted   chan struct{}
}

func newTokens(n int) *tokens { return &tokens{free: n} }

// acquire waits for a token.
func (t *tokens) acquire(ctx context.Context, age int64) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	t.mu.Lock()
	if t.free > 0 && len(t.waiting) == 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	t.came++
	w := &waiter{age: age, came: t.came, granted: make(chan struct{})}
	heap.Push(&t.waiting, w)
	t.mu.Unlock()
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	left := w.place >= 0
	if left {
		heap.Remove(&t.waiting, w.place)
	}
	t.mu.Unlock()
	if !left {
		t.release() // it was granted meanwhile
	}
	return context.Cause(ctx)
}

// release gives a token back.
func (t *tokens) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.free++
		return
	}
	close(heap.Pop(&t.waiting).(*waiter).granted)
}

// waiters is a heap for container/heap.
type waiters []*waiter

func (h waiters) Len() int { return len(h) }
func (h waiters) Less(i, j int) bool {
	if h[i].age != h[j].age {
		return h[i].age < h[j].age
	}
	return h[i].came < h[j].came
}
func (h waiters) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}
func (h *waiters) Push(x any) {
	w := x.(*waiter)
	w.place = len(*h)
	*h = append(*h, w)
}
func (h *waiters) Pop() any {
	old := *h
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	w.place = -1
	return w
}
