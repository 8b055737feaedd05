package worker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Who wants a value at the same time waits for one read, and an error is not kept.
func TestCacheReadsOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache[int](4)
		var reads atomic.Int64
		release := make(chan struct{})
		broken := errors.New("broken")
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				_, err := c.get(t.Context(), "a", func(context.Context) (int, error) {
					reads.Add(1)
					<-release
					return 0, broken
				})
				if !errors.Is(err, broken) {
					t.Errorf("%v, want %v", err, broken)
				}
			})
		}
		synctest.Wait()
		close(release)
		all.Wait()
		for range 3 {
			v, err := c.get(t.Context(), "a", func(context.Context) (int, error) { reads.Add(1); return 7, nil })
			if v != 7 || err != nil {
				t.Errorf("%d, %v", v, err)
			}
		}
		if n := reads.Load(); n != 2 {
			t.Errorf("%d reads, want one that failed and one that is kept", n)
		}
	})
}

// The end of the caller that reads is not the end of those that wait with it.
func TestCacheOutlivesTheCallerThatReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache[int](4)
		read := func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		short, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := c.get(short, "a", read); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want the end of its context", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			v, err := c.get(t.Context(), "a", func(context.Context) (int, error) { return 5, nil })
			if v != 5 || err != nil {
				t.Errorf("%d, %v, want the value", v, err)
			}
		})
		synctest.Wait()
		cancel()
		all.Wait()
	})
}

// What was used last stays, within the number of values and their weight, and a value
// that is no longer valid is read again.
func TestCacheIsBounded(t *testing.T) {
	var valid atomic.Bool
	valid.Store(true)
	c := newCache[int](3).weighing(100, func(v int) int { return v }).checking(func(int) bool { return valid.Load() })
	var reads int
	get := func(key string, v int) {
		t.Helper()
		if got, err := c.get(t.Context(), key, func(context.Context) (int, error) { reads++; return v, nil }); got != v || err != nil {
			t.Errorf("%s: %d, %v", key, got, err)
		}
	}
	get("a", 10)
	get("b", 20)
	get("a", 10)
	get("c", 30)
	get("d", 40) // b goes
	get("a", 10)
	if n := c.total.Load(); reads != 4 || n != 80 {
		t.Errorf("%d reads and a weight of %d, want 4 and 80", reads, n)
	}
	get("heavy", 1000) // is kept alone
	if n := c.total.Load(); c.values.Len() != 1 || n != 1000 {
		t.Errorf("%d values of weight %d, want the heavy one alone", c.values.Len(), n)
	}
	valid.Store(false)
	get("heavy", 1000)
	if n := c.total.Load(); reads != 6 || n != 1000 {
		t.Errorf("%d reads and a weight of %d, want 6 and 1000", reads, n)
	}
}
