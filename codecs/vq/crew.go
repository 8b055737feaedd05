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

func newCrew() *crew { return crewOf(runtime.GOMAXPROCS(0)) }

func crewOf(n int) *crew {
	c := &crew{idle: make(chan struct{}, max(n, 1))}
	for range n - 1 {
		c.idle <- struct{}{}
	}
	return c
}

// each calls f(0) to f(n-1), on the calling goroutine and on as many others as
// are idle, also those that become so meanwhile, and returns when all calls have. A
// panic in f reaches the caller.
func (c *crew) each(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	var once sync.Once
	var failure any
	var help func()
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if i < n-1 {
				help()
			}
			f(i)
		}
	}
	// help starts one more goroutine, which starts another, as long as there are idle
	// ones and calls to make.
	help = func() {
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
		default:
		}
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
