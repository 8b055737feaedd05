package intake

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/scheduler"
)

// A job whose follow-up fails, or that ends while no process could do it, stays until one has, and is followed up once.
func TestEndedJobsAreFollowedUp(t *testing.T) {
	r := newRig(t, t.TempDir(), t.TempDir())
	var mu sync.Mutex
	tried, seen := map[string]int{}, map[string]int{}
	options := func(good bool) *Options {
		return &Options{Every: 100 * time.Millisecond, BatchWait: 20 * time.Millisecond, KeepLast: -1, Ended: func(_ context.Context, job string) error {
			mu.Lock()
			defer mu.Unlock()
			if tried[job]++; !good {
				return errors.New("test")
			}
			seen[job]++
			return nil
		}}
	}
	count := func(of map[string]int) int {
		mu.Lock()
		defer mu.Unlock()
		return len(of)
	}
	stop := r.start(options(false))
	for n := range 2 { // a batch each
		r.put(n)
		faults.Until(t, time.Minute, "the follow-up of a batch", func() bool { return n == 0 && count(tried) == 1 || n == 1 && r.results() == 2 })
	}
	r.settled()
	stop()
	client := &scheduler.Client{Buckets: r.buckets}
	if p, err := client.Prune(t.Context(), r.target, scheduler.PruneRule{KeepLast: 1}, false); err != nil || len(p.Jobs) != 0 || len(p.Kept) != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	stop = r.start(options(true))
	faults.Until(t, time.Minute, "both follow-ups", func() bool { return count(seen) == 2 })
	r.put(2)
	faults.Until(t, time.Minute, "the third follow-up", func() bool { return count(seen) == 3 })
	faults.Until(t, time.Minute, "the records of all follow-ups", func() bool { // a stop before its record would repeat the third
		due, err := client.FollowUps(t.Context(), r.target)
		return err == nil && len(due) == 0
	})
	stop()
	for job, n := range seen {
		if n != 1 {
			t.Errorf("job %s was followed up %d times", job, n)
		}
	}
	p, err := client.Prune(t.Context(), r.target, scheduler.PruneRule{KeepLast: 1}, false)
	if err != nil || len(p.Jobs) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	if due, err := client.FollowUps(t.Context(), r.target); err != nil || len(due) != 0 {
		t.Errorf("after the prune: %d jobs, %v", len(due), err)
	}
}

// A file that somebody writes slowly is taken when its time is long enough ago, and then once.
func TestFilesSettle(t *testing.T) {
	r := newRig(t, t.TempDir(), t.TempDir())
	image := faults.Image(1, "slow.png", 30, 30)
	name := filepath.Join(r.source, "slow.png")
	write := func(n int) {
		if err := os.WriteFile(name, image.Data[:n], 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(len(image.Data) / 2)
	lately := time.Now().Add(time.Hour / 2) // of the future, but not so far that it says nothing
	if err := os.Chtimes(name, lately, lately); err != nil {
		t.Fatal(err)
	}
	r.put(1)
	r.keys = []string{"slow.png", r.keys[0]}
	past := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(r.source, r.keys[1]), past, past); err != nil {
		t.Fatal(err)
	}
	r.start(&Options{Every: 50 * time.Millisecond, BatchWait: 20 * time.Millisecond, Settle: time.Hour})
	faults.Until(t, time.Minute, "the old file's result", func() bool { return r.results() == 1 })
	r.settled()
	write(len(image.Data))
	if err := os.Chtimes(name, past, past); err != nil {
		t.Fatal(err)
	}
	r.done()
	r.settled()
	r.exactlyOnce()
}
