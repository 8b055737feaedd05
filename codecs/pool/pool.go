// Package pool shares the cores between the images of a batch and the work inside
// each image. A batch of many small images runs one image per goroutine; a lone
// large image gets them all. Who does which piece of work never shows in the result.
package pool

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Pool is a number of goroutines, of which the callers of its methods are some.
type Pool struct {
	idle chan struct{} // one token per goroutine that may still be started
}

// New returns a pool of GOMAXPROCS goroutines.
func New() *Pool { return Of(runtime.GOMAXPROCS(0)) }

// Of returns a pool of n goroutines, at least one.
func Of(n int) *Pool {
	c := &Pool{idle: make(chan struct{}, max(n, 1))}
	for range n - 1 {
		c.idle <- struct{}{}
	}
	return c
}

// Size is the number of goroutines.
func (c *Pool) Size() int { return cap(c.idle) }

// Each calls f(0) to f(n-1), on the calling goroutine and on as many others as
// are idle, also those that become so meanwhile, and returns when all calls have. A
// panic in f reaches the caller.
func (c *Pool) Each(n int, f func(i int)) {
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

// Spans cuts n items into pieces of size and calls f with the limits of each.
func (c *Pool) Spans(n, size int, f func(lo, hi int)) {
	c.Each((n+size-1)/size, func(i int) {
		f(i*size, min(n, (i+1)*size))
	})
}

// Sets divides items into sets of neighbours, each of at most count items whose sizes are
// at most most together. What is larger is a set of its own.
func Sets(items []int, most, count int, size func(item int) int) [][]int {
	var sets [][]int
	all := 0 // of the last set
	for _, i := range items {
		n := size(i)
		if last := len(sets) - 1; last >= 0 && len(sets[last]) < count && all+n <= most {
			sets[last] = append(sets[last], i)
			all += n
			continue
		}
		sets = append(sets, []int{i})
		all = n
	}
	return sets
}
