package vq

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// crew shares GOMAXPROCS goroutines between the pictures of a batch and the work
// inside each picture. A batch of many small pictures runs one picture per
// goroutine; a lone large picture gets them all. Who does which piece of work
// never shows in the result.
type crew struct {
	idle chan struct{} // one token per goroutine that may still be started
}

func newCrew() *crew {
	n := runtime.GOMAXPROCS(0)
	c := &crew{idle: make(chan struct{}, n)}
	for range n - 1 {
		c.idle <- struct{}{}
	}
	return c
}

// each calls f(0) to f(n-1), on the calling goroutine and on as many others as
// are idle, and returns when all calls have. A panic in f reaches the caller.
func (c *crew) each(n int, f func(i int)) {
	var next atomic.Int64
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			f(i)
		}
	}
	var wg sync.WaitGroup
	var once sync.Once
	var failure any
	for range n - 1 {
		select {
		case <-c.idle:
			wg.Go(func() {
				defer func() {
					if p := recover(); p != nil {
						once.Do(func() { failure = p })
						next.Store(int64(n))
					}
					c.idle <- struct{}{}
				}()
				work()
			})
			continue
		default:
		}
		break
	}
	defer func() {
		wg.Wait()
		if failure != nil {
			panic(failure)
		}
	}()
	work()
}

// spans cuts n items into pieces of size and calls f with the limits of each.
func (c *crew) spans(n, size int, f func(lo, hi int)) {
	c.each((n+size-1)/size, func(i int) {
		f(i*size, min(n, (i+1)*size))
	})
}
