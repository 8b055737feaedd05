package worker

import (
	"context"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
)

// An object that waits for a share of a limit goes on when another limit holds, and ends with its chunk.
func TestLimitsChangeWhileObjectsWait(t *testing.T) {
	t.Parallel()
	conn, err := queue.Open(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	job := conn.Job("20260101-000000-aaaa")
	c := &chunk{w: &Worker{conn: conn}, task: jobs.Task{Job: "20260101-000000-aaaa"}}
	set := func(r jobs.Rates) {
		t.Helper()
		if err := job.SetRates(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		c.lookAtLimits(t.Context())
	}
	pass := func(ctx context.Context) <-chan error {
		passed := make(chan error, 1)
		go func() { passed <- c.throttle(ctx, 1, 0, 0) }()
		return passed
	}
	if err := <-pass(t.Context()); err != nil {
		t.Errorf("without a limit: %v", err)
	}
	for _, test := range []struct {
		name string
		next jobs.Rates
	}{{"a higher one", jobs.Rates{Requests: 1e6}}, {"none", jobs.Rates{}}} {
		set(jobs.Rates{Requests: 0.001})
		if err := <-pass(t.Context()); err != nil {
			t.Errorf("the first: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended, goesOn := pass(ctx), pass(t.Context())
		select {
		case <-ended:
			t.Errorf("the second object does not wait")
		case <-time.After(50 * time.Millisecond):
		}
		cancel()
		if err := <-ended; err != context.Canceled {
			t.Errorf("after the chunk's end: %v", err)
		}
		set(test.next)
		if err := <-goesOn; err != nil { // in a second; under the limit before in half an hour
			t.Errorf("after a change to %s: %v", test.name, err)
		}
	}
}

// An object takes its share of the limits once, also where Redis has lost them and they were set again before its chunk
// looked: what it took more would be time for which all objects of the job wait.
func TestLimitsAreTakenOnce(t *testing.T) {
	t.Parallel()
	const job, rate = "20260101-000000-aaaa", 50.0
	for _, test := range []struct {
		name string
		lost bool // Redis has the limits of before no more
	}{{"lost", true}, {"an older replica", false}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn, err := queue.Open(t.Context(), "", nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			if err := conn.Job(job).SetRates(t.Context(), jobs.Rates{Requests: rate}); err != nil {
				t.Fatal(err)
			}
			since, err := conn.Job(job).LimitedSince(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var o Options
			if err := o.defaults(); err != nil {
				t.Fatal(err)
			}
			c := &chunk{w: newWorker(conn, nil, o, nil), task: jobs.Task{Job: job}}
			// What the chunk saw last, and does not look at again during the test.
			c.limited.Store(since + 1)
			if test.lost {
				c.limited.Store(1)
				if wait, _, err := conn.Job(job).Take(t.Context(), int(rate), 0, 0); err != nil || wait != 0 {
					t.Fatalf("the first share: wait %v, error %v", wait, err)
				}
				// The object takes its share when it may go on in a second, and looks at its chunk meanwhile.
				time.AfterFunc(100*time.Millisecond, func() { c.limited.Store(0) })
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if err := c.throttle(ctx, 1, 0, 0); err != nil {
				t.Errorf("the object waits: %v", err)
			}
			wait, _, err := conn.Job(job).Take(t.Context(), 1, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if wait > time.Second {
				t.Errorf("one object has taken so much that the next one waits for %v", wait)
			}
		})
	}
}
