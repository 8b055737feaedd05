package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestRunsEverythingOnceAndPassesPanics(t *testing.T) {
	c := New()
	for _, n := range []int{0, 1, 2, 1000} {
		var done [1000]int
		c.Each(n, func(i int) { done[i]++ })
		for i, d := range done {
			if want := 0; i < n && d != 1 || i >= n && d != want {
				t.Fatalf("n=%d: item %d ran %d times", n, i, d)
			}
		}
	}
	for _, n := range []int{1, 64} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a panic got lost")
				}
			}()
			c.Each(n, func(i int) {
				if i == n-1 {
					panic(fmt.Sprint("item ", i))
				}
			})
		}()
	}
	if free := c.slots.free; free != c.Size()-1 {
		t.Errorf("%d of %d goroutines are free again", free, c.Size()-1)
	}
}

// atOnce counts how many goroutines are at work at once.
type atOnce struct{ now, most atomic.Int64 }

func (a *atOnce) work(do func()) {
	n := a.now.Add(1)
	for most := a.most.Load(); n > most && !a.most.CompareAndSwap(most, n); most = a.most.Load() {
	}
	do()
	a.now.Add(-1)
}

// Many images with work inside each never have more goroutines than the pool, and
// everything is done once.
func TestImagesShareOnePool(t *testing.T) {
	const size, images, rows = 4, 30, 50
	p := Shared(size)
	var running atOnce
	var done atomic.Int64
	var all sync.WaitGroup
	for range images {
		all.Go(func() {
			if err := p.Acquire(t.Context(), 0); err != nil {
				t.Error(err)
				return
			}
			defer p.Release()
			p.Each(rows, func(int) {
				// Work inside work: the goroutine counts once.
				running.work(func() { done.Add(1) })
				p.Spans(10, 5, func(lo, hi int) { done.Add(int64(hi - lo)) })
			})
		})
	}
	all.Wait()
	if n := done.Load(); n != 11*images*rows {
		t.Errorf("%d pieces of work were done, want %d", n, 11*images*rows)
	}
	if most := running.most.Load(); most > size {
		t.Errorf("%d goroutines at once, want at most %d", most, size)
	}
	if p.slots.free != size || len(p.slots.waiting) > 0 {
		t.Errorf("%d goroutines are free and %d requests wait, want all free", p.slots.free, len(p.slots.waiting))
	}
}

// A lone image gets every goroutine, and gives one back as soon as another image waits.
func TestHelpersMakeWayForImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 3
		p := Shared(size)
		if err := p.Acquire(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		var running atOnce
		steps := make(chan struct{}) // each value ends one call
		var all sync.WaitGroup
		all.Go(func() {
			defer p.Release()
			p.Each(100, func(int) { running.work(func() { <-steps }) })
		})
		synctest.Wait()
		if n := running.now.Load(); n != size {
			t.Errorf("%d goroutines work on the only image, want %d", n, size)
		}
		var second atomic.Bool
		all.Go(func() {
			if err := p.Acquire(t.Context(), 7); err != nil {
				t.Error(err)
			}
			second.Store(true)
		})
		synctest.Wait()
		// The caller of Each does not make way, so one of two calls to end is a helper's.
		for range 2 {
			steps <- struct{}{}
			synctest.Wait()
		}
		for range 2 * size {
			if !second.Load() {
				steps <- struct{}{}
				synctest.Wait()
			}
		}
		if n := running.now.Load(); !second.Load() || n != size-1 {
			t.Errorf("the second image works: %v; %d goroutines are left to the first, want %d", second.Load(), n, size-1)
		}
		p.Release()
		close(steps)
		all.Wait()
		if p.slots.free != size {
			t.Errorf("%d goroutines are free, want %d", p.slots.free, size)
		}
	})
}

// The caller of a call that goes first is not stopped by a pool without a free
// goroutine, and gets the next one before an image that waited longer.
func TestFirstIsServedBeforeImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Shared(1)
		if err := p.Acquire(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		var image atomic.Bool
		var all sync.WaitGroup
		all.Go(func() {
			if err := p.Acquire(t.Context(), 0); err != nil {
				t.Error(err)
			}
			image.Store(true)
			p.Release()
		})
		synctest.Wait()
		var running atOnce
		steps := make(chan struct{})
		all.Go(func() {
			p.First().Each(10, func(int) { running.work(func() { <-steps }) })
		})
		synctest.Wait()
		if n := running.now.Load(); n != 1 {
			t.Errorf("%d goroutines, want the caller alone", n)
		}
		p.Release()
		synctest.Wait()
		if n := running.now.Load(); n != 2 || image.Load() {
			t.Errorf("%d goroutines, want 2; the image works: %v", n, image.Load())
		}
		close(steps)
		all.Wait()
		if !image.Load() || p.slots.free != 1 || len(p.slots.waiting) != 0 {
			t.Errorf("image %v, %d free, %d wait", image.Load(), p.slots.free, len(p.slots.waiting))
		}
	})
}

// A request that was not granted when the call ends is withdrawn.
func TestFirstLeavesNoRequest(t *testing.T) {
	p := Shared(1)
	if err := p.Acquire(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for _, panics := range []bool{false, true} {
		func() {
			defer func() {
				if (recover() != nil) != panics {
					t.Errorf("panics: %v", panics)
				}
			}()
			p.First().Each(5, func(i int) {
				if i == 3 && panics {
					panic("boo")
				}
			})
		}()
	}
	if n := len(p.slots.waiting); n != 0 {
		t.Errorf("%d requests are left", n)
	}
}

func TestAcquireGoesByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Shared(1)
		ctx := t.Context()
		if err := p.Acquire(ctx, 1); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []int64
		var all sync.WaitGroup
		gone := errors.New("gone")
		for _, age := range []int64{5, 2, 9, 2} {
			all.Go(func() {
				if err := p.Acquire(ctx, age); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, age)
				mu.Unlock()
				p.Release()
			})
			synctest.Wait()
		}
		short, cancel := context.WithCancelCause(ctx)
		all.Go(func() {
			if err := p.Acquire(short, 0); !errors.Is(err, gone) {
				t.Errorf("%v, want the cause of the end", err)
			}
		})
		synctest.Wait()
		cancel(gone)
		synctest.Wait()
		p.Release()
		all.Wait()
		if want := []int64{2, 2, 5, 9}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		if p.slots.free != 1 {
			t.Errorf("%d goroutines are free, want 1", p.slots.free)
		}
	})
}

// BenchmarkEach is what sharing out tiny pieces of work costs.
func BenchmarkEach(b *testing.B) {
	p := New()
	var sink atomic.Int64
	b.ReportAllocs()
	for b.Loop() {
		p.Each(1000, func(i int) { sink.Add(int64(i)) })
	}
}
