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
