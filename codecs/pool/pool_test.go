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
type atOnce struct{ now, most, ran atomic.Int64 }

func (a *atOnce) work(do func()) {
	n := a.now.Add(1)
	for most := a.most.Load(); n > most && !a.most.CompareAndSwap(most, n); most = a.most.Load() {
	}
	do()
	a.ran.Add(1)
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

// Work for a device goes by age among the rest, and before it while the device has nothing to do, but never before what goes first.
func TestFeedingGoesFirstWhileTheDeviceIsHungry(t *testing.T) {
	for _, c := range []struct {
		name   string
		hungry bool
		want   []string
	}{
		{"the device has work", false, []string{"first", "check 1", "feed 2", "check 3", "feed 3", "feed 4"}},
		{"it has none", true, []string{"first", "feed 2", "feed 3", "feed 4", "check 1", "check 3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := Shared(1)
				p.Feeds(func() bool { return c.hungry })
				if err := p.AcquireToFeed(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				var order []string // by who has the goroutine
				var all sync.WaitGroup
				wait := func(name string, acquire func() error) {
					all.Go(func() {
						if err := acquire(); err != nil {
							t.Error(err)
						}
						order = append(order, name)
						p.Release()
					})
					synctest.Wait()
				}
				wait("feed 4", func() error { return p.AcquireToFeed(t.Context(), 4) })
				wait("check 3", func() error { return p.Acquire(t.Context(), 3) })
				wait("feed 3", func() error { return p.AcquireToFeed(t.Context(), 3) })
				wait("check 1", func() error { return p.Acquire(t.Context(), 1) })
				wait("feed 2", func() error { return p.AcquireToFeed(t.Context(), 2) })
				wait("first", func() error { p.slots.acquireFirst(); return nil })
				gone := errors.New("gone")
				short, cancel := context.WithCancelCause(t.Context())
				all.Go(func() {
					if err := p.AcquireToFeed(short, 0); !errors.Is(err, gone) {
						t.Errorf("%v, want the cause of the end", err)
					}
				})
				synctest.Wait()
				cancel(gone)
				synctest.Wait()
				if busy, waiting := p.Load(); busy != 1 || waiting != len(c.want) {
					t.Errorf("%d at work and %d waiting, want 1 and %d", busy, waiting, len(c.want))
				}
				p.Release()
				all.Wait()
				if !slices.Equal(order, c.want) {
					t.Errorf("order %q, want %q", order, c.want)
				}
			})
		})
	}
}

// Who takes several goroutines has them before images that wait, and those before the next who does.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Shared(4)
		for range 4 {
			if err := p.Acquire(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		var order []string
		all.Go(func() {
			if err := p.Acquire(t.Context(), 0); err != nil {
				t.Error(err)
			}
			order = append(order, "image")
			p.Release()
		})
		synctest.Wait()
		for range 2 {
			all.Go(func() {
				release, err := p.Reserve(t.Context(), 9) // all there are
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, "reserved")
				release()
			})
			synctest.Wait()
		}
		gone := errors.New("gone")
		short, cancel := context.WithCancelCause(t.Context())
		all.Go(func() {
			if _, err := p.Reserve(short, 1); !errors.Is(err, gone) {
				t.Errorf("%v, want the cause of the end", err)
			}
		})
		synctest.Wait()
		cancel(gone)
		for range 4 {
			p.Release()
			synctest.Wait()
		}
		all.Wait()
		for range 3 { // a part of what is asked for
			if err := p.Acquire(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		short, cancel = context.WithCancelCause(t.Context())
		all.Go(func() {
			if _, err := p.Reserve(short, 2); !errors.Is(err, gone) {
				t.Errorf("%v, want the cause of the end", err)
			}
		})
		synctest.Wait()
		cancel(gone)
		all.Wait()
		for range 3 {
			p.Release()
		}
		if want := []string{"reserved", "image", "reserved"}; !slices.Equal(order, want) {
			t.Errorf("order %q, want %q", order, want)
		}
		if p.slots.free != 4 {
			t.Errorf("%d goroutines are free, want 4", p.slots.free)
		}
	})
}

// Who works beside the pool's goroutines waits for one of them, before all images, and lets others have it while it rests.
func TestWorkAndRest(t *testing.T) {
	for name, p := range map[string]*Pool{"any": Shared(2), "first": Shared(2).First()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &Pool{slots: newSlots(2, 2), first: p.first}
				const n = 5
				var now atOnce
				var all sync.WaitGroup
				answer := make(chan struct{})
				for range n {
					all.Go(func() {
						p.Work(func() {
							now.work(func() {})
							p.Rest(func() { <-answer })
							now.work(func() {})
						})
					})
				}
				synctest.Wait()
				if busy, waiting := p.Load(); busy != 0 || waiting != 0 {
					t.Errorf("%d goroutines are at work and %d wait while all rest", busy, waiting)
				}
				for range 2 {
					if err := p.Acquire(t.Context(), 0); err != nil {
						t.Fatal(err)
					}
				}
				image := make(chan struct{})
				all.Go(func() {
					if err := p.Acquire(t.Context(), 0); err != nil {
						t.Error(err)
					}
					if got := now.ran.Load(); got != 2*n {
						t.Errorf("an image comes after %d of %d pieces of work", got, 2*n)
					}
					close(image)
					p.Release()
				})
				synctest.Wait()
				close(answer)
				synctest.Wait()
				if busy, waiting := p.Load(); busy != 2 || waiting != n+1 {
					t.Errorf("%d goroutines are at work and %d wait, want 2 and %d", busy, waiting, n+1)
				}
				p.Release()
				<-image
				p.Release()
				all.Wait()
				if most := now.most.Load(); most > 2 {
					t.Errorf("%d at once", most)
				}
				if p.slots.free != 2 {
					t.Errorf("%d goroutines are free, want 2", p.slots.free)
				}
			})
		})
	}
}

// The caller of a codec lends the goroutine that it has.
func TestLend(t *testing.T) {
	for name, c := range map[string]struct {
		pool       *Pool
		busy, lent int
	}{"its own": {Of(1), 1, 0}, "beside": {Shared(1).First(), 0, 0}} {
		t.Run(name, func(t *testing.T) {
			load := func(want int) {
				t.Helper()
				if busy, _ := c.pool.Load(); busy != want {
					t.Errorf("%d goroutines are at work, want %d", busy, want)
				}
			}
			load(c.busy)
			c.pool.Lend(func() {
				load(c.lent)
				c.pool.Work(func() { load(c.lent + 1) })
			})
			load(c.busy)
			func() {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				c.pool.Lend(func() { panic("boo") })
			}()
			load(c.busy)
		})
	}
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

// What runs beside a caller is waited for, and its panic comes to whoever waits, once.
func TestBeside(t *testing.T) {
	hold, ended := make(chan struct{}), false
	wait := Beside(func() { <-hold; ended = true })
	close(hold)
	if wait(); !ended {
		t.Error("the caller did not wait")
	}
	wait = Beside(func() { panic("out of luck") })
	defer func() {
		if p := recover(); p != "out of luck" {
			t.Errorf("the caller hears of %v", p)
		}
	}()
	wait()
}
